"""Names on real servers, started from the files in conf/: clicks arrive, and no answer goes astray."""

from __future__ import annotations

import http.client
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from names_support import DOORS, LONG, ApacheRewrite
from server_support import MissingError, alive, command_line, program, raw


@pytest.fixture(scope="module")
def doors(site):
    made = {}

    def door(name: str):
        if name not in made:
            made[name] = DOORS[name](site, name)
            site.doors[name] = made[name]
            try:
                made[name].start()
            except MissingError as missing:
                pytest.fail(str(missing))
            if not (made[name].minters / "kt5").exists():
                made[name].create("kt5", *LONG)
        return made[name]

    return door


@pytest.fixture(params=["rewrite", "rewrite-map", "apache-names", "nginx-names", "nginx-map"])
def door(request, doors):
    door = doors(request.param)
    yield door
    print(door.logs())  # shown when the test has failed


def mint(door) -> str:
    reply = door.ask("kt5", "mint+1")
    assert reply.status == 200, reply
    return reply.text.split()[1]


def bind(door, name: str, value: str, element: str = "_t") -> None:
    reply = door.ask("kt5", f"bind+set+{name}+{element}+{value}")
    assert reply.status == 200, reply


def eventually_leads(door, name: str, target: str | None) -> None:
    """A resolver that started before its minter was made looks for it now and then."""
    deadline = time.monotonic() + 5
    while door.location(name) != target:
        assert time.monotonic() < deadline, (door.click(name), door.logs())
        time.sleep(0.05)


# -- the manual's scenario ---------------------------------------------------------------------------------------


def test_a_name_minted_and_bound_by_url_is_followed_by_a_click(door):
    name = mint(door)
    bind(door, name, "http://foo.ucsd.edu/")
    eventually_leads(door, f"ark:/{name}", "http://foo.ucsd.edu/")
    assert door.click(f"ark:/{name}").status == 302
    assert door.click(f"ark:/{name}", "--head").status == 302
    # Changed by curl, seen by the next click.
    for number in range(10):
        bind(door, name, f"https://bar.example/{number}")
        assert door.location(f"ark:/{name}") == f"https://bar.example/{number}"


def test_the_manuals_element_is_a_line_to_edit(doors):
    door = doors("rewrite-mygoto")
    name = mint(door)
    bind(door, name, "http://foo.ucsd.edu/", "myGoto")
    eventually_leads(door, f"ark:/{name}", "http://foo.ucsd.edu/")


def test_spellings_extensions_and_queries_arrive(door):
    name = mint(door)
    bind(door, name, "https://a.example/x")
    eventually_leads(door, f"ark:/{name}", "https://a.example/x")
    short = name.removeprefix("13030/")
    for asked, expected in [
        (f"ARK:13030/{short}", ""), (f"ark:/13030/{short[:4]}-{short[4:]}", ""), (f"ark%3A/{name}", ""),
        (f"/ark:/{name}", ""),
        (f"ark:/{name}/", ""), (f"ark:/{name}/my-file.pdf", "/my-file.pdf"), (f"ark:/{name}?a=b&c=%20-", "?a=b&c=%20-"),
        (f"ark:/{name}/a%20b%2Fc%25", "/a%20b%2Fc%25"), (f"ark:/{name}/%C3%A4", "/%C3%A4"),
        (f"ark:/{name}/a+b", "/a+b"),
        (f"ark:/{name}?a=b?c=d", "?a=b?c=d"), (f"ark:/{name}/a%3Fb?c", "/a%3Fb?c"),
        (f"ark:/{name}/a;b=c,d:e@f!$&'()*", "/a;b=c,d:e@f!$&'()*"),
    ]:
        assert door.location(asked) == f"https://a.example/x{expected}", asked


def test_codes_and_several_targets(door):
    name = mint(door)
    for code in (301, 303, 307, 308, 302):
        bind(door, name, f'"{code}%20https://a.example/{code}|https://b.example/"')
        eventually_leads(door, f"ark:/{name}", f"https://a.example/{code}")
        assert door.click(f"ark:/{name}").status == code


def test_a_name_that_leads_nowhere_is_404(door):
    for name in ("ark:/13030/none", "ark:/", "ark:/13030/kt%00", "ark:/99999/x"):
        assert door.click(name).status in (400, 404)


def test_a_target_that_nobody_may_be_sent_to_is_no_redirect(door):
    name = mint(door)
    for value in ("javascript:alert(1)", "javascript://x/%250Aalert(1)", "data:text/html,x", "//evil.example/",
                  "words"):
        bind(door, name, value)
        assert door.location(f"ark:/{name}") is None


@pytest.mark.parametrize("kind", ["apache-names", "nginx-names", "nginx-map"])
def test_descriptions_are_asked_for_by_marks_of_the_request_line(doors, kind):
    door = doors(kind)
    name = mint(door)
    bind(door, name, "https://a.example/x")
    eventually_leads(door, f"ark:/{name}", "https://a.example/x")
    for query in ("?info", "?", "??"):
        request = f"GET /ark:/{name}{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        answer = raw(door.names_port(), request.encode())
        assert answer.startswith(b"HTTP/1.1 200") and b"erc:\nwhere: http://x/ark:/" in answer, answer
    page = door.click(f"ark:/{name}?info", "--header", "Accept: text/html")
    assert page.headers["content-type"] == "text/html; charset=utf-8" and "default-src 'none'" in str(page.headers)


def test_the_fallback_of_the_minter_is_followed(doors):
    door = doors("rewrite")
    door.noid("-f", "kt5", "resolver", "fallback", "https://n2t.net/")
    try:
        assert door.location("ark:/99999/x-y?z=1") == "https://n2t.net/ark:/99999/x-y?z=1"
    finally:
        door.noid("-f", "kt5", "resolver", "fallback", "-")
    assert door.location("ark:/99999/x-y?z=1") is None


def test_what_is_meant_for_the_server_itself_is_passed_through_but_never_upwards(doors):
    door = doors("rewrite")
    (door.folder / "htdocs" / "docs").mkdir(exist_ok=True)
    (door.folder / "htdocs" / "docs" / "my file.txt").write_text("here it is\n")
    (door.folder / "htdocs" / "secret.txt").write_text("secret\n")
    name = mint(door)
    bind(door, name, '"/docs/my%20file.txt"')
    assert door.click(f"ark:/{name}").text == "here it is\n"
    bind(door, name, "/docs")
    assert door.click(f"ark:/{name}/my%20file.txt").status in (200, 404)
    for climb in ("/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//../secret.txt", "/x/../../secret.txt"):
        assert "secret" not in door.click(f"ark:/{name}{climb}").text
    bind(door, name, "/")
    assert door.location(f"ark:/{name}//evil.example/") is None


def test_a_withdrawn_name_is_gone(doors):
    door = doors("rewrite")
    name = mint(door)
    bind(door, name, "https://a.example/")
    assert door.location(f"ark:/{name}") == "https://a.example/"
    door.noid("-f", "kt5", "withdraw", name, "--reason", "test")
    assert door.click(f"ark:/{name}").status == 410


# -- maps --------------------------------------------------------------------------------------------------------


def test_apache_notices_a_new_map_and_asks_for_what_is_not_in_it(doors):
    door = doors("rewrite-map")
    name, later = mint(door), mint(door)
    bind(door, name, "https://in-the-map.example/")
    door.noid("-f", "kt5", "export", "--map", "dbm", str(door.folder / "kt5.dbm"))
    # The map was written before: what is bound now is not in it.
    bind(door, name, "https://bound-later.example/")
    bind(door, later, "https://not-in-the-map.example/")
    assert door.location(f"ark:/{name}") == "https://in-the-map.example/"
    assert door.location(f"ark:/{later}") == "https://not-in-the-map.example/"
    assert door.location(f"ark:/{name}/page") == "https://bound-later.example/page"
    time.sleep(1.1)
    door.noid("-f", "kt5", "export", "--map", "dbm", str(door.folder / "kt5.dbm"))
    assert door.location(f"ark:/{name}") == "https://bound-later.example/"
    os.unlink(door.folder / "kt5.dbm")


def test_nginx_reads_a_new_map_when_it_is_reloaded(doors):
    door = doors("nginx-map")
    name = mint(door)
    bind(door, name, "https://in-the-map.example/$x%22%7B%7D;%23")
    door.noid("-f", "kt5", "export", "--map", "nginx", str(door.folder / "kt5.map"))
    bind(door, name, "https://bound-later.example/")
    door.reload()
    eventually_leads(door, f"ark:/{name}", "https://in-the-map.example/%24x%22%7B%7D;#")
    assert door.location(f"ark:/{name}/page") == "https://bound-later.example/page"
    (door.folder / "kt5.map").write_text("")
    door.reload()
    eventually_leads(door, f"ark:/{name}", "https://bound-later.example/")


# -- hostile requests --------------------------------------------------------------------------------------------


def hostile_path(dice: random.Random) -> bytes:
    kinds = (
        lambda: bytes(dice.choices(bytes(range(0x21, 0x7F)), k=dice.randrange(1, 60))),
        lambda: b"".join(b"%%%02X" % dice.randrange(256) for _ in range(dice.randrange(1, 30))),
        lambda: b"13030/kt%0A_t", lambda: b"13030/x%20y%20z", lambda: b"13030/%22%27%5C", lambda: b"x" * 6000,
        lambda: b"13030/" + b"a/" * 500, lambda: b"13030/kt4x551%0Aget%20x%20y", lambda: b"${noid:get x y}",
        lambda: b"%{ENV:PATH}", lambda: b"13030/x|NULL", lambda: b"13030/x}|y", lambda: b"$1%1",
        lambda: b"\xff\xfe%FF", lambda: b"13030/a%00b", lambda: b"?",
    )
    return dice.choice(kinds)()


@pytest.mark.parametrize("kind", ["rewrite", "apache-names", "nginx-names"])
def test_concurrent_hostile_urls_never_turn_an_answer_to_another_reader(doors, kind):
    door = doors(kind)
    names = [mint(door) for _ in range(20)]
    door.ask("kt5", "-", "--data-binary", "@-", stdin="".join(
        f"bind set {name} _t https://own.example/{name}\n" for name in names).encode())
    eventually_leads(door, f"ark:/{names[-1]}", f"https://own.example/{names[-1]}")
    wrong: list[tuple] = []

    def reader(seed: int) -> int:
        dice = random.Random(seed)
        connection = http.client.HTTPConnection("127.0.0.1", door.names_port(), timeout=20)
        known = 0
        for _ in range(400):
            if dice.random() < 0.5:
                name = dice.choice(names)
                rest = f"/{dice.getrandbits(40):x}" if dice.random() < 0.5 else ""
                path, expected = f"/ark:/{name}{rest}", f"https://own.example/{name}{rest}"
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                known += 1
                if (answer.status, answer.getheader("Location")) != (302, expected):
                    wrong.append((path, answer.status, answer.getheader("Location")))
            else:
                connection.close()
                path = b"/ark:/" + hostile_path(dice)
                answer = raw(door.names_port(), b"GET " + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                status = answer[:40].split(b" ")[1:2]
                if status not in ([b"404"], [b"400"], [b"200"], [b"403"], [b"414"]):
                    wrong.append((path, answer[:200]))
        connection.close()
        return known

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(reader, range(8))) > 1000
    assert not wrong, wrong[:5]


def test_an_answer_that_a_killed_process_left_behind_reaches_nobody(doors):
    """Apache's processes are killed in the middle of lookups; whoever comes next gets his own answer."""
    door = doors("rewrite-killed")
    names = [mint(door) for _ in range(5)]
    for name in names:
        bind(door, name, f"https://own.example/{name}")
    eventually_leads(door, f"ark:/{names[0]}", f"https://own.example/{names[0]}")
    (noidr,) = door.noidrs()
    # While noidr sleeps, requests pile up in Apache's processes, one of them waiting for its answer; they are killed.
    os.kill(noidr, signal.SIGSTOP)
    waiting = [subprocess.Popen([program("curl"), "-s", f"http://127.0.0.1:{door.port}/ark:/{name}"]) for name in names]
    time.sleep(0.5)
    workers = [pid for pid in door.apache.children() if command_line(pid).startswith(door.apache.arguments[0])]
    # All at once: none must take the place of another in the queue and leave an answer of its own.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in workers:
            os.kill(pid, number)
    os.kill(noidr, signal.SIGCONT)
    for process in waiting:
        process.wait(20)
    for name in names * 3:
        assert door.location(f"ark:/{name}") == f"https://own.example/{name}"


# -- accounts and the life of noidr ------------------------------------------------------------------------------


class ApacheAsRoot(ApacheRewrite):
    """Apache started by root, as systems do, with noidr under an account of its own."""

    def account(self) -> dict[str, object]:
        return {"www-data:www-data": "nobody:nogroup"}

    def more(self) -> str:
        return "User www-data\nGroup www-data\n"

    def run(self, *arguments: object, name: str = "server", **settings):
        return super().run(*arguments, name=name, **settings, **({"user": 0, "group": 0} if os.getuid() == 0 else {}))


def test_noidr_runs_under_its_own_account_reads_only_and_ends_with_its_server(doors):
    site = doors("rewrite").site
    door = ApacheAsRoot(site, "as-root")
    site.doors["as-root"] = door
    door.create("kt5", *LONG)
    name = door.noid("-f", "kt5", "mint", "1").split()[1]
    door.noid("-f", "kt5", "bind", "set", name, "_t", "https://a.example/")
    database = door.minters / "kt5" / "NOID"
    os.chmod(database / "data.mdb", 0o644)
    os.chmod(database / "lock.mdb", 0o666)
    door.start()
    eventually_leads(door, f"ark:/{name}", "https://a.example/")
    (noidr,) = door.noidrs()
    status = Path(f"/proc/{noidr}/status").read_text()
    if os.getuid() == 0:
        assert "Uid:\t65534\t65534\t65534\t65534" in status and "Gid:\t65534\t65534\t65534\t65534" in status
    door.noid("-f", "kt5", "bind", "set", name, "_t", "https://b.example/")
    assert door.location(f"ark:/{name}") == "https://b.example/"
    # Its server is killed, with all its processes, as hard as can be.
    for pid in (door.apache.pid, *door.apache.children()):
        if pid != noidr:
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while alive(noidr):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_restored_database_is_followed_without_a_restart(doors):
    door = doors("rewrite")
    name = mint(door)
    bind(door, name, "https://before.example/")
    eventually_leads(door, f"ark:/{name}", "https://before.example/")
    data = door.minters / "kt5" / "NOID" / "data.mdb"
    copy = data.read_bytes()
    bind(door, name, "https://after.example/")
    assert door.location(f"ark:/{name}") == "https://after.example/"
    owner = data.stat()
    restored = data.with_name("restored")
    restored.write_bytes(copy)
    os.chown(restored, owner.st_uid, owner.st_gid)
    os.replace(restored, data)
    eventually_leads(door, f"ark:/{name}", "https://before.example/")
