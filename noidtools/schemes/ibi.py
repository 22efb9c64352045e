"""Names of uniform repositories: a computer, its port and a date, readable, as four directories.

    sid.inpe.br/mtc-m18.1905/2010/10.20.15.21.55.05
    subdomain   word    port year mm.dd.hh.mm.ss.fraction (UTC)

The parser accepts all that the standard's grammar allows: both cases, the port after "." or
after the older "@", port 80 written out or left out, the root dot of the domain, redundant
zeros.  All of these name the same computer, port and moment, hence the same item.
`canonical` returns the spelling that the standard's algorithms write: lower case, port 80
left out, any other port after ".", seconds only where they are not zero, a fraction with
its leading but without its trailing zeros.
"""

from __future__ import annotations

from ..errors import InvalidError
from ..times import calendar, posix
from .timed import MAX_PLACES, Date, HostTimeScheme, check_port, parse_port, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .base import Pairs, Settings

DEFAULT_PORT = 80
_EXAMPLE = "sid.inpe.br/mtc-m18/2009/02.16.17.46"
_WORD = b"abcdefghijklmnopqrstuvwxyz0123456789-"


def encode(computer: bytes, port: int, date: Date) -> bytes:
    """The repository name of the item that this server created at this date (Algorithm 3)."""
    return prefix(computer, port) + b"/" + suffix(date)


def parse(label: bytes) -> tuple[bytes, int, Date]:
    """Computer, port and date of a repository name; the inverse of `encode`."""
    parts = label.split(b"/")
    if len(parts) != 4:
        raise InvalidError(f"{quoted(label)} is not four parts joined by '/', such as {_EXAMPLE}")
    subdomain, word_port, year, rest = parts
    word, separator, port = word_port.partition(b"@" if b"@" in word_port else b".")
    if b"." in word:
        raise InvalidError(f"{quoted(label)} has a dot and an '@' in its second part; only one can lead to the port")
    name = computer_name(word + b"." + subdomain)
    return name, parse_port(port) if separator else DEFAULT_PORT, _parse_suffix(year, rest)


def canonical(label: bytes) -> bytes:
    """The canonical spelling of a repository name, as `encode` writes it."""
    return encode(*parse(label))


def prefix(computer: bytes, port: int) -> bytes:
    """The server's half: the first word of its name moved to the end (Algorithm 1).

    As printed the algorithm loses the dots between the words of the subdomain; the
    standard's own examples keep them.
    """
    word, _, subdomain = computer_name(computer).partition(b".")
    if check_port(port) == DEFAULT_PORT:
        return subdomain + b"/" + word
    return b"%b/%b.%d" % (subdomain, word, port)


def suffix(date: Date) -> bytes:
    """The moment's half, in UTC, no longer than it must be (Algorithm 2)."""
    year, month, day, hour, minute, second = calendar(date.seconds)
    text = b"%04d/%02d.%02d.%02d.%02d" % (year, month, day, hour, minute)
    if date.places:
        return b"%b.%02d.%b" % (text, second, date.fraction)
    return b"%b.%02d" % (text, second) if second else text


def computer_name(text: bytes) -> bytes:
    """A fully qualified domain name, in lower case and without the root dot."""
    name = text.lower().removesuffix(b".")
    words = name.split(b".")
    if len(words) < 2:
        raise InvalidError(f"{quoted(text)} is not a full domain name such as mtc-m18.sid.inpe.br")
    if len(name) > 253:
        raise InvalidError(f"a domain name has at most 253 characters, not {len(name)}")
    for word in words:
        if not 1 <= len(word) <= 63:
            raise InvalidError(f"a word of a domain name has 1 to 63 characters, {quoted(word)} has {len(word)}")
        if word.translate(None, _WORD) or word.startswith(b"-") or word.endswith(b"-"):
            raise InvalidError(f"a domain name is made of letters, digits and inner hyphens, not {quoted(word)}")
    if words[-1][:1].isdigit():
        raise InvalidError(f"the last word of {quoted(text)} starts with a digit: a domain name is wanted here")
    return name


def _parse_suffix(year: bytes, rest: bytes) -> Date:
    """The date of `year/month.day.hour.minute[.second[.fraction]]`."""
    fields = rest.split(b".")
    fraction = fields.pop() if len(fields) == 6 else b"0"
    if len(fields) not in (4, 5) or not fraction.isdigit() or len(year) < 4 or not year.isdigit():
        raise InvalidError(f"{quoted(year + b'/' + rest)} is not a date such as 2009/02.16.17.46")
    for field in fields:
        if len(field) != 2 or not field.isdigit():
            raise InvalidError(f"month, day, hour, minute and second have two digits, not {quoted(field)}")
    fraction = fraction.rstrip(b"0")
    if len(year.lstrip(b"0")) > 9 or len(fraction) > MAX_PLACES:
        raise InvalidError(f"a year has at most 9 digits and a fraction of a second {MAX_PLACES}")
    month, day, hour, minute, second = (int(field) for field in [*fields, b"00"][:5])
    whole = posix(int(year.lstrip(b"0") or b"0"), month, day, hour, minute, second)
    return Date(whole * 10 ** len(fraction) + int(fraction or b"0"), len(fraction))


# -- The scheme ------------------------------------------------------------------------------------------------------

# Top-level domains that are not globally unique (RFC 2606, 6761, 6762 and 9476).
_NOT_GLOBAL = (b"test", b"example", b"invalid", b"localhost", b"local", b"alt", b"internal")


class IbiScheme(HostTimeScheme):
    """sid.inpe.br/mtc-m18/2009/02.16.17.46: the server's name and port, and a date."""

    __slots__ = ()

    name = "ibi"
    equivalence = ("in repository names case, port 80, the sign before another port, the root dot and zeros at the end "
                   "do not count")
    summary = "repository names from the server's domain name and the time: --computer Name [--port 80]"
    options = ("computer", "port", "granularity", "patience")
    place, place_meaning, place_example = "computer", "the server's name", "mtc-m18.sid.inpe.br"
    default_port = DEFAULT_PORT
    canonical_computer, encode_place = staticmethod(computer_name), staticmethod(prefix)
    encode_date, canonical_label = staticmethod(suffix), staticmethod(canonical)

    @classmethod
    def decode(cls, label: bytes) -> Pairs:
        computer, port, date = parse(label)
        return cls.decoded(encode(computer, port, date), computer, port, date)

    def path(self, identifier: bytes) -> bytes:
        return canonical(identifier)  # four directories

    def form(self) -> Pairs:
        form = self.prefix + b"/year/month.day.hour.minute[.second[.fraction]]"
        return [("Form", form), ("Size", b"unlimited"), ("Computer", self.computer), ("Port", b"%d" % self.port)]

    def durability(self, settings: Settings) -> str:
        in_use = self.computer.rpartition(b".")[2] not in _NOT_GLOBAL
        return "N" + "G" * in_use + "I" * (b"-" not in self.computer)
