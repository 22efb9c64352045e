"""A folder for each identifier: its characters two by two, escaped for use as file names (Pairtree)."""

from __future__ import annotations

# Visible characters that some file system or shell would not take literally, and those used as stand-ins below.
_UNSAFE = frozenset(b'"*+,<=>?\\^|')
_STAND_INS = {0x2F: b"=", 0x3A: b"+", 0x2E: b","}  # / : .


def path(identifier: bytes) -> bytes:
    """`xv8t984` gives `xv/8t/98/4/`.  Different identifiers give different paths, none with a dot or a break."""
    safe = b"".join(_safe(byte) for byte in identifier)
    return b"".join(safe[place : place + 2] + b"/" for place in range(0, len(safe), 2))


def _safe(byte: int) -> bytes:
    if byte in _STAND_INS:
        return _STAND_INS[byte]
    if byte in _UNSAFE or not 0x21 <= byte <= 0x7E:
        return b"^%02x" % byte
    return bytes((byte,))
