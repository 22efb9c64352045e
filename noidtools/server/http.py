"""HTTP by granian: its processes, threads, TLS, access log, graceful stop and reload.

granian starts each worker as a new interpreter, so that a reload loads the code as it then is.  A worker makes the
application by calling `application`, with the settings that the parent process has put into the environment.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels

from .worker import make_application, stop_with_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .address import Address

# The variable that hands the settings of the application to the workers.
_SETTINGS = "NOID_SERVE"

# Seconds that a new worker has to start before the one that it replaces is stopped; and for the requests at hand.
_RELOAD_SECONDS = 2.0
_STOP_SECONDS = 30

# Bytes that are read at once of a body that nobody wants, and the largest one that is read at all.
_PIECE, _LARGEST_REST = 1 << 16, 1 << 28

# How the variables of a request begin.  granian adds the environment of the process to them.
_OF_REQUESTS = ("AUTH_", "CONTENT_", "HTTP", "PATH_", "QUERY_", "RAW_", "REMOTE_", "REQUEST_", "SCRIPT_", "SERVER_",
                "wsgi.")

_LOG = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"own": {"format": "noid: %(message)s"}, "access": {"format": "%(message)s"}},
    "handlers": {
        "own": {"class": "logging.StreamHandler", "formatter": "own", "stream": "ext://sys.stderr"},
        "access": {"class": "logging.StreamHandler", "formatter": "access", "stream": "ext://sys.stdout"},
    },
    "loggers": {
        "_granian": {"handlers": ["own"], "level": "ERROR", "propagate": False},
        "granian.access": {"handlers": ["access"], "level": "INFO", "propagate": False},
    },
}


def serve_http(address: Address, settings: dict[str, object], announce: Callable[[], None], *, workers: int,
               threads: int, access_log: bool, certificate: str, key: str) -> None:
    """Serve HTTP until SIGTERM or SIGINT; SIGHUP replaces the workers one after the other.

    `settings` are those of `make_application`; `announce` is called when the address is taken.
    """
    address.prepare()
    os.environ[_SETTINGS] = json.dumps(settings)
    multiprocessing.set_start_method("spawn")
    server = Granian(
        f"{os.path.abspath(__file__)}:{application.__name__}", factory=True,
        working_dir=Path(__file__).parents[2],
        address=address.host, port=address.port, uds=_path(address.path), uds_permissions=0o600,
        interface=Interfaces.WSGI, workers=workers, blocking_threads=threads, websockets=False,
        respawn_failed_workers=True, respawn_interval=_RELOAD_SECONDS, workers_kill_timeout=_STOP_SECONDS,
        log_level=LogLevels.error, log_dictconfig=_LOG, log_access=access_log,
        ssl_cert=_path(certificate), ssl_key=_path(key),
    )
    server.on_startup(address.open_to_group)
    server.on_startup(announce)
    server.serve()


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def application() -> Callable[..., Iterable[bytes]]:
    """The application of a worker."""
    settings = json.loads(os.environ.pop(_SETTINGS))
    for name in [name for name in os.environ if name.startswith(_OF_REQUESTS)]:
        del os.environ[name]
    stop_with_parent()
    site = make_application(settings)

    def respond(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        # A body of unknown length that was cut off looks to us like one that is complete.
        environ["wsgi.input_terminated"] = False
        body = site(environ, start_response)
        # A web server that still sends takes a refusal that comes earlier for a broken connection.
        length = environ.get("CONTENT_LENGTH") or "0"
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD") and length.isdigit() and int(length) <= _LARGEST_REST:
            while environ["wsgi.input"].read(_PIECE):
                pass
        return body

    return respond
