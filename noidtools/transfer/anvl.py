"""ANVL: records of labelled lines, as exported here and by the batch download of EZID, and as eggnog prints them.

    :: ark:/13030/kt4x551           EZID and we: the identifier, then its elements; %XX stands for an octet
    _target: https://example.org/

    # id: ark:/13030/kt4x551        egg fetch: the identifier in a comment; values as they are
    _t: https://example.org/
    # elements bound under ark:/13030/kt4x551: 1

    # id: i                         egg iddump: names and values in hexadecimal
    # hexid: 69
    61: 62

An indented line continues the value above it, joined by a blank.  Other lines that begin with `#` are comments.  Our
exports begin with one, which distinguishes them from EZID's, where the target has another name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..codec import escaped_octet, percent_encode
from ..errors import InvalidError
from ..minter.importing import ImportRow
from . import BadLineError, InputFile, ensure_length

_MARK = b"::"
OWN_MARK = b"# exported by noidtools"
_EGG_ID, _EGG_HEX, _EGG_END = b"# id: ", b"# hexid: ", b"# elements bound under "

# What is written as it is: all but controls, the percent sign, and octets outside ASCII where they are no UTF-8.
_PLAIN = bytes(byte for byte in range(0x20, 0x7F) if byte != 0x25)
_PLAIN_IN_NAMES = _PLAIN.replace(b":", b"")
_HIGH = bytes(range(0x80, 0x100))

# Names of elements in EZID, for which others are usual here.
EZID_TARGET, EZID_STATUS = b"_target", b"_status"


# -- writing ---------------------------------------------------------------------------------------------------------


def write_record(name: bytes, elements: list[tuple[bytes, bytes]]) -> bytes:
    """A record, with an empty line at its end."""
    lines = [b":: " + _encoded(name, _PLAIN)]
    lines += [_encoded(element, _PLAIN_IN_NAMES) + b": " + _encoded(value, _PLAIN) for element, value in elements]
    return b"\n".join(lines) + b"\n\n"


def _encoded(text: bytes, plain: bytes) -> bytes:
    """The text in one line; blanks at its ends, and a character that would begin a comment, are escaped, too."""
    try:
        text.decode()
    except UnicodeDecodeError:
        coded = percent_encode(text, plain)
    else:
        coded = percent_encode(text, plain + _HIGH)
    if coded[:1] in (b" ", b"#", b":"):
        coded = b"%%%02X" % coded[0] + coded[1:]
    return coded[:-1] + b"%20" if coded[-1:] == b" " else coded


# -- reading ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Record:
    """A record that is being read; `kind` is how names and values are written: escaped, plain or hex."""

    line: int
    name: bytes
    kind: str
    pairs: list[tuple[int, bytes, list[bytes]]] = field(default_factory=list)

    def entry(self) -> ImportRow:
        pairs: dict[bytes, bytes] = {}
        for line, name, pieces in self.pairs:
            element, value = self._decoded(line, name), self._decoded(line, b" ".join(filter(None, pieces)))
            ensure_length(line, value)
            if element in pairs:
                raise BadLineError(line, f"{element.decode('utf-8', 'replace')[:60]!r} is given twice in one record")
            pairs[element] = value
        return ImportRow(self.line, self.name, list(pairs.items()))

    def _decoded(self, line: int, text: bytes) -> bytes:
        if self.kind == "plain":
            return text
        try:
            return bytes.fromhex(text.decode()) if self.kind == "hex" else decoded(text)
        except (InvalidError, ValueError):
            what = "hexadecimal" if self.kind == "hex" else "an escape: a percent sign is written %25"
            raise BadLineError(line, f"{text[:40].decode('utf-8', 'replace')!r} is not {what}") from None


def decoded(text: bytes) -> bytes:
    """The text with every %XX decoded; raises InvalidError for a percent sign that begins no such escape."""
    head, *pieces = text.split(b"%")
    out = [head]
    for piece in pieces:
        octet = escaped_octet(piece)
        if octet < 0:
            raise InvalidError("a percent sign begins no escape: write it as %25")
        out += [bytes((octet,)), piece[2:]]
    return b"".join(out)


def read_anvl(file: InputFile) -> Iterator[ImportRow | BadLineError]:
    """The entries of a file, and what is wrong with records that cannot be understood."""
    record: _Record | None = None
    skipped: BadLineError | None = None
    own = False
    for line in file.lines():
        own = own or (file.number == 1 and line.rstrip() == OWN_MARK)
        try:
            following = _next_record(file.number, line.rstrip(b"\r\n"), record, skipped)
        except BadLineError as bad:
            # The rest of the record is skipped.
            yield bad
            record, skipped = None, bad
            continue
        if following is record:
            continue
        if record is not None:
            yield _finished(record, own=own)
        record, skipped = following, None
    if record is not None:
        yield _finished(record, own=own)


def _finished(record: _Record, *, own: bool) -> ImportRow | BadLineError:
    try:
        entry = record.entry()
    except BadLineError as bad:
        return bad
    entry.ezid = record.kind == "escaped" and not own
    return entry


def _next_record(number: int, line: bytes, record: _Record | None, skipped: BadLineError | None) -> _Record | None:
    """The record to which a line belongs, or which it begins; adds the line to it.  None for a line between records."""
    if line.startswith(_MARK):
        try:
            name = decoded(line[len(_MARK) :].strip())
        except InvalidError as error:
            raise BadLineError(number, error.message) from None
        if not name:
            raise BadLineError(number, "an identifier is missing after ::")
        return _Record(number, name, "escaped")
    if line.startswith(_EGG_ID):
        return _Record(number, line[len(_EGG_ID) :].strip(), "plain")
    if line.startswith(_EGG_HEX) and record is not None and record.kind == "plain" and not record.pairs:
        record.kind = "hex"
        try:
            record.name = bytes.fromhex(line[len(_EGG_HEX) :].decode())
        except ValueError:
            raise BadLineError(number, "the identifier after hexid is not hexadecimal") from None
        return record
    if line.startswith(_EGG_END):
        return None if record is not None and record.kind != "escaped" else record
    if line.startswith(b"#") or not line.strip():
        return record
    if skipped is not None:
        return None
    if record is None:
        raise BadLineError(number, "a record must begin with a line such as ':: ark:/13030/kt4x551'")
    _add_line(number, line, record)
    return record


def _add_line(number: int, line: bytes, record: _Record) -> None:
    if line[:1] in (b" ", b"\t"):
        if not record.pairs:
            raise BadLineError(number, "it is indented, but there is no element above for it to continue")
        record.pairs[-1][2].append(line.strip())
        return
    name, colon, value = line.partition(b":")
    if not colon or not name.strip():
        raise BadLineError(number, f"{line[:40].decode('utf-8', 'replace')!r} is not of the form 'element: value'")
    # Blanks at the ends of a value are not part of it; in eggnog's answers one blank follows the colon.
    record.pairs.append((number, name.strip(), [value.removeprefix(b" ") if record.kind == "plain" else value.strip()]))
