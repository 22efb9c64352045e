"""The pages of the web resolver in a real browser."""

from __future__ import annotations

import re
import threading
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from support.minter import Noid
from support.served import Served
from support.servers.curl import curl
from support.templates import CHECKED

NAME = "13030/f54x54g11"
HOSTILE = (
    '<script>document.title="taken over"</script><img src=x onerror="document.title=\'taken over\'">'
    '"\'><svg onload="document.title=\'taken over\'">\u202e</dd></dl>'
)


class TargetHandler(BaseHTTPRequestHandler):
    """The server to which the names resolve."""

    def do_GET(self) -> None:  # noqa: N802 - the library's name
        body = f"<!DOCTYPE html><title>arrived</title><p>arrived at {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class ServedMinter:
    """The address of a resolver, that of a server to which its names resolve, and three of its names."""

    base: str
    target: str
    gone: str
    plain: str


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A served minter with names of all kinds, and a server that they lead to."""
    served = ServedMinter()
    target_server = ThreadingHTTPServer(("127.0.0.1", 0), TargetHandler)
    threading.Thread(target=target_server.serve_forever, daemon=True).start()
    served.target = f"http://127.0.0.1:{target_server.server_port}"
    folder = tmp_path_factory.mktemp("pages") / "f5"
    minter = Noid.created(folder, *CHECKED)
    mirror = "https://mirror.example.org/gibbon/decline-and-fall?edition=1781"
    assert minter.mint_with_target(f"{served.target}/book|{mirror}") == NAME
    for element, value in (("who", "Gibbon, Edward"), ("what", "The Decline and Fall of the Roman Empire"),
                           ("when", "1781"), ("note", "First line\nsecond line\n\tand a third, indented"),
                           ("language", "English; with ä, 日本語 and العربية")):
        minter.text("bind", "set", NAME, element, value)
    minter.text("custodian", "set", "Jo Keeper", "--contact", "jo@example.org", NAME)
    minter.text("synonym", NAME, "hdl:102.100.272/XYZZY", "--authority", "library")
    for words in (("abstract", "context", "Kerry's Library"), ("quality", "state", "universal", NAME),
                  ("relate", "ark:/13030/f5", "realises", "Kerry's Library")):
        minter.text(*words, "--authority", "Kerry")
    minter.text("verify", "--record", NAME)
    served.plain = minter.mint_with_target("javascript:document.title='taken over'")
    for element in ("who", "what", HOSTILE, "long"):
        minter.text("bind", "set", served.plain, element, HOSTILE if element != "long" else "x" * 300 + " " + "ä" * 200)
    served.gone = minter.mint_with_target("https://gone.example/")
    minter.text("withdraw", served.gone, "--reason", "Superseded by a corrected edition.", "--successor", NAME)
    minter.close()
    process = Served.start(folder.parent / "log", "-f", folder, "serve", "--http", "127.0.0.1:0")
    served.base = f"http://127.0.0.1:{process.address[1]}"
    yield served
    process.stop()
    target_server.shutdown()
    target_server.server_close()


def text_of(page: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", page.partition("<main")[2]))


def test_a_browser_that_opens_a_name_arrives_at_its_target(served, browser):
    page = browser.document(f"{served.base}/ark:/{NAME}/chapter-1?page=7")
    assert "<title>arrived</title>" in page and "arrived at /book/chapter-1?page=7" in page


def test_a_name_entered_in_the_form_arrives_at_its_target(served, browser):
    page = browser.document(f"{served.base}/?name=ark%3A%2F{NAME.replace('/', '%2F')}")
    assert "arrived at /book" in page


def test_a_page_shows_the_description(served, browser):
    page = browser.document(f"{served.base}/ark:/{NAME}?info")
    shown = text_of(page)
    for words in ("Gibbon, Edward", "The Decline and Fall", f"ark:/{NAME}", "Go to the object", "https://mirror.example.org/",
                  "日本語", "Jo Keeper", "hdl:102.100.272/XYZZY"):
        assert words in shown


def test_bound_values_are_shown_and_never_run(served, browser):
    page = browser.document(f"{served.base}/ark:/{served.plain}?info")
    assert "<title>taken over</title>" not in page
    assert "taken over" in text_of(page)
    assert not re.search(r"<(script>document|img|svg onload)\b", page)
    # The target that no reader may be sent to is text, not a link.
    assert 'href="javascript' not in page


def test_a_mistyped_and_a_withdrawn_name_are_explained(served, browser):
    mistyped = browser.document(f"{served.base}/ark:/13030/f54x45g11")
    assert "was mistyped" in text_of(mistyped) and f'href="/ark:/{NAME}"' in mistyped
    gone = text_of(browser.document(f"{served.base}/ark:/{served.gone}"))
    assert "withdrawn" in gone and "Superseded by a corrected edition." in gone


def test_what_is_abstract_is_shown_with_what_realises_it(served, browser):
    page = browser.document(f"{served.base}/Kerry's%20Library")
    assert "This is an abstract context" in text_of(page) and "13030/f5" in text_of(page)


def test_a_name_full_of_html_does_no_harm(served, browser):
    path = "%3Cscript%3Edocument.title='taken over'%3C/script%3E%22%3E%3Cimg src=x%3E"
    page = browser.document(f"{served.base}/{path}")
    assert "<title>Not found · Persistent identifiers</title>" in page
    assert not re.search(r"<(script|img)\b", page)


def test_pages_forbid_all_scripts_but_ours_by_their_content_security_policy(served):
    headers = curl(f"{served.base}/ark:/{NAME}?info", "--header", "Accept: text/html").headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy
    assert "script-src 'sha256-" in policy and "http" not in policy.partition("script-src")[2]
    assert headers["x-content-type-options"] == "nosniff"
