"""Labels from place and time, minted and followed on real servers."""

from __future__ import annotations

import time

import pytest
from names_support import ApacheNames, NginxNames
from server_support import DOORS, MissingError


class ApacheNamesWithoutScheme(ApacheNames):
    """Apache told that every path is a name, as its file says how."""

    names = {"^/+(?i:ark|hdl|doi|urn|info):": "^/+(?!nd/|static)"}


NAMES = {"apache-names": ApacheNamesWithoutScheme, "nginx-names": NginxNames}
SCHEMES = {
    "ibi": ("--scheme", "ibi", "--computer", "mtc-m18.sid.inpe.br", "--granularity", "0.01"),
    "ibip": ("--scheme", "ibip", "--ip", "150.163.34.243", "--port", "800", "--granularity", "0.01"),
    "pilin": ("--scheme", "pilin", "--prefix", "102.100.272", "--label", "hdl:"),
}


@pytest.fixture(params=["apache-cgi", "apache-names", "nginx-names"])
def door(request, site):
    name = request.param
    try:
        if name not in site.doors:
            site.doors[name] = (NAMES.get(name) or DOORS[name])(site, name)
            site.doors[name].start()
    except MissingError as missing:
        pytest.fail(str(missing))
    yield site.doors[name]
    print(site.doors[name].logs())  # shown when the test has failed


def eventually_leads(door, name: str, target: str) -> None:
    """A resolver of many minters looks for new ones now and then."""
    deadline = time.monotonic() + 10
    while door.location(name) != target:
        assert time.monotonic() < deadline, (door.click(name), door.logs())
        time.sleep(0.1)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_label_is_minted_bound_held_and_validated_by_url(door, scheme):
    name = f"{scheme}1"
    door.create(name, *SCHEMES[scheme])
    minted = [line.removeprefix("id: ") for line in door.ask(name, "mint+3").text.splitlines() if line]
    assert len(set(minted)) == 3
    assert door.ask(name, f"bind+set+{minted[0].swapcase() if scheme != 'pilin' else minted[0]}+e+v").status == 200
    assert door.ask(name, f"get+{minted[0]}+e", user="").text == "v\n"
    assert door.ask(name, f"validate+-+{minted[1]}", user="").text == f"id: {minted[1]}\n"
    assert door.ask(name, f"decode+{minted[1].removeprefix('hdl:')}", user="").status == 200
    assert door.ask(name, f"hold+set+{minted[2]}").text == "ok: 1 hold placed\n\n"
    refused = door.ask(name, f"queue+now+{minted[1]}")
    assert refused.status == 409 and "time does not come back" in refused.text


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("door", NAMES, indirect=True)
def test_a_label_is_followed_in_any_case_and_described(door, scheme):
    name = f"{scheme}3"
    door.create(name, *SCHEMES[scheme])
    label = door.ask(name, "mint+1").text.split()[1]
    assert door.ask(name, f"bind+set+{label}+_t+https://example.org/{scheme}").status == 200
    eventually_leads(door, label, f"https://example.org/{scheme}")
    for spelling in (label, label.removeprefix("hdl:"), label.removeprefix("hdl:").lower()):
        eventually_leads(door, spelling, f"https://example.org/{scheme}")
    # By now each of the two processes has looked for new minters, whichever of them answers.
    time.sleep(1.5)
    described = door.click(f"{label}??", "--header", "Accept: text/plain")
    assert described.status == 200 and label.removeprefix("hdl:") in described.text
    assert f"https://example.org/{scheme}" in described.text
