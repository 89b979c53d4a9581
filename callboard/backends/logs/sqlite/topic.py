"""An open topic: its bell, its reader, and its writer once something is written."""

from callboard.backends.logs.appended import Appended
from callboard.backends.logs.limits import closed
from callboard.backends.logs.sqlite.bell import Bell, remembered
from callboard.backends.logs.sqlite.failure import explained
from callboard.backends.logs.sqlite.reader import Reader
from callboard.backends.logs.sqlite.schema import Files, check_exists
from callboard.backends.logs.sqlite.watch import Watch, watch
from callboard.backends.logs.sqlite.writer import Writer


class Topic:
    """Opens the topic, which must exist. Raises the same as ``Reader``."""

    def __init__(self, files: Files) -> None:
        self._files = files
        with explained(files.database):
            check_exists(files)
            self._bell = Bell(files.bell)
            try:
                self.reader = Reader(files, self._bell)
            except BaseException:
                self._bell.close()
                raise
        self.appended = Appended()
        self._writer: Writer | None = None
        self._watch: Watch | None = None
        self._closing = False

    def writer(self) -> Writer:
        """The writer, started by the first call. Raises ``LogUnavailable`` when the topic is being closed."""
        if self._closing:
            raise closed()
        if self._writer is None:
            with explained(self._files.lock):
                self._writer = Writer(self._files, self._bell, self.reader.opened)
        return self._writer

    def listen(self) -> None:
        """From now on, an append by any process rings ``appended``."""
        if self._watch is None:
            with explained(self._files.bell):
                self._watch = watch()
                self._watch.add(self._bell, self._hear)
            self.appended.ring()  # nothing was heard before

    def close_reader(self) -> None:
        """Wake all waiters, stop reading, and accept no further writes."""
        self._closing = True
        self.appended.ring()
        if self._watch is not None:
            self._watch.remove(self._bell, self._hear)
        self.reader.close()

    def close_writer(self) -> None:
        """Complete pending appends, then close the files. Blocking."""
        if self._writer is not None:
            self._writer.close()
        self._bell.close()

    def _hear(self) -> None:
        if newest := remembered(self._bell.heard(), self.reader.lineage):
            self.appended.hear(newest)
        else:
            self.appended.ring()
