"""The bounds of what may be given, and why each is what it is."""

NAME_CHARS_MAX = 100
"""Of a publisher or a subscriber: it names rows of tables, lines of logs and parts of URLs."""

ID_CHARS_MAX = 200
"""Of a request id, a user, an author, a key of metadata: they are headers and columns, and shown in full."""

TEXT_CHARS_MAX = 10_000
"""Of a reason or a value of metadata: prose, several times over."""

PLACE_CHARS_MAX = 4096
"""Of a path or URL given as a place: what the kernel takes as one path."""

NAMES_MAX = 10_000
"""Subscribers or publishers named at once: as many as a board keeps in mind."""

FOLLOWS_MAX = 1000
"""Publishers that a subscriber follows by name: it repeats them in every announcement."""

PATHS_MAX = 100_000
"""Paths of one request. No log takes a record with more; with long ones it is the log that says so."""

METADATA_MAX = 1000
"""Pairs of metadata: they travel in the package's record, beside the content."""

PATTERNS_MAX = 1000
"""Patterns of names that are left out: each name of a source is compared with all of them."""

PATTERN_CHARS_MAX = 200
"""Of a pattern: several names, and a subscriber repeats its patterns in every announcement."""

KEYS_MAX = 100
"""Keys that a board trusts."""

SKIPPED_MAX = 1000
"""Offsets of commands that a subscriber passes over."""

OFFSET_MAX = (1 << 63) - 1
"""No log has a greater offset: messages and databases hold 63 bits."""

ANSWER_S = 30.0
"""How long a question about the board may take, if nothing else is said."""

TIMEOUT_S_MAX = 1e9
"""Thirty years stand for ever; timers of an event loop still count that."""

RETRIES_MAX = 1_000_000
"""At the shortest back-off that is days of retries; whoever wants more wants no limit, -1."""

PARALLEL_MAX = 64
"""Packages downloaded at once: each may hold some MB of memory."""

OUTBOX_MAX = 100_000
"""Statuses that wait in the ledger, which is written with each import."""

ANNOUNCE_S_MIN = 0.5
"""More often floods the log."""

CLAIM_S_MIN = 1.0
"""A claim must outlive the second that a busy host may hold an announcement up."""

CLAIM_S_MAX = 1800.0
"""Announcements are kept for more than twice as long, so that it can always be told who holds a name."""

HOUR_S = 3600.0
DAY_S = 86_400.0

DAYS_MAX = 36_500
"""A century, so that moments that far back, in nanoseconds, still fit 64 bits."""

MB_MAX = 1e9
"""A petabyte: as bytes it still fits 64 bits by far."""

THROTTLE_S_MAX = 300.0
"""What a request may be held up: half of what a publisher waits for an answer."""
