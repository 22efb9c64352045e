"""The access log of the service: one line for each request, on standard output, in the common format or as JSON."""

from __future__ import annotations

import json
import os
import re
import time

from ..times import iso_datetime
from .authentication import KNOWN_TOKEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .observer import Observation

_STANDARD_OUTPUT = 1
_LONGEST_FIELD = 1000
# What may be a pepper, of sixteen characters, however these are escaped or quoted: up to the end of the word.
_PEPPER = re.compile(r"(!|%21|%2521)[^+&/?#\s]{16,}", re.IGNORECASE)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def access_log(form: str) -> Callable[[Observation], None]:
    """The function that writes the line of a request; the form is a key of FORMS."""
    write_line = FORMS[form]

    def write(observation: Observation) -> None:
        try:
            # One call for each line, so that the lines of several processes do not mix.
            os.write(_STANDARD_OUTPUT, write_line(observation).encode("ascii", "backslashreplace") + b"\n")
        except OSError:
            return  # nobody reads the log; requests are answered nevertheless

    return write


def _common(observation: Observation) -> str:
    """The Common Log Format: host, user, time, request line, status, size."""
    request = observation.request
    now = time.gmtime()
    date = f"{now.tm_mday:02d}/{_MONTHS[now.tm_mon - 1]}/{now.tm_year}:{time.strftime('%H:%M:%S', now)} +0000"
    line = f"{request.method} {_target(observation)} {request.header('SERVER_PROTOCOL')}"
    user = _plain(_user(observation)).replace(" ", "_") or "-"
    size = "-" if observation.size is None else str(observation.size)
    return f'{request.address or "-"} - {user} [{date}] "{_plain(line)}" {observation.status} {size}'


def _json(observation: Observation) -> str:
    request = observation.request
    return json.dumps({
        "time": iso_datetime(int(time.time())).decode(), "address": request.address,
        "user": _user(observation), "method": request.method, "target": _target(observation),
        "interface": observation.interface, "command": observation.command, "status": int(observation.status or 0),
        "bytes": observation.size, "seconds": round(observation.seconds, 6),
        "agent": request.header("HTTP_USER_AGENT")[:_LONGEST_FIELD],
    })


def _user(observation: Observation) -> str:
    """Who sent the request, as events name him: its token, if that was looked at, else the user."""
    user: bytes = observation.environ.get(KNOWN_TOKEN) or observation.request.user
    return user.decode("latin-1")


def _target(observation: Observation) -> str:
    """The request target: as it was sent, where the server knows it, but without peppers."""
    request = observation.request
    query = request.header("QUERY_STRING")
    whole = request.header("REQUEST_URI") or request.header("SCRIPT_NAME") + request.header("PATH_INFO") + (
        f"?{query}" if query else "")
    return without_peppers(whole)[:_LONGEST_FIELD]


def without_peppers(text: str) -> str:
    """A path, or a path with its query, in which no pepper can be read."""
    return _PEPPER.sub(r"\1...", text)


def _plain(text: str) -> str:
    """Text between quotes, in which neither quotes nor control characters can end the line or the field."""
    return "".join(character if " " <= character <= "~" and character not in '"\\' else f"\\x{ord(character):02x}"
                   for character in text)


FORMS = {"common": _common, "json": _json}
