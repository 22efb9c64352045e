"""The fallback resolver of a minter."""

from __future__ import annotations

import pytest

from noidtools.errors import NoidError


def test_a_name_that_does_not_resolve_goes_to_the_fallback(minter):
    minter.text("resolver", "fallback", "https://n2t.net/")
    assert minter.target_of("ark:/99999/x-y?z") == "https://n2t.net/ark:/99999/x-y?z"
    assert minter.outcome("ark:/99999/x").by == "fallback"
    assert minter.target_of("99999/x") == "https://n2t.net/ark:/99999/x"
    assert minter.target_of("some words") == "https://n2t.net/some words"
    assert minter.target_of("sid.inpe.br/mtc-m18/2009/02.16.17.46") == (
        "https://n2t.net/ark:/sid.inpe.br/mtc-m18/2009/02.16.17.46")
    assert minter.target_of("") is None and minter.target_of(" ") is None
    assert minter.target_of("ark:/13030/kt4x551") == "https://a.example/x"
    minter.text("resolver", "fallback", "https://g.example/find?id=${name}")
    assert minter.target_of("ark:/99999/x") == "https://g.example/find?id=ark:/99999/x"
    minter.text("resolver", "fallback", "-")
    assert minter.target_of("ark:/99999/x") is None


@pytest.mark.parametrize("name", [b"hdl:1/.evil.example", b"@evil:example", b"//evil:example",
                                  b"x|https://evil.example", b"a\nhttps://evil.example", b":x@evil.example/"])
def test_no_name_changes_the_host_of_the_fallback(minter, name):
    minter.text("resolver", "fallback", "https://n2t.net")
    found = minter.outcome(name).targets
    assert len(found) == 1 and found[0].url.startswith(b"https://n2t.net/") and b"\n" not in found[0].url


@pytest.mark.parametrize("name", ["ark:/13030/none", "13030/none", "ARK:13030/none/page?x", "ark:/13030", "13030",
                                  "https://n2t.net/ark:/13030/none", "ark:/13030?info"])
def test_a_name_of_the_minters_own_naan_is_never_sent_elsewhere(minter, name):
    minter.text("resolver", "fallback", "https://n2t.net/")
    assert minter.target_of(name) is None
    assert minter.target_of("hdl:13030/none") == "https://n2t.net/hdl:13030/none"
    assert "fallback: is not for names" in minter.text("resolve", "--explain", name)


@pytest.mark.parametrize("path", ["favicon.ico", "robots.txt", ".well-known/ark", ".well-known/acme-challenge/1",
                                  "apple-touch-icon-120x120.png", "wp-admin/setup.php", ".env"])
def test_what_browsers_and_crawlers_look_for_is_never_sent_elsewhere(minter, path):
    minter.text("resolver", "fallback", "https://n2t.net/")
    assert minter.target_of(path) is None


@pytest.mark.parametrize(("base", "target"), [
    ("https://g.example/${name}", "https://g.example/ark:/99999/x6-np1/c3?q"),
    ("https://g.example/${pid}", "https://g.example/ark:/99999/x6-np1/c3?q"),
    ("https://g.example/ark:${content}", "https://g.example/ark:99999/x6np1/c3?q"),
    ("https://g.example/${scheme}/${prefix}/${value}", "https://g.example/ark/99999/x6np1/c3?q"),
    ("https://g.example/$id", "https://g.example/99999/x6np1/c3?q"),
    ("https://g.example/?id=$identity", "https://g.example/?id=$identityark:/99999/x6-np1/c3?q"),
    ("303 https://g.example/n/${suffix}", "303 https://g.example/n/x6np1/c3?q"),
])
def test_a_fallback_is_a_template(minter, base, target):
    minter.text("resolver", "fallback", base)
    assert minter.outcome("ark:/99999/x6-np1/c3?q").value.decode() == target


@pytest.mark.parametrize("base", [
    "n2t.net", "javascript:alert(1)//", "https://${name}/", "/x", "", "https://", "ftp:x",
])
def test_a_fallback_that_is_no_resolver_is_refused(minter, base):
    with pytest.raises(NoidError):
        minter.text("resolver", "fallback", base)
