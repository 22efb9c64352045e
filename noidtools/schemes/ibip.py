"""IBIp labels: an IP address, its port and a date, opaque.

    8JMKD3MGP8W/34PGRBS        150.163.34.243, port 800, 2009-02-16T17:46:00Z

The address as text is read as one number, "." (or ":") being the digit after 9 (or f), and
written in base 27.  W ends an IPv4 address and X an IPv6 one; the port follows, unless it is
800.  After the "/" come the seconds since August 1995 and, after another W, the fraction.

The standard leaves three questions open.  They are answered as follows, so that no two
(place, moment) pairs share a label and labels have no second spelling but for their case:

* An IPv6 address is written in its shortest form (RFC 5952), in lower case, always in
  hexadecimal: a dotted tail would make it look like IPv4.
* An address that starts with "0" loses this digit when it is read as a number.  No address
  starts with "." or with a single ":", so in front of these the decoder inserts a "0".
* A fraction loses its leading zeros when it is read as a whole number, so that 0.5 and 0.05
  would share a label.  Each leading zero is written as a "2", the zero of this alphabet.
"""

from __future__ import annotations

from ..errors import InvalidError
from .timed import Date, HostTimeScheme, check_port, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .base import Pairs, Settings

DEFAULT_PORT = 800
EPOCH = 807235200  # 1995-08-01T00:00:00Z, the month of the first label
IPV4_DIGITS = b"0123456789."
IPV6_DIGITS = b"0123456789abcdef:"
IBIP_DIGITS = b"23456789ABCDEFGHJKLMNPQRSTU"
_EXAMPLE = "8JMKD3MGP8W/34PGRBS"

# Longer than any label can be: 34 digits of address, 4 of port, 12 of seconds, 30 of fraction.
_LONGEST = 96


def encode(ip: bytes, port: int, date: Date) -> bytes:
    """The label of the item that this server created at this date (Algorithm 7)."""
    return prefix(ip, port) + b"/" + suffix(date)


def decode(label: bytes) -> tuple[bytes, int, Date]:
    """Address, port and date of a label in either case; the inverse of `encode`."""
    head, slash, tail = label.upper().partition(b"/")
    if not slash or len(label) > _LONGEST:
        raise InvalidError(f"{quoted(label)} is not two words joined by '/', such as {_EXAMPLE}")
    for code in head + tail:
        if code not in IBIP_DIGITS + b"WX":
            raise InvalidError(f"no IBIp label contains {quoted(bytes([code]))}, nor any of 0 1 I O V Y Z")
    ip, port = _decode_prefix(head)
    return ip, port, _decode_suffix(tail)


def canonical(label: bytes) -> bytes:
    """The canonical spelling of a valid label: upper case."""
    decode(label)
    return label.upper()


def prefix(ip: bytes, port: int) -> bytes:
    """The server's half (Algorithm 5)."""
    return _prefix(ip_address(ip), port)


def _prefix(computer: bytes, port: int) -> bytes:
    """The same for an address in its canonical spelling, without the import of ipaddress."""
    coded_port = b"" if check_port(port) == DEFAULT_PORT else from_decimal(port, IBIP_DIGITS)
    if b"." in computer:
        return from_decimal(to_decimal(computer, IPV4_DIGITS), IBIP_DIGITS) + b"W" + coded_port
    return from_decimal(to_decimal(computer, IPV6_DIGITS), IBIP_DIGITS) + b"X" + coded_port


def suffix(date: Date) -> bytes:
    """The moment's half (Algorithm 6)."""
    if date.seconds < EPOCH:
        raise InvalidError("an IBIp label cannot name a time before August 1995: set the clock")
    text = from_decimal(date.seconds - EPOCH, IBIP_DIGITS)
    if not date.places:
        return text
    digits = date.fraction.lstrip(b"0")
    zeros = IBIP_DIGITS[:1] * (len(date.fraction) - len(digits))
    return text + b"W" + zeros + from_decimal(int(digits), IBIP_DIGITS)


def to_decimal(text: bytes, digits: bytes) -> int:
    """The number that the text is in the numeral system with these digits."""
    number = 0
    for code in text:
        number = number * len(digits) + digits.index(code)
    return number


def from_decimal(number: int, digits: bytes) -> bytes:
    """The inverse of `to_decimal`, without leading zeros."""
    text = bytearray()
    while number or not text:
        number, digit = divmod(number, len(digits))
        text.append(digits[digit])
    text.reverse()
    return bytes(text)


def ip_address(text: bytes) -> bytes:
    """An address in its canonical spelling: dotted decimal, or the short form of RFC 5952 in hexadecimal."""
    from ipaddress import IPv4Address, IPv6Address

    try:
        if b":" not in text:
            return str(IPv4Address(text.decode("ascii"))).encode()
        if b"%" in text:
            raise ValueError("ipaddress accepts a scope after a %, which has a meaning on one machine only")
        address = IPv6Address(text.decode("ascii"))
    except ValueError:
        raise InvalidError(f"{quoted(text)} is not an IP address such as 150.163.34.243 or 2001:db8::1") from None
    if address.ipv4_mapped is not None:
        # Python 3.13 and later write the tail of these in dotted decimal.
        return b"::ffff:%x:%x" % divmod(int(address) & 0xFFFFFFFF, 1 << 16)
    return str(address).encode()


def _decode_prefix(head: bytes) -> tuple[bytes, int]:
    kind = b"X" if b"X" in head else b"W"
    coded_ip, found, coded_port = head.partition(kind)
    if not found:
        raise InvalidError(f"{quoted(head)} lacks the W that ends an IPv4 address or the X that ends an IPv6 one")
    digits = IPV6_DIGITS if kind == b"X" else IPV4_DIGITS
    text = from_decimal(_number(coded_ip, "address"), digits)
    if text.startswith(digits[-1:]) and not text.startswith(b"::"):
        text = b"0" + text
    if not _is_short_form(text):
        raise InvalidError(f"{quoted(head)} stands for {quoted(text)}, which is not an IP address in its short form")
    port = check_port(_number(coded_port, "port")) if coded_port else DEFAULT_PORT
    if coded_port and port == DEFAULT_PORT:
        raise InvalidError(f"{quoted(head)} spells out port {DEFAULT_PORT}, which IBIp leaves out")
    return text, port


def _is_short_form(text: bytes) -> bool:
    """Whether this is an address in its canonical spelling."""
    try:
        return ip_address(text) == text
    except InvalidError:
        return False


def _decode_suffix(tail: bytes) -> Date:
    coded_seconds, separator, coded_fraction = tail.partition(b"W")
    seconds = EPOCH + _number(coded_seconds, "time")
    if not separator:
        return Date(seconds)
    significant = coded_fraction.lstrip(IBIP_DIGITS[:1])
    fraction = _number(significant, "fraction of a second")
    if not fraction % 10:
        raise InvalidError(f"the fraction in {quoted(tail)} ends in a zero, which IBIp leaves out")
    places = len(coded_fraction) - len(significant) + len(b"%d" % fraction)
    return Date(seconds * 10**places + fraction, places)


def _number(coded: bytes, what: str) -> int:
    """Decode a number in base 27; raises InvalidError if it is missing or has a leading zero."""
    if not coded or b"W" in coded or b"X" in coded:
        raise InvalidError(f"the {what} in this IBIp label is {quoted(coded)}, which is not a number")
    if coded[:1] == IBIP_DIGITS[:1] and len(coded) > 1:
        raise InvalidError(f"the {what} in this IBIp label is {quoted(coded)}, with a zero (2) in front")
    return to_decimal(coded, IBIP_DIGITS)


# -- The scheme ------------------------------------------------------------------------------------------------------


class IbipScheme(HostTimeScheme):
    """8JMKD3MGP8W/34PGRBS: the server's address and port, and a date, in base 27."""

    __slots__ = ()

    name = "ibip"
    equivalence = "in IBIp labels case does not count"
    summary = "opaque labels from the server's IP address and the time: --ip Address [--port 800]"
    options = ("ip", "port", "granularity", "patience")
    place, place_meaning, place_example = "ip", "the server's address", "150.163.34.243"
    default_port = DEFAULT_PORT
    canonical_computer, encode_place = staticmethod(ip_address), staticmethod(_prefix)
    encode_date, canonical_label = staticmethod(suffix), staticmethod(canonical)

    @classmethod
    def decode(cls, label: bytes) -> Pairs:
        return cls.decoded(canonical(label), *decode(label))

    def form(self) -> Pairs:
        form = self.prefix + b"/seconds since 1995-08-01[Wfraction], in base 27"
        return [("Form", form), ("Size", b"unlimited"), ("IP", self.computer), ("Port", b"%d" % self.port)]

    def durability(self, settings: Settings) -> str:
        import ipaddress

        return "NI" + "G" * ipaddress.ip_address(self.computer.decode()).is_global
