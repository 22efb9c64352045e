"""Asking a resolver on the web where a name leads, as a reader's browser would, without going there."""

from __future__ import annotations

import http.client
from urllib.parse import quote, urlsplit

from .exceptions import UsageError

_SECONDS = 10


def location(base: str, name: str) -> bytes:
    """The Location that the resolver at `base` answers with, or in its absence what it answers instead."""
    parts = urlsplit(base)
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    if parts.scheme not in kinds or not parts.hostname:
        raise UsageError(f"--through wants the address of a resolver, such as https://example.org/, not {base!r}")
    path = f"{parts.path.rstrip('/')}/{quote(name, safe='/:?#[]@!$&()*+,;=%~')}"
    connection = kinds[parts.scheme](parts.netloc.rpartition("@")[2], timeout=_SECONDS)
    try:
        connection.request("HEAD", path, headers={"User-Agent": "noid check"})
        answer = connection.getresponse()
        found = answer.getheader("Location")
        return found.encode("latin-1") if found else f"status {answer.status}".encode()
    except (OSError, http.client.HTTPException) as error:
        return f"no answer ({error or type(error).__name__})".encode()
    finally:
        connection.close()
