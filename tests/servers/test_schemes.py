"""Labels made from place and time, minted and resolved by real servers."""

from __future__ import annotations

import time

import pytest

DEPLOYMENTS = ("apache-cgi", "apache-resolver-of-all-paths", "nginx-resolver")
RESOLVERS = ["apache-resolver-of-all-paths", "nginx-resolver"]
SCHEMES = {
    "ibi": ("--scheme", "ibi", "--computer", "mtc-m18.sid.inpe.br", "--granularity", "0.01"),
    "ibip": ("--scheme", "ibip", "--ip", "150.163.34.243", "--port", "800", "--granularity", "0.01"),
    "pilin": ("--scheme", "pilin", "--prefix", "102.100.272", "--label", "hdl:"),
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_label_is_minted_bound_held_and_validated_by_url(deployment, scheme):
    name = f"{scheme}1"
    deployment.create(name, *SCHEMES[scheme])
    minted = [line.removeprefix("id: ") for line in deployment.ask(name, "mint+3").text.splitlines() if line]
    assert len(set(minted)) == 3
    spelled = minted[0] if scheme == "pilin" else minted[0].swapcase()
    assert deployment.ask(name, f"bind+set+{spelled}+e+v").status == 200
    assert deployment.ask(name, f"get+{minted[0]}+e", user="").text == "v\n"
    assert deployment.ask(name, f"validate+-+{minted[1]}", user="").text == f"id: {minted[1]}\n"
    assert deployment.ask(name, f"decode+{minted[1].removeprefix('hdl:')}", user="").status == 200
    assert deployment.ask(name, f"hold+set+{minted[2]}").text == "ok: 1 hold placed\n\n"
    refused = deployment.ask(name, f"queue+now+{minted[1]}")
    assert refused.status == 409 and "time does not come back" in refused.text


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("deployment", RESOLVERS, indirect=True)
def test_a_label_resolves_in_any_case_and_is_described(deployment, scheme):
    name = f"{scheme}3"
    deployment.create(name, *SCHEMES[scheme])
    label = deployment.ask(name, "mint+1").text.split()[1]
    assert deployment.ask(name, f"bind+set+{label}+_t+https://example.org/{scheme}").status == 200
    deployment.wait_for_location(label, f"https://example.org/{scheme}")
    for spelling in (label, label.removeprefix("hdl:"), label.removeprefix("hdl:").lower()):
        deployment.wait_for_location(spelling, f"https://example.org/{scheme}")
    # By now each of the two processes has looked for new minters, whichever of them answers.
    time.sleep(1.5)
    described = deployment.resolve(f"{label}??", "--header", "Accept: text/plain")
    assert described.status == 200 and label.removeprefix("hdl:") in described.text
    assert f"https://example.org/{scheme}" in described.text
