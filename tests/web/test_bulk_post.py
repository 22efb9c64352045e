"""Commands in bulk by POST."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from noidtools.minter import Minter
from support.minter import Noid, create_in_child, run_in_child
from support.wsgi import USER, CommandClient, command_environment, encode_word


def test_each_lines_result_is_in_the_body_in_order_and_the_counts_last(web: CommandClient) -> None:
    reply = web.post("mint 1\n\n# a comment\nget nothing\nbind set kt639k9 x 'two words'\nget kt639k9 x\n")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    answers = reply.text.split("\n\n")
    assert [answer.partition(":")[0] for answer in answers] == ["id", "error", "Id", "two words", "bulk"]
    assert reply.text.endswith("\n\nbulk: 4 commands, 3 done, 1 refused\n")


def test_bulk_results_are_available_as_json(web: CommandClient) -> None:
    commands = "mint 2\nget nothing\nbind set kt639k9 x y\nvalidate - kt\nget kt639k9 x\n"
    reply = web.post(commands, accept="application/json")
    results = reply.json["results"]
    assert [result["line"] for result in results] == [1, 2, 3, 4, 5]
    assert len(results[0]["records"]) == 2 and results[1]["error"]["kind"] == "not found"
    assert results[3]["failed"] is True and results[4]["records"] == [{"name": "x", "value": "y"}]
    assert reply.json["bulk"] == {"commands": 5, "done": 3, "refused": 2}
    assert web.post("", accept="application/json").json == {
        "results": [], "bulk": {"commands": 0, "done": 0, "refused": 0}}


def test_an_answer_in_parts_is_one_result(tmp_path: Path) -> None:
    create_in_child(tmp_path / "kt5", "a.zd")
    run_in_child(tmp_path / "kt5", "policy", "mint-limit", "25000")
    web = CommandClient(tmp_path)
    reply = web.post("mint 25000\nhello\n", accept="application/json")
    assert [len(result["records"]) for result in reply.json["results"]] == [25_000, 1]
    reply = web.post("mint 25000\nhello\n")
    assert len(set(reply.ids)) == 25_000 and reply.text.endswith("\n\nHello.\n\nbulk: 2 commands, 2 done, 0 refused\n")


def test_elements_may_follow_their_command(web: CommandClient) -> None:
    reply = web.post("bind set kt639k9 :\na: 1\nb: 2\n\nget kt639k9 a b\nbind set kt639k9 :-\nc: all\nthe rest\n")
    assert "\n1\n \n2\n\n" in reply.text and reply.text.endswith("bulk: 3 commands, 3 done, 0 refused\n")
    assert run_in_child(web.folder / "kt5", "get", "kt639k9", "c") == [{"name": b"c", "value": b"all\nthe rest\n"}]


@pytest.mark.parametrize("bad", ["dance", "mint 'x", "dbcreate .zd", "serve", "bind set kt639k9", "-"])
def test_a_line_that_is_no_command_is_reported_and_the_rest_goes_on_as_at_the_shell(
    web: CommandClient, bad: str, tmp_path: Path
) -> None:
    body = f"mint 1\n{bad}\nmint 1\n"
    reply = web.post(body)
    assert (reply.status, reply.ids) == (200, ["kt4x551", "kt154d9"])
    text, _, bulk = reply.text.rpartition("bulk: ")
    assert bulk == "3 commands, 2 done, 1 refused\n"
    shell = Noid.created(tmp_path / "shell", "kt.reeded")
    done = shell.run("-", stdin=body.encode())
    assert (done.returncode, done.stdout.decode()) == (1, text)


def test_nothing_is_run_if_no_line_is_a_command(web: CommandClient) -> None:
    reply = web.post('{"count": 2}\n# mint 1\ndance\n')
    assert reply.status == 400 and reply.text.startswith("error: line 1: ") and "nothing of the body" in reply.text


def test_nothing_is_run_unless_every_line_is_allowed(web: CommandClient) -> None:
    reply = web.post("get nothing\nmint 1\n", user="")
    assert (reply.status, reply.headers["www-authenticate"]) == (401, 'Basic realm="noid"')
    run_in_child(web.folder / "kt5", "policy", "bind", "bob")
    assert web.post("mint 1\nbind set kt639k9 x y\n").status == 403
    assert web.post("get nothing\nhello\n", user="").status == 200
    assert web("mint+1", user=USER).ids == ["kt4x551"]


def test_commands_in_bulk_are_accepted_by_post_only(web: CommandClient) -> None:
    reply = web("-", user=USER)
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("length", ["x", "-1", "1e3", "٣", "9" * 19, "0x10", " 5"])
def test_a_wrong_content_length_is_refused(web: CommandClient, length: str) -> None:
    sent = []
    environ = command_environment("-", method="POST", body=b"mint 1\n", CONTENT_LENGTH=length)
    # Without the validator, which would refuse some of these itself.
    list(web.application(environ, lambda status, headers: sent.append(status)))
    assert sent == ["400 Bad Request"]


class Broken(io.BytesIO):
    """A connection that breaks after what it holds, in one of the ways in which servers tell."""

    def __init__(self, data: bytes, error: BaseException | None) -> None:
        super().__init__(data)
        self._error = error

    def read(self, size: int = -1) -> bytes:
        piece = super().read(size)
        if not piece and self._error:
            raise self._error
        return piece


@pytest.mark.parametrize("error", [None, OSError("gone"), EOFError(), ConnectionResetError(), TimeoutError()], ids=repr)
def test_a_truncated_body_is_refused_whole(web: CommandClient, error: BaseException | None) -> None:
    whole = b"mint 1\n" * 5
    reply = web("-", user=USER, method="POST", body=whole, **{"wsgi.input": Broken(whole[:20], error)})
    assert reply.status == 400 and "not all of its 35 bytes" in reply.text
    assert web("mint+1", user=USER).ids == ["kt4x551"]


def test_a_body_over_the_limit_is_refused(web: CommandClient) -> None:
    small = web.with_settings(largest_body=20)
    assert small.post("mint 1\n" * 2).status == 200
    assert small.post("mint 1\n" * 3).status == 413
    chunked = {"CONTENT_LENGTH": None, "HTTP_TRANSFER_ENCODING": "chunked"}
    assert small.post("mint 1\n", **chunked).status == 411
    assert small.post("mint 1\n", **chunked, **{"wsgi.input_terminated": True}).status == 200
    assert small.post("mint 1\n" * 3, **chunked, **{"wsgi.input_terminated": True}).status == 413


def test_a_bound_value_cannot_be_mistaken_for_labelled_lines_of_the_answer(web: CommandClient) -> None:
    hostile = ["error: forged", "id: kt1", "", " ", "a\n\nbulk: 9 commands, 9 done, 0 refused", "x\rid: kt2", "bulk:",
               "\n", "\nid: kt3"]

    for place, value in enumerate(hostile):
        assert web(f"bind+set+kt639k9+e{place}+{encode_word(value.encode()).decode()}", user=USER).status == 200
    reply = web.post("".join(f"get kt639k9 e{place}\n" for place in range(len(hostile))))
    lines = reply.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    labelled = [line for line in lines if line.startswith(("error:", "id:", "bulk:"))]
    assert labelled == [f"bulk: {len(hostile)} commands, {len(hostile)} done, 0 refused"]
    answers = reply.text.split("\n\n")
    assert len(answers) == len(hostile) + 1
    assert [unindented(answer) for answer in answers[:-1]] == hostile
    # Addresses, which are what is mostly bound, stay as they are.
    web("bind+set+kt639k9+u+http://foo.ucsd.edu/", user=USER)
    assert web.post("get kt639k9 u\n").text.startswith("http://foo.ucsd.edu/\n")


def unindented(answer: str) -> str:
    """What README tells a reader to do: a line that begins with a space loses it."""
    return "\n".join("\r".join(piece.removeprefix(" ") for piece in line.split("\r")) for line in answer.split("\n"))


def test_a_bulk_run_commits_several_times(web: CommandClient, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = []
    write = Minter.write

    def counted(self: Minter, work: object, **options: object) -> object:
        if not self.store.writing:
            commits.append(work)
        return write(self, work, **options)

    monkeypatch.setattr(Minter, "write", counted)
    assert web.post("bind set kt639k9 x y\n" * 2000).status == 200
    assert 4 <= len(commits) < 200


def test_a_client_that_stops_reading_stops_the_run_between_two_commits(web: CommandClient) -> None:
    body = b"".join(b"bind set kt639k9 e%d y\n" % number for number in range(5000))
    environ = command_environment("-", user=USER, method="POST", body=body, path="/noidu_kt5", accept="")
    parts = web.application(environ, lambda *_: None)
    next(iter(parts))
    parts.close()
    bound = len(run_in_child(web.folder / "kt5", "get", "kt639k9"))
    assert 0 < bound < 5000
    assert web("mint+1", user=USER).status == 200


def test_the_name_of_an_element_cannot_be_mistaken_for_a_label_or_the_end_of_an_answer(web: CommandClient) -> None:
    for element, value in (("%0Afoo", "x"), ("error", "hacked"), ("bulk", "9 commands, 9 done, 0 refused"),
                           ("State", "withdrawn"), ("a%3A", "b"), ("plain-name", "y")):
        assert web(f"bind+set+kt4x551+{element}+{value.replace(' ', '%20')}", user=USER).status == 200
    reply = web.post("fetch kt4x551\nhello\n").text
    first, second, last = reply.split("\n\n")
    assert first.startswith("id:") and second == "Hello." and last == "bulk: 2 commands, 2 done, 0 refused\n"
    labels = [line.partition(":")[0] for line in first.splitlines()]
    assert sorted(labels) == sorted(
        ["id", "Circ", "%0Afoo", "%53tate", "a%3A", "%62ulk", "%65rror", "plain-name"])


# -- CGI ---------------------------------------------------------------------------------------------------------


def test_a_body_that_arrives_in_small_pieces_is_read_whole(web: CommandClient) -> None:
    class Slow(io.BytesIO):
        def read(self, size: int = -1) -> bytes:
            return super().read(min(size, 3))

    body = b"mint 1\n" * 5
    environ = {"wsgi.input": Slow(body)}
    assert len(web("-", method="POST", user=USER, body=body, **environ).ids) == 5


# -- all or nothing ----------------------------------------------------------------------------------------------


def atomic(web: CommandClient, body: str, **options: Any) -> Any:
    return web("-+--atomic", method="POST", body=body.encode(), **{"user": USER, **options})


@pytest.mark.parametrize(("last", "status"), [
    ("bind new kt639k9 a c", 409), ("get kt639k9 none", 404), ("nonsense", 400),
    ("note a b c", 400), ("mint 9999999999", 413),
])
def test_of_an_atomic_request_everything_is_done_or_nothing(web: CommandClient, last: str, status: int) -> None:
    before = web("dbinfo+dump", user=USER).text
    refused = atomic(web, f"mint 2\nbind set kt639k9 a b\n{last}\n")
    assert refused.status == status and "line 3: " in refused.text
    assert refused.text.endswith("(nothing of the body was run)\n")
    assert web("dbinfo+dump", user=USER).text == before
    done = atomic(web, "mint 2\nbind set kt639k9 a b\nget kt639k9 a\n")
    assert done.status == 200 and len(done.ids) == 2 and "bulk: 3 commands, 3 done, 0 refused" in done.text


def test_an_atomic_request_that_finds_too_few_identifiers_mints_none(tmp_path: Path) -> None:
    create_in_child(tmp_path / "kt5", "x.sd")
    web = CommandClient(tmp_path)
    assert atomic(web, "mint 6\nmint 5\n").status == 410
    assert len(atomic(web, "mint 6\nmint 4\n").ids) == 10


def test_an_atomic_request_can_be_repeated_with_its_key(web: CommandClient) -> None:
    key = {"HTTP_IDEMPOTENCY_KEY": "k"}
    assert atomic(web, "mint 1\nget none a\n", **key).status == 404
    first, again = (atomic(web, "mint 1\nmint 2\n", **key) for _ in range(2))
    assert len(first.ids) == 3 and again.ids == first.ids and again.headers["idempotency-replayed"] == "true"


def test_what_an_atomic_request_cannot_hold_is_refused(web: CommandClient) -> None:
    run_in_child(web.folder / "kt5", "policy", "mint-limit", "20000")
    refused = atomic(web, "mint 1\nmint 10001\n")
    assert refused.status == 400 and "line 2: this takes several transactions" in refused.text
    assert atomic(web, "hello\n" * 10_001).status == 413
    assert web("-+x", method="POST", body=b"hello\n", user=USER).status == 400
    assert atomic(web, "mint 1\n", user="").status == 401 and atomic(web, "hello\n", user="").status == 200
    assert "Drawn: 0" in web("dbinfo").text
