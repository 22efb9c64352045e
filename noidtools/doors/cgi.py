"""CGI: one process for each request, so nothing is imported that a plain mint does not need."""

from __future__ import annotations

import os
import sys

from .body import LARGEST_BODY
from .minters import OneMinter
from .requests import Trust
from .url import Application

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_DOOR = "noidu"


def main() -> int:
    """Serve the request in the environment; the name under which we were started says from which minter."""
    environ = {os.fsdecode(name): os.fsencode(value).decode("latin-1") for name, value in os.environ.items()}
    if "REQUEST_METHOD" not in environ:
        sys.stderr.write("noidu is started by a web server, as noidu_NAME for the minter in the folder NAME beside it\n")
        return 2
    application = Application(
        OneMinter(dbdir_from(sys.argv[0], os.environ), anywhere=True),
        trust=Trust(proxies=tuple(os.environ.get("NOID_PROXY", "").split())),
        largest_body=int(os.environ.get("NOID_MAX_BODY", LARGEST_BODY)),
    )
    return run(application, environ)


def dbdir_from(program: str, environment: Any) -> str:
    """$NOID, else the folder named by the script's own name after the first underscore, beside the script."""
    if environment.get("NOID"):
        return str(environment["NOID"])
    script = environment.get("SCRIPT_FILENAME", "")
    if not os.path.basename(script).startswith(_DOOR):
        script = program
    folder, name = os.path.split(script)
    return os.path.join(folder, name.partition("_")[2] or ".")


def run(application: Callable[..., Any], environ: dict[str, Any]) -> int:
    environ.update({
        "wsgi.version": (1, 0), "wsgi.url_scheme": "https" if environ.get("HTTPS") in ("on", "1") else "http",
        "wsgi.input": sys.stdin.buffer, "wsgi.input_terminated": True, "wsgi.errors": sys.stderr,
        "wsgi.multithread": False, "wsgi.multiprocess": True, "wsgi.run_once": True,
    })
    out = sys.stdout.buffer

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> None:
        lines = [f"Status: {status}", *(f"{name}: {value}" for name, value in headers), "", ""]
        out.write("\r\n".join(lines).encode("latin-1"))

    body = application(environ, start_response)
    try:
        for part in body:
            out.write(part)
        out.flush()
    except OSError:
        # The client has gone.  Python would try once more at exit, and complain in its own words.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    finally:
        if hasattr(body, "close"):
            body.close()
    return 0
