"""The addresses from which FastCGI and SCGI are accepted on TCP.

Whoever connects says who the user is (REMOTE_USER), so that only web servers may connect.  The permissions of a Unix
socket see to that.  A TCP port has none, so that the web servers' addresses must be listed.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network

from ..errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# From the FastCGI specification, 3.2: addresses separated by commas.
VARIABLE = "FCGI_WEB_SERVER_ADDRS"


class AllowedAddresses:
    """Addresses and networks; raises UsageError for what is neither."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._networks = []
        for text in texts:
            try:
                self._networks.append(ip_network(text))
            except ValueError:
                raise UsageError(f"{text!r} is no address and no network: write 192.0.2.7, 192.0.2.0/24 or 2001:db8::1"
                                 ) from None

    @classmethod
    def of(cls, texts: Iterable[str], environment: Mapping[str, str]) -> AllowedAddresses:
        """Those given, or if there are none, those in the variable of the FastCGI specification."""
        listed = [text.strip() for text in environment.get(VARIABLE, "").split(",") if text.strip()]
        return cls([*texts] or listed)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def __contains__(self, text: str) -> bool:
        try:
            address = ip_address(text.partition("%")[0])
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self._networks)

    def ensure_some(self, what: str) -> None:
        """Refuse to serve on TCP if nothing is listed."""
        if not self:
            raise UsageError(
                f"{what} on TCP believes whoever connects, who can then be any user: use a Unix socket, or list the "
                f"web servers' addresses with --allow or in {VARIABLE} (an address of this machine admits all its "
                "accounts)")
