"""Labels made from place and time, minted and resolved by real servers."""

from __future__ import annotations

import time

import pytest

from support.templates import SCHEMES

DEPLOYMENTS = ("apache-cgi", "apache-resolver-of-all-paths", "nginx-resolver")


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


def bound(deployment, minter: str, target: str) -> str:
    """A new label with a target."""
    label = deployment.ask(minter, "mint+1").text.split()[1]
    assert deployment.ask(minter, f"bind+set+{label}+_t+{target}").status == 200
    return label


def spellings(label: str) -> list[str]:
    plain = label.removeprefix("hdl:")
    return [label, plain, plain.lower(), plain.upper(), plain.replace("mtc-m18/", "mtc-m18@80/")]


# The schemes whose labels each of these resolves.
RESOLVED = {
    "apache-resolver": ("ibi", "ibip"), "wsgi-resolver": ("ibi", "ibip"), "nginx-resolver-by-form": ("ibi", "ibip"),
    "nginx-resolver": ("ibi", "pilin"), "apache-resolver-of-prefixes": ("ibi", "pilin"),
    "nginx-resolver-of-prefixes": ("ibip", "pilin"), "apache-resolver-of-all-paths": ("ibip", "pilin"),
}


@pytest.mark.parametrize("deployment", RESOLVED, indirect=True)
def test_a_label_resolves_in_any_spelling_and_is_described(deployment):
    labels = {}
    for scheme in RESOLVED[deployment.name]:
        deployment.create(f"{scheme}3", *SCHEMES[scheme])
        labels[scheme] = bound(deployment, f"{scheme}3", f"https://example.org/{scheme}")
    for scheme, label in labels.items():
        for spelling in spellings(label):
            deployment.wait_for_location(spelling, f"https://example.org/{scheme}")
        assert deployment.location(f"{label}/page.html") == f"https://example.org/{scheme}/page.html"
    # By now each of the two processes has looked for new minters, whichever of them answers.
    time.sleep(1.5)
    for scheme, label in labels.items():
        described = deployment.resolve(f"{label}??", "--header", "Accept: text/plain")
        assert described.status == 200 and label.removeprefix("hdl:") in described.text
        assert f"https://example.org/{scheme}" in described.text


@pytest.mark.parametrize("scheme", SCHEMES)
def test_apaches_rewriting_resolves_a_label_in_any_spelling(deploy, scheme):
    deployment = deploy(f"rewrite-{scheme}")
    label = bound(deployment, "kt5", "https://example.org/x")
    for spelling in spellings(label):
        assert deployment.location(spelling) == "https://example.org/x", spelling
    assert deployment.location(f"{label}/page.html?a=b") == "https://example.org/x/page.html?a=b"


@pytest.mark.parametrize("deployment", ["rewrite", "apache-resolver", "nginx-resolver-by-form"], indirect=True)
def test_paths_that_have_no_form_of_a_name_stay_with_the_server(deployment):
    for path in ("static", "fulltext/papers", "www/data", "2026/11/16/news", "kt4x551", "102.100.272/RPLZ54PQH"):
        reply = deployment.resolve(path)
        assert (reply.status, "noid" in str(reply.headers)) == (302 if path == "static" else 404, False), path
        assert "error:" not in reply.text, path


def test_apache_looks_labels_up_in_a_map(deploy):
    deployment = deploy("rewrite-map-ibi")
    label = bound(deployment, "kt5", "https://in-the-map.example/")
    deployment.noid("-f", "kt5", "export", "--map", "dbm", str(deployment.folder / "kt5.dbm"))
    deployment.bind(label, "https://bound-later.example/")
    deployment.wait_for_location(label, "https://in-the-map.example/")
    # Another spelling is not in the map.
    assert deployment.location(label.upper()) == "https://bound-later.example/"


def test_nginx_looks_labels_up_in_a_map(deploy):
    deployment = deploy("nginx-map")
    labels = []
    for scheme in ("ibi", "ibip"):
        deployment.create(f"{scheme}4", *SCHEMES[scheme])
        labels.append(bound(deployment, f"{scheme}4", f"https://in-the-map.example/{scheme}"))
    with (deployment.folder / "kt5.map").open("w") as joined:
        for scheme in ("ibi", "ibip"):
            one = deployment.folder / f"{scheme}.map"
            deployment.noid("-f", f"{scheme}4", "export", "--map", "nginx", str(one))
            joined.write(one.read_text())
    deployment.reload()
    for scheme, label in zip(("ibi", "ibip"), labels, strict=True):
        assert deployment.ask(f"{scheme}4", f"bind+set+{label}+_t+https://bound-later.example/").status == 200
        deployment.wait_for_location(label, f"https://in-the-map.example/{scheme}")
        assert deployment.location(f"{label}/page") == "https://bound-later.example/page"
    (deployment.folder / "kt5.map").write_text("")
    deployment.reload()
