"""The pages for readers, and those of commands by URL, in Chromium: on a phone and a desktop, in light and dark,
without scripts, by keyboard."""

from __future__ import annotations

import re
import threading
from http.server import ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from servers.test_pages import HOSTILE, TargetHandler
from support.hands import HANDS, Keyboard, Mouse, hands_at
from support.minter import Noid
from support.reading import VIEWS, Reading, findings, overflow
from support.served import ANY_PORT, Served
from support.templates import CHECKED

ELEMENTS = {
    "book": {"who": "Gibbon, Edward", "what": "The Decline and Fall", "when": "1781", "contact": "jo@example.org"},
    "arabic": {"who": "الخوارزمي, محمد", "what": "الكتاب المختصر في حساب الجبر والمقابلة", "when": "820",
               "note": "שלום " * 300},
    "long": {"who": "W" * 5000, "what": "Très " * 1000, "when": "x" * 5000, "note": "y" * 5000, "z" * 300: "q" * 5000},
    "hostile": {"who": HOSTILE, "what": HOSTILE, "when": HOSTILE, "dc.type": HOSTILE, "publisher": HOSTILE,
                "note": f"javascript:{HOSTILE}", HOSTILE: HOSTILE},
    "gone": {"what": f"Faulty {HOSTILE}", "who": "Gibbon"}, "off": {"what": "Memoirs"}, "bare": {},
}
# Commands by URL, answered with pages.
COMMANDS = {"help": "", "help of one": "help+bind", "asked": "mint+3", "list": "list",
            # The later events: of a long list axe-core looks at each.
            "log": "log+--since+34", "refusal": "nonsense", "fetch": "fetch+{hostile}", "history": "history+{long}",
            "final": "withdraw+{hostile}"}
PAGES = ["home", "book", "arabic", "long", "hostile", "gone", "off", "bare", "missing", "mistyped page", "results",
         "abstract", "naan", "elsewhere", "api", "trouble", "minted", *COMMANDS]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """The addresses of pages of all kinds, by their names; `target` is the server to which names lead."""
    target = ThreadingHTTPServer(("127.0.0.1", 0), TargetHandler)
    threading.Thread(target=target.serve_forever, daemon=True).start()
    folder = tmp_path_factory.mktemp("readers")
    minter = Noid.created(folder / "f5", *CHECKED)
    names = {}
    for page, elements in ELEMENTS.items():
        names[page] = minter.mint_with_target(f"http://127.0.0.1:{target.server_port}/{page}") if page != "bare" \
            else minter.mint()[0]
        for element, value in elements.items():
            minter.text("bind", "set", names[page], element, value)
    minter.text("bind", "set", names["hostile"], "_t", f"https://a.example/{HOSTILE}|javascript:alert(1)")
    minter.text("custodian", "set", HOSTILE, "--contact", "jo@example.org", names["hostile"])
    minter.text("withdraw", names["gone"], "--reason", HOSTILE, "--successor", names["book"])
    minter.text("unavailable", names["off"], "--reason", "x" * 4000)
    minter.text("abstract", "context", "Kerry's Library", "--authority", HOSTILE)
    minter.text("synonym", names["book"], "doi:10.1000/182", "--authority", HOSTILE)
    minter.text("verify", "--record", names["book"])
    for access in ("mint", "bind", "admin"):
        minter.text("policy", access, "anyone")
    minter.close()
    (folder / "site.ini").write_text(f"[site]\nexample = ark:/{names['book']}\n")
    process = Served.start(folder / "log", "serve", "--minters", folder, "--http", ANY_PORT)
    base = f"http://127.0.0.1:{process.address[1]}"
    *start, one, other, last = names["book"]
    mistyped = "".join((*start, other, one, last))
    yield {"home": f"{base}/", "missing": f"{base}/{'%3Cb%3E' * 200}", "results": f"{base}/?name=Gibbon",
           "abstract": f"{base}/Kerry's%20Library", "naan": f"{base}/ark:/13030?info", "name": names["book"],
           "withdrawn": names["gone"], "mistyped": mistyped,
           "target": f"http://127.0.0.1:{target.server_port}",
           "mint": f"{base}/noidu_f5?mint+1", "minted": f"{base}/noidu_f5?mint+2",
           "mistyped page": f"{base}/ark:/{mistyped}", "elsewhere": f"{base}/doi:10.1000/182?info",
           "api": f"{base}/api/v1", "trouble": f"{base}/?name=/",
           **{page: f"{base}/noidu_f5?{query.format(**names)}" for page, query in COMMANDS.items()},
           **{page: f"{base}/ark:/{name}?info" for page, name in names.items()}}
    process.stop()
    target.shutdown()
    target.server_close()


# A page at each width and in each colour; the other combinations are for the long run.
SEEN = [pytest.param(VIEWS[0], VIEWS[3], id="seen"),
        pytest.param(VIEWS[1], VIEWS[2], id="others", marks=pytest.mark.long)]


@pytest.mark.parametrize(("one", "other"), SEEN)
def test_axe_finds_nothing_wrong_and_the_pages_are_never_wider_than_the_window(paths, chromium, one, other):
    with Reading(chromium) as page:
        for name in PAGES:
            page.goto(paths[name])
            if name == "minted":
                page.get_by_role("button", name="Mint").click()
                page.get_by_role("heading", name="Minted").wait_for()
            # Colours do not depend on the width, nor the rest on the colours.
            for view, rules in ((one, ()), (other, ("color-contrast", "target-size"))):
                page.set_viewport_size({"width": view["width"], "height": 900})
                page.emulate_media(color_scheme="dark" if view["dark"] else "light")
                assert findings(page, *rules) == [] and overflow(page) == 0, (name, view)
            assert page.title() != "taken over"


@pytest.fixture(params=HANDS)
def hand(request, chromium):
    with hands_at(chromium, request.param) as made:
        yield made


def test_a_name_is_entered_described_cited_and_followed(paths, hand):
    hand.page.goto(paths["home"])
    hand.fill("#name", "Gibbon decline")
    hand.press("button", "Find")
    hand.press("link", "The Decline and Fall")
    expect(hand.page.get_by_role("heading", level=1)).to_have_text("The Decline and Fall")
    expect(hand.page.get_by_role("img", name="QR code of the link")).to_be_visible()
    expect(hand.page.get_by_role("link", name="jo@example.org")).to_have_attribute("href", "mailto:jo@example.org")
    hand.sees("Gibbon, Edward (1781). The Decline and Fall. ")
    for form, text in (("BibTeX", "@misc{ark-13030"), ("RIS", "- The Decline and Fall"),
                       ("CSL-JSON", '"title": "The Decline and Fall"')):
        hand.unfold(form)
        hand.sees(text)
        assert text in hand.download("Download")
        hand.unfold(form)
    for form, text in (("JSON", '"The Decline and Fall"'), ("ERC", "The Decline and Fall")):
        hand.press("link", form)
        assert text in hand.page.locator("body").inner_text()
        hand.page.go_back()
    hand.press("link", "Go to the object")
    hand.page.wait_for_url(f"{paths['target']}/book")
    hand.page.goto(paths["home"])
    hand.fill("#name", f"ark:/{paths['name']}")
    hand.press("button", "Find")
    hand.page.wait_for_url(f"{paths['target']}/book")


def test_the_example_and_the_way_to_the_console_are_on_the_home_page(paths, hand):
    hand.page.goto(paths["home"])
    hand.press("link", f"ark:/{paths['name']}")
    hand.sees("The Decline and Fall")
    hand.page.goto(paths["home"])
    hand.press("link", "For staff")
    hand.sees("Paste a token of a minter.")


def test_what_was_withdrawn_or_mistyped_leads_to_what_is_meant(paths, hand):
    hand.page.goto(paths["home"])
    hand.fill("#name", f"ark:/{paths['withdrawn']}")
    hand.press("button", "Find")
    hand.sees("This was withdrawn on")
    hand.press("link", f"ark:/{paths['name']}")
    hand.page.wait_for_url(f"{paths['target']}/book")
    hand.page.goto(paths["home"])
    hand.fill("#name", f"ark:/{paths['mistyped']}")
    hand.press("button", "Find")
    hand.sees("This identifier was mistyped")
    hand.press("link", f"ark:/{paths['name']}")
    hand.page.wait_for_url(f"{paths['target']}/book")


def test_the_first_tab_key_leads_past_the_header(paths, chromium):
    with Reading(chromium) as page:
        page.goto(paths["home"])
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.type("Gibbon decline")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("name=Gibbon"))


@pytest.mark.parametrize("kind", [Mouse, Keyboard])
def test_the_identifier_and_the_citation_are_copied(paths, chromium, kind):
    with Reading(chromium) as page:
        hand = kind(page)
        page.goto(paths["book"])
        hand.use("button", "Copy")
        page.get_by_role("button", name="Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == f"ark:/{paths['name']}"
        hand.use("button", "Copy the citation")
        page.wait_for_function("async () => (await navigator.clipboard.readText()).startsWith('Gibbon, Edward (1781)')")


def test_the_page_is_in_the_language_of_the_browser(paths, chromium):
    with Reading(chromium, language="pt-BR") as page:
        page.goto(paths["book"])
        expect(page.get_by_role("link", name="Ir para o objeto")).to_be_visible()
        assert page.evaluate("document.documentElement.lang") == "pt" and findings(page) == []


def test_a_title_from_right_to_left_stands_at_the_right(paths, chromium):
    with Reading(chromium) as page:
        page.goto(paths["arabic"])
        side = page.locator("h1").evaluate("element => getComputedStyle(element).direction")
        assert side == "rtl" and page.locator("code#identifier").evaluate("e => getComputedStyle(e).direction") == "ltr"


def test_without_scripts_there_is_no_button_that_copies(paths, chromium):
    for scripts in (True, False):
        with Reading(chromium, scripts=scripts) as page:
            page.goto(paths["book"])
            page.get_by_text("BibTeX").click()
            expect(page.get_by_role("button", name="Copy", exact=True)).to_have_count(2 if scripts else 0)


def test_an_identifier_is_minted_by_url_and_a_reload_mints_nothing(paths, hand):
    hand.page.goto(paths["mint"])
    hand.sees("opening its address does nothing until you confirm it")
    hand.press("link", "Cancel")
    hand.sees("Commands of this minter")
    hand.page.go_back()
    hand.press("button", "Mint")
    minted = hand.page.locator(".ids a").inner_text()
    hand.page.reload()
    hand.sees("nothing new was minted")
    expect(hand.page.locator(".ids a")).to_have_text(minted)
    hand.press("button", "Mint another")
    expect(hand.page.get_by_role("heading", level=1)).to_have_text("Minted")
    expect(hand.page.locator(".ids a")).not_to_have_text(minted)
    expect(hand.page.get_by_role("button", name="Copy")).to_have_count(int(isinstance(hand, Keyboard)))
    hand.press("link", hand.page.locator(".ids a").inner_text())
    hand.press("link", "History")
    expect(hand.page.locator(".timeline")).to_contain_text("mint")
    hand.press("link", "All commands")
    hand.press("link", "mint")
    expect(hand.page.get_by_role("heading", level=1)).to_have_text("mint")
    hand.page.goto(paths["refusal"])
    hand.sees("Not done")
    hand.press("link", "All commands")
    hand.sees("Commands of this minter")
