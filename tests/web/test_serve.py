"""noid serve by HTTP, FastCGI and SCGI, and its options."""

from __future__ import annotations

import grp
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from noidtools.errors import UsageError
from noidtools.server.process import Address
from noidtools.server.serve import Options
from support import gateway
from support.http import ids_in
from support.minter import create_in_child, run_in_child
from support.process import NOID
from support.project import ROOT
from support.served import Served

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


def test_serve_by_http_without_a_user_refuses_to_write_with_403(serve) -> None:
    served = serve("--http", "127.0.0.1:0")
    assert served.http("GET", "/noidu_kt5?hello")[0] == 200
    status, body = served.http("GET", "/noidu_kt5?mint+1")
    assert status == 403 and b"has no login" in body and b"'noid policy mint anyone'" in body


def test_serve_trusts_the_headers_of_a_configured_proxy(serve, tmp_path: Path) -> None:
    served = serve("--http", "127.0.0.1:0", "--proxy", "127.0.0.1", "--user-header", "X-Remote-User")
    assert served.http("GET", "/noidu_kt5?mint+1")[0] == 401
    headers = {"X-Remote-User": "bob", "X-Forwarded-For": "203.0.113.9"}
    status, body = served.http("GET", "/noidu_kt5?bind+mint+new+x+y", **headers)
    assert status == 200
    identifier = body.decode().split()[1]
    (record,) = run_in_child(tmp_path / "kt5", "fetch", identifier)
    assert b"bob@203.0.113.9" in record["circ"]


def test_serve_answers_by_http_over_a_unix_socket(serve, tmp_path: Path) -> None:
    believed = ("--proxy", "unix", "--user-header", "X-U")
    served = serve("--http", str(tmp_path / "h.sock"), "--socket-mode", "600", *believed)
    assert os.stat(tmp_path / "h.sock").st_mode & 0o777 == 0o600
    reply = served.raw(b"GET /noidu_kt5?mint+1 HTTP/1.0\r\nX-U: bob\r\n\r\n")
    assert reply.startswith(b"HTTP/1.0 200 OK") and b"id: kt" in reply


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
    log = tmp_path / "one"
    with open(log, "wb") as stream:
        words = ["-f", str(tmp_path / "kt5"), "serve", "--fcgi", "127.0.0.1:0", "--allow", "127.0.0.0/8"]
        process = subprocess.Popen([*NOID, *words], stderr=stream)
    one = Served(process, log)
    assert one.fastcgi("mint+1", path="/noidu")[0] == one.fastcgi("mint+1", path="/x/noidu_kt5")[0] == 200
    assert one.fastcgi("mint+1", path="/noidu_other")[0] == 404
    assert one.stop() == 0


def test_serve_answers_by_scgi(serve) -> None:
    served = serve("--scgi", "127.0.0.1:0", "--allow", "127.0.0.1")
    variables = {"path": "/nd/noidu_kt5", "user": "alice"}
    status, _, body = gateway.scgi(served.address, "mint+1", **variables)
    assert status == 200 and len(ids_in(body)) == 1
    status, _, body = gateway.scgi(served.address, "-", b"mint 1\nhello\n", method="POST", **variables)
    assert status == 200 and body.endswith(b"bulk: 2 commands, 2 done, 0 refused\n")
    for garbage in [b"", b"x", b"5:abc", b"3:abc,", b"99999:", b"-1:,", b"2:a\0,", b"13:CONTENT_LENGTH,"]:
        served.raw(garbage)
    assert gateway.scgi(served.address, "hello", **variables)[0] == 200
    # What is logged of a request must be ours: a path may hold a line break.
    gateway.scgi(served.address, "hello", path="/a\nforged: line")
    assert "forged" not in served.log.read_text()


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


def test_serve_uses_the_socket_of_systemd(tmp_path: Path) -> None:
    create_in_child(tmp_path / "kt5", "kt.reeded")
    log = tmp_path / "log"
    with socket.socket(socket.AF_UNIX) as listener, open(log, "wb") as stream:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        # A shell knows its own process number before it becomes the server.
        script = 'exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
        words = ["serve", "--minters", tmp_path, "--fcgi", "systemd"]
        process = subprocess.Popen(["sh", "-c", script, "sh", *NOID, *words], stdin=listener, stderr=stream)
    served = Served(process, log)
    served.address = str(tmp_path / "s")
    assert served.fastcgi("mint+1")[0] == 200
    process.send_signal(signal.SIGHUP)
    served.until(lambda: log.read_text().count("serving") == 2)
    assert served.fastcgi("mint+1")[0] == 200
    assert served.stop() == 0
    # The socket is systemd's, and stays.
    assert (tmp_path / "s").exists()


# -- options -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [
    ["--http", "8080"], ["--http", "127.0.0.1:99999"], ["--http", ":80"], ["--http", "a:b"], ["--workers", "0"],
    ["--workers", "x"], ["--socket-mode", "888"], ["--socket-mode", "7777"], ["--socket-group", "no-such-group"],
    ["--http", "127.0.0.1:0", "--socket-group", "root"], ["--max-body", "-1"], ["extra"],
    ["--http", "127.0.0.1:0", "--fcgi", "127.0.0.1:0"], ["--user", "a", "--http", "0.0.0.0:0"], ["--odd", "1"],
    ["--user", "a", "--fcgi", "127.0.0.1:0"], ["--user-header", "X-User"], ["--fcgi", "systemd"], ["--threads", "0"],
    ["--fcgi", "127.0.0.1:0", "--allow", "nowhere"], ["--allow", "127.0.0.1"], ["--timeout", "0"],
    ["--max-per-address", "0"],
])
def test_wrong_options_of_serve_are_refused(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LISTEN_FDS", raising=False)
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
