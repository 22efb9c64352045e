"""What one request may ask for, and that hostile bodies take no longer than others of their length."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from noidtools.web import work_limit
from support.minter import Noid, run_in_child
from support.process import processor_seconds
from support.served import Served
from support.wsgi import USER, CommandClient

pytestmark = pytest.mark.slow

# So many bytes took minutes when the parsers' time grew with the square of the length.
SIZE = 2_600_000


def hostile_bodies(size: int) -> dict[str, bytes]:
    return {
        "double quotes": b'"' + b"\\a" * (size // 2) + b'"\n',
        "continuation lines": b"bind set x :\na: b\n" + b" c\n" * (size // 3) + b"\n",
        "label": b"validate .zd " + b"1" * size + b"\n",
    }


@pytest.mark.parametrize("kind", hostile_bodies(0))
def test_two_hostile_posts_do_not_stop_a_service_of_two_workers(fcgi: Served, kind: str) -> None:
    body = hostile_bodies(SIZE)[kind]
    for _ in range(2):
        assert fcgi.fastcgi("-", body, method="POST", user="")[0] in (401, 413)
    for user, largest in (("", work_limit.READERS_BODY), ("alice", SIZE)):
        body = hostile_bodies(largest - 100)[kind]
        before = sum(map(processor_seconds, fcgi.workers))
        fcgi.fastcgi("-", body, method="POST", user=user)
        assert sum(map(processor_seconds, fcgi.workers)) - before < 8
    assert fcgi.fastcgi("hello")[0] == 200


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("protocol", ["http", "fcgi"])
def test_more_wrong_names_than_there_can_be_readers_do_not_stop_the_service(
    serve: Callable[..., Served], tmp_path: Path, protocol: str
) -> None:
    """LMDB has room for 1,024 transactions that read."""
    noid = Noid.created(tmp_path / "ft5", "ft.sdd", "long", "13030", "a", "b")
    noid.set_target(noid.mint()[0], "https://target.example/")
    noid.close()
    served = serve(f"--{protocol}", "127.0.0.1:0" if protocol == "http" else str(tmp_path / "noid.sock"))
    body = b"".join(b"get x%d\n" % number for number in range(1500))
    if protocol == "http":
        status, text = served.http("POST", "/noidu_ft5?-", body)
        wrong, right = served.get("/nonsense"), served.get("/ark:/13030/ft00")
        assert (wrong.status, right.status) == (404, 302)
    else:
        status, _, text = served.fastcgi("-", body, method="POST", path="/noidu_ft5", user="")
        assert served.fastcgi("get+13030/ft00+_t", path="/noidu_ft5", user="")[0] == 200
    assert status == 200 and b"try again" not in text and text.count(b"error: ") == 1500


def test_who_may_only_read_sends_small_bodies_and_others_large_ones(web: CommandClient) -> None:
    line = "# " + "x" * work_limit.READERS_BODY + "\nhello\n"
    assert web.post(line).status == 200
    refused = web.post(line, user="")
    assert refused.status == 413 and str(work_limit.READERS_BODY) in refused.text
    assert web.post("hello\n", user="").status == 200
    smaller = web.with_settings(largest_body=10)
    assert smaller.post("hello hello\n", user="").status == 413


def test_the_words_of_one_request_are_counted_for_who_may_only_read(web: CommandClient) -> None:
    words = " 1" * work_limit.READERS_WORDS
    for body in (f"validate .zd{words}\n", "hello\n" * (work_limit.READERS_WORDS + 1)):
        refused = web.post(body, user="")
        assert refused.status == 413 and "words" in refused.text and "line" in refused.text
        assert web.post(body).status == 200
    assert web("validate+.zd" + words.replace(" ", "+"), user="").status == 413


def test_a_command_is_refused_before_its_elements_are_read(web: CommandClient) -> None:
    refused = web.post("bind set x :\nnot an element\n", user="")
    assert refused.status == 401 and "line 1: bind" in refused.text
    assert web.post("bind set x :\nnot an element\n").status == 400


def test_a_request_of_who_may_only_read_ends_when_its_time_is_used_up(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A clock that goes on by a tenth of a second whenever it is read.
    ticks = itertools.count()
    monkeypatch.setattr(work_limit, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 10))
    reply = web.post("describe\n" * 1000, user="")
    done, refused = _tally(reply.text)
    assert 0 < done < 30 and done + refused == 1000
    assert "in another" in reply.text
    assert web.post("hello\n" * 2000).text.endswith("2000 done, 0 refused\n")


def test_the_answers_of_one_request_are_bounded_for_who_may_only_read(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine must not use up the time first.
    monkeypatch.setattr(work_limit, "time", SimpleNamespace(monotonic=lambda: 0.0))
    reply = web.post("help\n" * 1000, user="")
    done, refused = _tally(reply.text)
    assert 0 < done < 1000 and done + refused == 1000 and "in another" in reply.text
    assert work_limit.READERS_ANSWER < len(reply.text.encode()) < 2 * work_limit.READERS_ANSWER
    assert _tally(web.post("help\n" * 1000).text) == (1000, 0)


def _tally(text: str) -> tuple[int, int]:
    _, done, refused = (int(word) for word in text.splitlines()[-1].split() if word.isdigit())
    return done, refused


def test_a_label_longer_than_any_minted_one_is_not_valid(web: CommandClient) -> None:
    assert web(f"validate+.zd+{'1' * 1000}", user="").text.startswith("id:")
    assert "more than 1000" in web(f"validate+.zd+{'1' * 1001}", user="").text


def test_one_request_mints_no_more_than_the_policy_allows(web: CommandClient) -> None:
    refused = web("mint+10001", user=USER, accept="application/json")
    assert refused.status == 413 and refused.json["error"] == {
        "kind": "too large", "message": "one request may mint 10000 identifiers here, and not 10001: send several"}
    bulk = web.post("mint 6000\npeppermint 4000\nbind mint new a b\n")
    assert bulk.status == 413 and "line 3: " in bulk.text and "(nothing of the body was run)" in bulk.text
    assert "Drawn: 0" in web("dbinfo").text
    run_in_child(web.folder / "kt5", "policy", "mint-limit", "3")
    assert web("mint+4", user=USER).status == 413 and len(web("mint+3", user=USER).ids) == 3
    assert web("mint+99999999999999999999", user=USER).status == 400
    run_in_child(web.folder / "kt5", "policy", "mint-limit", "default")
    assert len(web("mint+10000", user=USER).ids) == 10_000
