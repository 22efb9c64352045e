"""What nginx keeps of answers about names, and gives while the service is down."""

from __future__ import annotations

import time

import pytest

WAYS = ("nginx-resolver", "nginx-fcgi-resolver")
JSON = ("--header", "Accept: application/json")
RELOAD = ("--header", "Cache-Control: no-cache")
DOWN = (502, 503, 504)


@pytest.fixture
def start(deploy, site):
    """Starts a server of its own for a test, which may stop the service behind it."""
    def start(way: str):
        started = deploy(way, instance=str(len(site.deployments)))
        started.create("fk", "fk.zd", "medium", "54321")
        return started

    return start


def bound(deployment, minter: str, target: str) -> str:
    name = deployment.mint(minter)[0]
    rebind(deployment, minter, name, target)
    deployment.wait_for_location(f"ark:/{name}?x", f"{target}?x")  # so that the resolver knows the minter
    return f"ark:/{name}"


def rebind(deployment, minter: str, name: str, target: str) -> None:
    assert deployment.ask(minter, f"bind+set+{name.removeprefix('ark:/')}+_t+{target}").status == 200


@pytest.mark.parametrize("way", WAYS)
def test_names_lead_on_while_the_service_is_down(start, way):
    site = start(way)
    login = site.credentials()
    name, fresh, other = (bound(site, "fk", f"https://a.example/{number}") for number in range(3))
    assert (site.resolve(name).status, site.location(name)) == (302, "https://a.example/0")
    text, data = site.resolve(f"{name}?info"), site.resolve(f"{name}?info", *JSON)
    assert text.headers["content-type"] != data.headers["content-type"] == "application/json"
    assert site.resolve(other, *login).status == 302 and site.resolve(f"{fresh}?info", *login).status == 200
    site.service.stop()
    assert (site.resolve(name).status, site.location(name)) == (302, "https://a.example/0")
    assert site.resolve(name, "--head").status in (302, *DOWN), "a HEAD is not given in place of a GET"
    assert site.resolve(f"{name}?info").body == text.body, "each form of a description is kept for itself"
    assert site.resolve(f"{name}?info", *JSON).body == data.body
    assert site.location(name) == site.resolve(name, *RELOAD).headers.get("location", "https://a.example/0")
    for path in (fresh, f"{fresh}?info", other, "ark:/54321/unknown", f"nd/noidu_fk?get+{name[5:]}+_t", "metrics"):
        assert site.resolve(path).status in DOWN, (path, "was never asked for, or by a user, or is no name")
    assert site.resolve(name, *login).status in DOWN, "a user is not given what others got"


@pytest.mark.parametrize("way", WAYS)
def test_a_change_is_seen_when_the_minter_says_so_and_at_once_by_whoever_reloads(start, way):
    site = start(way)
    name, at_once = bound(site, "fk", "https://a.example/1"), bound(site, "kt5", "https://a.example/1")
    for each in (name, at_once):
        assert site.location(each) == "https://a.example/1"
    rebind(site, "fk", name, "https://a.example/2")
    rebind(site, "kt5", at_once, "https://a.example/2")
    assert site.location(at_once) == "https://a.example/2", "this minter's answers are not kept"
    assert site.location(name) == "https://a.example/1"
    assert site.resolve(name, *RELOAD).headers["location"] == "https://a.example/2"
    assert site.location(name) == "https://a.example/2"
    site.noid("-f", "fk", "resolver", "cache", "1", "3600")
    assert site.resolve(name, *RELOAD).headers["cache-control"] == "max-age=1, stale-if-error=3600"
    rebind(site, "fk", name, "https://a.example/3")
    site.wait_for_location(name, "https://a.example/3")
    site.service.stop()
    time.sleep(2)  # by then it is older than a second
    assert site.location(name) == "https://a.example/3"
