"""moto as a program: ``python -m callboard.testing.servers.moto_server PORT`` serves S3 on loopback.

Like ``moto.server``, with one difference: moto checks whether an object exists and writes it later, so that two
conditional writes may both pass the check. S3 decides atomically, and so does this: conditional writes take turns.
"""

import sys
from threading import Lock
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple


def main(port: int) -> None:
    """Serve until killed."""
    moto = DomainDispatcherApplication(create_backend_app)
    turn = Lock()

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        if environ.get("HTTP_IF_NONE_MATCH"):
            with turn:
                return moto(environ, start_response)
        return moto(environ, start_response)

    run_simple("127.0.0.1", port, application, threaded=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
