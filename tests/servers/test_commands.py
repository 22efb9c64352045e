"""Commands by URL through every server, asked by the real curl."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.servers import COMMANDS
from support.servers.deployment import USER, Deployment

DEPLOYMENTS = COMMANDS

ACCEPT_JSON = ("--header", "Accept: application/json")


# -- the manual's examples ---------------------------------------------------------------------------------------


def test_each_url_mints_as_many_identifiers_as_it_says(deployment):
    minter = deployment.new_minter()
    one = deployment.ask(minter, "mint+1")
    assert (one.status, one.text) == (200, "id: kt4x551\n\n")
    assert one.headers["content-type"] == "text/plain; charset=utf-8"
    assert one.headers["cache-control"] == "no-store"
    assert one.headers["x-content-type-options"] == "nosniff"
    twenty = deployment.ask(minter, "mint+20")
    assert twenty.status == 200
    assert len(set(twenty.ids + one.ids)) == 21
    assert "kt154d9" in twenty.text and twenty.text.endswith("\n\n")


def test_what_is_bound_by_one_url_is_got_by_another(deployment):
    minter = deployment.new_minter("kt.reeded", "long", "13030", "cdlib.org", "dpg")
    (name,) = deployment.mint(minter)
    assert name.startswith("13030/kt")
    bound = deployment.ask(minter, f"bind+set+{name}+myGoto+http://foo.ucsd.edu/")
    assert bound.status == 200 and "Status:  ok, 20 bytes written" in bound.text
    got = deployment.ask(minter, f"get+{name}+myGoto", user="")
    assert (got.status, got.text) == (200, "http://foo.ucsd.edu/\n")
    assert deployment.noid("-f", minter, "get", name, "myGoto") == "http://foo.ucsd.edu/\n"


def test_curl_binds_500_elements_with_one_bulk_post(deployment, tmp_path):
    minter = deployment.new_minter()
    names = deployment.mint(minter, 500)
    commands = tmp_path / "myCommands"
    commands.write_text("".join(f"bind set {name} myGoto http://foo.ucsd.edu/{name}\n" for name in names))
    reply = deployment.ask(minter, "-", "--data-binary", f"@{commands}")
    assert reply.status == 200, reply
    assert reply.text.count("Status:  ok") == 500
    assert re.findall(r"^Id: +(\S+)$", reply.text, re.MULTILINE) == names
    assert reply.text.endswith("\n\nbulk: 500 commands, 500 done, 0 refused\n")
    asked = "".join(f"get {name} myGoto\n" for name in names).encode()
    answers = deployment.noid("-f", minter, "-", stdin=asked).split()
    assert answers == [f"http://foo.ucsd.edu/{name}" for name in names]


def test_a_bulk_body_of_unknown_length_is_run_or_refused_with_411(deployment):
    minter = deployment.new_minter()
    reply = deployment.ask(minter, "-", "--header", "Transfer-Encoding: chunked", "--data-binary", "@-",
                     stdin=b"mint 2\n" * 1000)
    assert reply.status in (200, 411), reply
    drawn = re.search(r"^Drawn: (\d+)$", deployment.noid("-f", minter, "dbinfo"), re.MULTILINE)
    assert int(drawn[1]) == (2000 if reply.status == 200 else 0)


# -- the same everywhere -----------------------------------------------------------------------------------------

# What is asked, as which user, with which options of curl, and the status that must come.
REQUESTS = [
    ("", "", (), 200), ("help", "", (), 200), ("help+mint", "", (), 200), ("hello", "", (), 200),
    ("mint+1", USER, (), 200), ("mint+20", USER, (), 200), ("mint+3000", USER, (), 200), ("mint+0", USER, (), 200),
    ("bind+set+kt4x551+myGoto+http://foo.ucsd.edu/", USER, (), 200),
    ("get+kt4x551+myGoto", "", (), 200), ("fetch+kt4x551", "", ACCEPT_JSON, 200),
    ("mint+2", USER, ACCEPT_JSON, 200), ("validate+-+kt4x551+kt4x55", "", (), 200), ("dbinfo", "", ACCEPT_JSON, 200),
    ("bind+set+kt4x551+caf%C3%A9+%E2%82%AC%20%2B%20%22%22%20%25%26%23%3F", USER, (), 200),
    ("get+kt4x551+caf%C3%A9", "", (), 200), ("get+kt4x551+caf%c3%a9", "", ACCEPT_JSON, 200),
    ("bind+set+kt4x551+title+%27two+words%27", USER, (), 400), ("bind+set+kt4x551+title+'two+words'", USER, (), 200),
    ("get+kt4x551+title", "", (), 200),
    ("bind+set+kt4x551+bytes+%FF%FE%00", USER, (), 200), ("get+kt4x551+bytes", "", ACCEPT_JSON, 200),
    ("bind+add+kt4x551+:", USER, ("--data-binary", "Title: a\n b\nCreator: c\n\n"), 200),
    ("fetch+kt4x551", "", (), 200),
    ("-", USER, ("--data-binary", "mint 1\nbind new kt154d9 a b\nbind new kt154d9 a b\nget kt154d9 a\n"), 200),
    ("-", USER, (*ACCEPT_JSON, "--data-binary", "mint 1\nget kt154d9 nix\n"), 200),
    ("-", USER, ("--data-binary", "mint 1\nnix\n"), 200), ("-", "", ("--data-binary", "mint 1\n"), 401),
    ("-", USER, ("--data-binary", ""), 200), ("-", USER, (), 405),
    ("mint+1", USER, ("--header", "Idempotency-Key: k1"), 200),
    ("mint+1", USER, ("--header", "Idempotency-Key: k1"), 200),
    ("mint+2", USER, ("--header", "Idempotency-Key: k1"), 409),
    ("nix", USER, (), 400), ("get", "", (), 400), ("mint+x", USER, (), 400), ("mint+%zz", USER, (), 400),
    ("bind+set+kt4x551+:+b", USER, (), 400), ("mint+1", "", (), 401), ("bind+set+kt4x551+a+b", "", (), 401),
    ("dbinfo+full", "", (), 401), ("policy", "", (), 401), ("dbcreate+.zd", USER, (), 403), ("serve", USER, (), 403),
    ("get+kt4x551+nix", "", (), 404), ("get+kt154d9+nix", "", ACCEPT_JSON, 404),
    ("bind+new+kt4x551+myGoto+x", USER, (), 409), ("hold+set+kt4x551", USER, (), 200),
    ("queue+now+kt4x551", USER, (), 409),
    ("mint+1", USER, ("--head",), 405), ("get+kt4x551+myGoto", "", ("--head",), 200),
    ("get+kt4x551+myGoto", "", ("--request", "PUT"), 405), ("mint+1", USER, ("--request", "DELETE"), 405),
    ("mint+1", USER, ("--header", "Sec-Fetch-Site: cross-site"), 403),
    ("mint+1", USER, ("--header", "Origin: https://evil.example"), 403),
    ("mint+1", USER, ("--header", "Sec-Purpose: prefetch"), 403),
    ("mint+1", USER, ("--header", "Sec-Fetch-Site: same-origin"), 200),
    ("get+kt4x551+myGoto", "", ("--header", "Sec-Fetch-Site: cross-site"), 200),
    ("policy+mint+guest", USER, (), 200), ("mint+1", USER, (), 403), ("mint+1", "guest", (), 200),
    ("policy+read+nobody", USER, (), 200), ("get+kt4x551+myGoto", USER, (), 403), ("policy+read+anyone", USER, (), 200),
    ("note+n+" + "x" * 12000, USER, (), 200), ("dbinfo+dump", "guest", (), 200),
]


def answers_of(deployment: Deployment) -> tuple[list, str]:
    deployment.create("same", "kt.reeded")
    replies = []
    for query, user, options, status in REQUESTS:
        reply = deployment.ask("same", query, *options, user=user)
        assert reply.status == status, (deployment.name, query, reply)
        headers = {name: reply.headers.get(name) for name in ("content-type", "allow", "idempotency-replayed")}
        challenge = reply.headers.get("www-authenticate")
        assert challenge == ('Basic realm="noid"' if status == 401 else None)
        replies.append((query, reply.status, headers, timeless(reply.text)))
    return replies, timeless(deployment.noid("-f", "same", "dbinfo", "dump"))


def timeless(text: str) -> str:
    """Without dates, and without the answers kept for repeated requests, which are enciphered."""
    text = re.sub(r"(?m)^(REPLIES/.*?): .*$", r"\1:", text)
    text = re.sub(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "(its own)", text)
    return re.sub(r"\d{20}|\d{14}", "(then)", text)


def test_answers_statuses_and_databases_are_the_same_on_every_server(deploy):
    with ThreadPoolExecutor(3) as pool:
        answers = dict(zip(COMMANDS, pool.map(lambda name: answers_of(deploy(name)), COMMANDS), strict=True))
    (first, (replies, database)), *others = answers.items()
    assert "EVENTS/" in database and "noid@127.0.0.1" in database
    for name, (other_replies, other_database) in others:
        for expected, seen in zip(replies, other_replies, strict=True):
            assert seen == expected, f"{name} answers unlike {first}"
        assert other_database == database, f"{name} leaves another database than {first}"


def test_an_exhausted_minter_gives_its_last_identifiers_and_then_410(deployment):
    minter = deployment.new_minter(".sd")
    rest = deployment.ask(minter, "mint+12")
    assert rest.status == 200 and len(rest.ids) == 10 and "error: " in rest.text
    assert deployment.ask(minter, "mint+1").status == 410


@pytest.mark.parametrize("deployment", ["apache-cgi", "apache-mod_cgi"], indirect=True)
def test_a_hard_link_beside_the_minter_serves_it_too(deployment):
    minter = deployment.new_minter()
    (deployment.minters / f"noidu_{minter}").unlink()
    (deployment.minters / f"noidu_{minter}").hardlink_to(deployment.site.installation / "bin" / "noidu")
    assert deployment.ask(minter, "mint+1").text == "id: kt4x551\n\n"


def test_an_unknown_minter_is_not_found(deployment):
    assert deployment.ask("nowhere", "mint+1").status == 404
    assert deployment.ask("nowhere", "mint+1", user="").status == 404


@pytest.mark.parametrize("deployment", list(COMMANDS), indirect=True)
def test_a_wrong_password_is_refused_even_for_reading(deployment):
    minter = deployment.new_minter()
    reply = deployment.ask(minter, "hello", "--user", f"{USER}:wrong", user="")
    assert reply.status == 401 and reply.headers["www-authenticate"].startswith("Basic realm=")
    assert deployment.ask(minter, "hello", "--header", "Authorization: Bearer x", user="").status == 401
    # No other header makes anybody a user.
    claims = [option for name in ("X-Remote-User", "Remote-User", "REMOTE_USER", "X_REMOTE_USER", "X-Forwarded-User")
              for option in ("--header", f"{name}: {USER}")]
    assert deployment.ask(minter, "mint+1", *claims, user="").status == 401


def test_a_token_passes_through_the_web_server_and_a_password_does_not(deployment):
    minter = deployment.new_minter()
    printed = deployment.noid("-f", minter, "token", "new", "job", "--may", "mint")
    secret = printed.split()[1]
    header = ("-H", f"Authorization: Bearer {secret}")
    assert deployment.ask(minter, "mint+1", *header, user="").ids == ["kt4x551"]
    assert deployment.ask(minter, "note+a+b", *header, user="").status == 403
    assert deployment.ask(minter, "mint+1", "-H", "Authorization: Bearer noid_wrong", user="").status == 401
    assert deployment.ask(minter, "mint+1", "-H", "Authorization: Bearer", user="").status == 401
    assert "token:job@127.0.0.1" in deployment.noid("-f", minter, "log")
    deployment.noid("-f", minter, "token", "revoke", "job")
    assert deployment.ask(minter, "mint+1", *header, user="").status == 401
