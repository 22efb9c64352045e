"""Who gives a command by URL: users, addresses, proxies."""

from __future__ import annotations

from noidtools.web.request import Trust
from support.minter import run_in_child
from support.wsgi import USER, CommandClient


def contact(web: CommandClient, **variables: object) -> bytes:
    """Whom a minting was recorded for."""
    (minted,) = web("mint+1", **{"user": USER, **variables}).ids
    run_in_child(web.folder / "kt5", "bind", "set", minted, "x", "y")
    (record,) = run_in_child(web.folder / "kt5", "fetch", minted)
    return record["circ"].split(b"|")[2]


def test_the_contact_is_user_at_address(web: CommandClient) -> None:
    assert contact(web) == b"alice@192.0.2.7"
    run_in_child(web.folder / "kt5", "policy", "mint", "anyone")
    assert contact(web, user="") == b"@192.0.2.7"
    assert contact(web, user="al|ice\n") == b"al_ice_@192.0.2.7"


def test_a_forwarded_address_is_trusted_from_a_configured_proxy_only(web: CommandClient) -> None:
    assert contact(web, HTTP_X_FORWARDED_FOR="203.0.113.9") == b"alice@192.0.2.7"
    behind = web.with_settings(trust=Trust(proxies=("192.0.2.7", "10.0.0.1")))
    assert contact(behind, HTTP_X_FORWARDED_FOR="203.0.113.9") == b"alice@203.0.113.9"
    assert contact(behind, HTTP_X_FORWARDED_FOR="6.6.6.6, 203.0.113.9, 10.0.0.1") == b"alice@203.0.113.9"
    assert contact(behind, HTTP_X_FORWARDED_FOR="6.6.6.6, x|y\n") == b"alice@192.0.2.7"
    assert contact(behind, HTTP_X_FORWARDED_FOR="2001:db8::1") == b"alice@2001:db8::1"
    assert contact(behind, HTTP_X_FORWARDED_FOR="203.0.113.9", REMOTE_ADDR="192.0.2.8") == b"alice@192.0.2.8"
    through_a_file = web.with_settings(trust=Trust(proxies=("unix",)))
    assert contact(through_a_file, HTTP_X_FORWARDED_FOR="203.0.113.9", REMOTE_ADDR="localhost") == b"alice@203.0.113.9"


def test_a_user_header_is_trusted_only_if_configured_and_through_a_unix_socket(web: CommandClient) -> None:
    header = {"HTTP_NOIDUSER": "root", "HTTP_REMOTE_USER": "root"}
    assert web("mint+1", **header).status == 401
    assert web.with_settings(trust=Trust(proxies=("192.0.2.7",)))("mint+1", **header).status == 401
    behind = web.with_settings(trust=Trust(proxies=("192.0.2.7", "unix"), user_header="NoidUser"))
    assert behind("mint+1", **header).status == 401
    forwarded = {"HTTP_X_FORWARDED_FOR": "192.0.2.9"}
    assert contact(behind, user="", REMOTE_ADDR="", **header, **forwarded) == b"root@192.0.2.9"


def test_the_trial_user_is_for_requests_to_local_host_names_only(web: CommandClient) -> None:
    trial = web.with_settings(trust=Trust(user="tester"))
    assert trial("mint+1", HTTP_HOST="localhost:8080").status == 200
    assert trial("mint+1", HTTP_HOST="[::1]:8080").status == 200
    # Somebody's name for this machine, by which their page would be of our own site.
    assert trial("mint+1", HTTP_HOST="rebound.example:8080").status == 403
