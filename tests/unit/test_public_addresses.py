"""Which IP addresses the public can reach."""

from __future__ import annotations

import pytest

from noidtools.verification.http import is_public

# -- private addresses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [
    "127.0.0.1", "127.8.9.10", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "192.0.0.8", "198.18.0.1", "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255", "::1", "::", "fe80::1",
    "fe80::1%eth0", "fc00::1", "fd12:3456::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::1", "2002:a00:1::", "2001:db8::1",
])
def test_addresses_that_are_not_globally_reachable_are_private(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", [
    "8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
])
def test_other_addresses_are_public(address):
    assert is_public(address)


# -- politeness and numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["fec0::1", "::7f00:1", "::ffff:0:7f00:1", "5f00::1", "3fff::1", "4000::1"])
def test_an_address_outside_what_was_given_to_the_public_is_not_public(address):
    assert not is_public(address)
