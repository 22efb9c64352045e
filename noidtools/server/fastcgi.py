"""`noid.fcgi`, started by a FastCGI process manager: one worker in one process, which listens at descriptor 0."""

from __future__ import annotations

import os
import signal
import socket
import sys

from ..console import log_line
from ..errors import NoidError
from ..minter.folder import MinterFolder
from ..web.commands import CommandApplication
from .allowed import AllowedAddresses
from .cgi import largest_body_from, trust_from
from .limits import raise_descriptor_limit
from .process import shutdown_descriptor

# FCGI_LISTENSOCK_FILENO of the FastCGI specification.
_LISTENING_DESCRIPTOR = 0

# mod_fcgid ends processes with SIGTERM, others with SIGUSR1.
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


def main() -> int:
    """Serve until a signal; the request at hand is finished first."""
    try:
        folder = os.environ.get("NOID_MINTERS") or os.path.dirname(os.path.abspath(sys.argv[0]))
        application = CommandApplication(
            MinterFolder(folder), trust=trust_from(os.environ), largest_body=largest_body_from(os.environ))
        listener = _listener()
        allowed = None
        if listener.family != socket.AF_UNIX:
            allowed = AllowedAddresses.of((), os.environ)
            allowed.ensure_some("FastCGI")
        raise_descriptor_limit()
        from .flup import serve_fastcgi
    except (NoidError, ModuleNotFoundError) as error:
        log_line("noid", str(error))
        return 2
    serve_fastcgi(listener, (shutdown_descriptor(_STOP_SIGNALS),), application, allowed=allowed)
    return 0


def has_listener() -> bool:
    """Whether a process manager has started this process: then descriptor 0 is a socket that listens."""
    try:
        with socket.socket(fileno=os.dup(_LISTENING_DESCRIPTOR)) as listener:
            return bool(listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    except OSError:
        return False


def _listener() -> socket.socket:
    if has_listener():
        return socket.socket(fileno=os.dup(_LISTENING_DESCRIPTOR))
    raise NoidError("noid.fcgi is started by a FastCGI process manager; by hand, start noid serve --fcgi ADDRESS")
