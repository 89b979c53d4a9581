"""moto as a program: ``python -m callboard.testing.servers.moto_server PORT`` serves S3 on loopback.

As ``moto.server`` does it, with one difference. moto looks whether the object is there, and writes it later: two
conditional writes may both look first. S3 decides as one, and so does this, by taking conditional writes in turn.
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
