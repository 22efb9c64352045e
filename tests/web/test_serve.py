"""noid serve by HTTP and FastCGI, and its options."""

from __future__ import annotations

import fcntl
import grp
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from noidtools.errors import UsageError
from noidtools.server.address import Address
from noidtools.server.serve import Options
from support import gateway
from support.http import free_port, ids_in
from support.minter import create_in_child, run_in_child
from support.process import NOID
from support.project import ROOT
from support.served import Served

pytestmark = pytest.mark.slow

# -- every way in ------------------------------------------------------------------------------------------------


def test_serve_answers_by_http(http_server: Served) -> None:
    status, body = http_server.http("GET", "/nd/noidu_kt5?mint+2")
    assert status == 200 and len(ids_in(body)) == 2
    assert http_server.http("GET", "/nd/noidu_none?mint+2")[0] == 404
    status, body = http_server.http("POST", "/noidu_kt5?-", b"mint 1\nhello\n")
    assert status == 200 and body.endswith(b"bulk: 2 commands, 2 done, 0 refused\n")


def test_a_link_in_place_of_the_mark_that_a_folder_is_served_is_not_followed(serve, tmp_path: Path) -> None:
    (tmp_path / ".noid-served").symlink_to(tmp_path / "elsewhere")
    assert serve("--http", "127.0.0.1:0").http("GET", "/noidu_kt5?hello")[0] == 200
    assert not (tmp_path / "elsewhere").exists()


def test_serve_by_http_without_a_user_asks_for_a_token(serve) -> None:
    served = serve("--http", "127.0.0.1:0")
    assert served.http("GET", "/noidu_kt5?hello")[0] == 200
    status, body = served.http("GET", "/noidu_kt5?mint+1")
    assert status == 401 and b"has no login" in body and b"'noid policy mint anyone'" in body


def test_serve_believes_what_comes_through_a_unix_socket_of_the_web_server(serve, tmp_path: Path) -> None:
    served = serve("--http", str(tmp_path / "h.sock"), "--socket-mode", "600", "--user-header", "NoidUser")
    assert os.stat(tmp_path / "h.sock").st_mode & 0o777 == 0o600
    assert b" 401 " in served.raw(b"GET /noidu_kt5?mint+1 HTTP/1.0\r\nRemote_User: bob\r\n\r\n", finish=False)
    headers = b"NoidUser: bob\r\nX-Forwarded-For: 203.0.113.9\r\n"
    reply = served.raw(b"GET /noidu_kt5?bind+mint+new+x+y HTTP/1.0\r\n" + headers + b"\r\n", finish=False)
    identifier = reply.partition(b"\r\n\r\n")[2].decode().split()[1]
    (record,) = run_in_child(tmp_path / "kt5", "fetch", identifier)
    assert b"bob@203.0.113.9" in record["circ"]
    assert served.stop() == 0 and not (tmp_path / "h.sock").exists()


def test_serve_believes_no_header_on_a_port_and_no_variable_of_its_own_environment(serve) -> None:
    served = serve("--http", "127.0.0.1:0", env={**os.environ, "REMOTE_USER": "bob", "HTTP_NOIDUSER": "bob"})
    for name in ("NoidUser", "Remote-User", "X-Forwarded-User"):
        assert served.http("GET", "/noidu_kt5?mint+1", **{name: "bob"})[0] == 401


def test_an_address_of_a_port_that_others_can_reach_is_pointed_out(serve) -> None:
    port = free_port()
    served = serve("--http", f"0.0.0.0:{port}")
    assert "open to other computers" in served.log.read_text()
    assert "open to other" not in serve("--http", "127.0.0.1:0").log.read_text()


def test_two_services_do_not_share_a_port(serve, http_server: Served, tmp_path: Path) -> None:
    words = ["serve", "--minters", tmp_path, "--http", f"127.0.0.1:{http_server.address[1]}"]
    refused = subprocess.run([*NOID, *words], capture_output=True, check=False, timeout=60)
    assert refused.returncode == 2 and b"cannot listen" in refused.stderr and refused.stderr.count(b"\n") == 1


def test_serve_writes_an_access_log_and_speaks_https(serve, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout",
                    key, "-out", certificate], capture_output=True, check=True)
    served = serve("--http", "127.0.0.1:0", "--access-log", "--tls-certificate", certificate, "--tls-key", key)
    url = f"https://127.0.0.1:{served.address[1]}/noidu_kt5?hello"
    with urllib.request.urlopen(url, context=ssl._create_unverified_context()) as reply:
        assert reply.read() == b"Hello.\n\n"
    served.until(lambda: '"GET /noidu_kt5 HTTP/1.1" 200' in served.log.read_text())


def test_serve_answers_by_fastcgi(fcgi: Served, tmp_path: Path) -> None:
    status, headers, body = fcgi.fastcgi("mint+1")
    assert status == 200 and len(ids_in(body)) == 1 and headers["Cache-Control"] == "no-store"
    assert fcgi.fastcgi("mint+1", user="")[0] == 401
    assert fcgi.fastcgi("hello", path="/noidu_none")[0] == 404
    status, _, body = fcgi.fastcgi("-", b"mint 1\nhello\n", method="POST")
    assert status == 200 and body.endswith(b"bulk: 2 commands, 2 done, 0 refused\n")
    assert os.stat(tmp_path / "noid.sock").st_mode & 0o777 == 0o660


def test_serve_answers_by_fastcgi_over_tcp_and_for_one_minter(serve, tmp_path: Path) -> None:
    served = serve("--fcgi", "127.0.0.1:0", "--allow", "127.0.0.1")
    assert served.fastcgi("mint+1")[0] == 200
    one = Served.start(tmp_path / "one", "-f", str(tmp_path / "kt5"), "serve", "--fcgi", "127.0.0.1:0", "--allow",
                       "127.0.0.1")
    assert one.fastcgi("mint+1", path="/noidu")[0] == one.fastcgi("mint+1", path="/x/noidu_kt5")[0] == 200
    assert one.fastcgi("mint+1", path="/noidu_other")[0] == 404
    assert one.stop() == 0


def test_noid_fcgi_serves_the_socket_of_its_process_manager(tmp_path: Path) -> None:
    create_in_child(tmp_path / "kt5", "kt.reeded")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        process = subprocess.Popen([sys.executable, ROOT / "cgi-bin" / "noid.fcgi"], stdin=listener,
                                   env={**os.environ, "NOID_MINTERS": str(tmp_path)})
    status, _, body = gateway.fastcgi(str(tmp_path / "s"), "mint+1", path="/nd/noid.fcgi/noidu_kt5", user="alice")
    assert status == 200 and len(ids_in(body)) == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


def test_noid_fcgi_at_a_shell_names_the_command_to_use_instead() -> None:
    done = subprocess.run([sys.executable, ROOT / "cgi-bin" / "noid.fcgi"], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    assert done.returncode == 2 and b"noid serve --fcgi" in done.stderr and b"Traceback" not in done.stderr


def test_a_socket_gets_its_folder_its_group_and_its_mode(serve, tmp_path: Path) -> None:
    group = os.getgroups()[-1] if os.getgroups() else os.getgid()
    path = tmp_path / "run" / "noid.sock"
    served = serve("--fcgi", str(path), "--socket-group", grp.getgrgid(group).gr_name, "--socket-mode", "620")
    assert served.fastcgi("hello")[0] == 200
    status = path.stat()
    assert (status.st_gid, status.st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (group, 0o620, 0o755)


# -- options -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [
    ["--http", "8080"], ["--http", "127.0.0.1:99999"], ["--http", ":80"], ["--http", "a:b"], ["--workers", "0"],
    ["--workers", "x"], ["--socket-mode", "888"], ["--socket-mode", "7777"], ["--socket-group", "no-such-group"],
    ["--http", "127.0.0.1:80", "--socket-group", "root"], ["--max-body", "-1"], ["extra"],
    ["--http", "127.0.0.1:80", "--fcgi", "127.0.0.1:81"], ["--user", "a", "--http", "0.0.0.0:80"], ["--odd", "1"],
    ["--user", "a", "--fcgi", "127.0.0.1:80"], ["--user-header", "User"], ["--fcgi", "systemd"], ["--threads", "0"],
    ["--http", "/s", "--socket-mode", "666", "--user-header", "User"], ["--http", "/s", "--user-header", "X-User"],
    ["--fcgi", "127.0.0.1:80", "--allow", "nowhere"], ["--allow", "127.0.0.1"], ["--http", "127.0.0.1:0"],
    ["--fcgi", "127.0.0.1:80"], ["--tls-key", "/dev/null"], ["--fcgi", "/s", "--access-log"],
])
def test_wrong_options_of_serve_are_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        Options([word.encode() for word in words])


@pytest.mark.parametrize(("text", "loopback"), [
    ("127.0.0.1:80", True), ("localhost:80", True), ("[::1]:80", True), ("0.0.0.0:80", False),
    ("example.org:80", False), ("/run/noid.sock", False), ("unix:/run/noid.sock", False),
])
def test_an_address_is_loopback_or_not(text: str, loopback: bool) -> None:
    assert Address(text).is_loopback == loopback


def test_serve_help_lists_its_options(noid) -> None:
    assert "--socket-mode" in noid("serve", "--help")


def test_serve_refuses_missing_minters_and_unusable_addresses(noid_process, tmp_path: Path) -> None:
    assert "no minter" in noid_process.refused("serve")
    assert "no folder" in noid_process.refused("serve", "--minters", "nowhere")
    assert "on its own" in noid_process.run("-", stdin=b"serve\n").stdout.decode()
    (tmp_path / "file").write_text("mine")
    assert "not a socket" in noid_process.refused("serve", "--minters", ".", "--fcgi", "./file")
    assert (tmp_path / "file").read_text() == "mine"
    assert "cannot listen" in noid_process.refused("serve", "--minters", ".", "--fcgi", "/nonexistent/folder/s")


def test_serve_answers_commands_below_the_path_that_was_named(serve) -> None:
    served = serve("--http", "127.0.0.1:0", "--commands", "/nd/")
    assert "/nd/noidu_NAME" in served.log.read_text()
    assert served.http("GET", "/nd/noidu_kt5?hello") == (200, b"Hello.\n\n")
    assert served.http("GET", "/noidu_kt5?hello")[0] == 404
    assert served.http("GET", "/ark:/x%2Fnoidu_kt5?hello")[0] == 404


@pytest.mark.parametrize("path", [b"nd", b"", b"/a?b", b"/%6Ed"])
def test_a_path_for_commands_must_be_one(path: bytes) -> None:
    with pytest.raises(UsageError, match="--commands is a path such as /nd"):
        Options([b"--commands", path])


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("words", [("--http", "127.0.0.1:0", "--user", "alice", "--workers", "1", "--threads", "3"),
                                   ("--fcgi", "noid.sock", "--workers", "3")], ids=["http", "fcgi"])
def test_a_writer_that_stalls_stops_no_reader_and_no_writer_of_another_minter(
    serve, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Those who write wait for two seconds, and are then told to ask again; others write to other minters meanwhile."""
    create_in_child(tmp_path / "xx5", "xx.sdd", "long", "13030", "a", "b")
    (name,) = (record["id"].decode() for record in run_in_child(tmp_path / "xx5", "mint", "1"))
    run_in_child(tmp_path / "xx5", "bind", "set", name, "_t", "https://a.example/")
    served = serve(*(str(tmp_path / word) if word == "noid.sock" else word for word in words))

    def ask(path: str, query: str = "") -> tuple[int, dict[str, str]]:
        if words[0] == "--fcgi":
            return served.fastcgi(query, SCRIPT_NAME="", PATH_INFO=path, REQUEST_URI=f"{path}?{query}".rstrip("?"))[:2]
        reply = served.get(f"{path}?{query}" if query else path)
        return reply.status, reply.headers

    replies: list[tuple[int, str]] = []
    enough = threading.Event()

    def write() -> None:
        while not enough.is_set():
            status, headers = ask("/noidu_kt5", "mint+1")
            replies.append((status, headers.get("retry-after", headers.get("Retry-After", ""))))

    assert ask(f"/ark:/{name}")[0] == 302
    with open(tmp_path / "kt5" / "NOID" / "writer.lock", "rb") as lock, ThreadPoolExecutor(8) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in range(8):
            pool.submit(write)
        served.until(lambda: bool(replies), 60)
        served.until(lambda: replies.count((503, "2")) >= 12, 60)  # all slots were taken in vain once
        served.until(lambda: ask("/noidu_xx5", "mint+1")[0] == 200, 60)
        reads = [ask(*target)[0] for target in ((f"/ark:/{name}",), ("/noidu_kt5", "dbinfo"), ("/healthz",)) * 5]
        enough.set()
        pool.shutdown()
    assert reads == [302, 200, 200] * 5
    assert set(replies) == {(503, "2")}
    assert ask("/noidu_kt5", "mint+1")[0] == 200
