"""The look and the language of pages: site.ini, and a file for each language."""

from __future__ import annotations

import json
import re
import subprocess

import jinja2
import pytest

from noidtools.errors import UsageError
from noidtools.minter.folder import MinterFolder, SingleMinter
from noidtools.web import pages
from noidtools.web.branding import DARK, LIGHT, least_contrast
from noidtools.web.rendering import languages, renderer_of, site_branding
from noidtools.web.request import Request, Trust
from noidtools.web.resolver import Resolver
from support.minter import create_in_child
from support.process import NOID
from support.project import ROOT
from support.wsgi import HTML, ResolverClient

WEB = ROOT / "noidtools/web"
# Those that readers see; the others are for curators and programmers, in English.
TEMPLATES = ("base", "name", "tombstone", "missing", "home", "results", "trouble", "abstract", "elsewhere", "namespace",
             "macros")
SITE = """\
[site]
name = Bücherei & Söhne
about = Since 1852.
website = https://library.example.org/
logo = logo.svg
colour = #7a1f3d
language = pt
example = ark:/13030/kt4x551

[links]
Impressum = https://library.example.org/imprint
Mail = mailto:jo@example.org
"""


def texts() -> set[str]:
    """All texts of ours on the pages for readers."""
    environment = jinja2.Environment(extensions=["jinja2.ext.i18n"])
    sources = [(WEB / "templates" / f"{name}.html").read_text("utf-8") for name in TEMPLATES]
    found = [message for source in sources for _, _, message in environment.extract_translations(source)]
    named = {message[0] if isinstance(message, tuple) else message for message in found} - {None}
    return named | pages.texts_by_value()


@pytest.mark.parametrize("language", languages()[1:])
def test_a_language_has_every_text_of_the_pages_for_readers(language):
    translated = json.loads((WEB / "languages" / f"{language}.json").read_text("utf-8"))
    assert translated.pop("direction") in ("ltr", "rtl")
    assert set(translated) == texts() and all(translated.values())
    for text, translation in translated.items():
        assert sorted(re.findall(r"%\(\w+\)s", text)) == sorted(re.findall(r"%\(\w+\)s", translation)), text
        assert "%" not in re.sub(r"%\(\w+\)s", "", text + translation)


def test_templates_for_readers_have_no_text_outside_of_the_translation():
    for name in TEMPLATES:
        source = (WEB / "templates" / f"{name}.html").read_text("utf-8")
        plain = re.sub(r"{#.*?#}|{%.*?%}|{{.*?}}|<[^>]*>", " ", source, flags=re.DOTALL)
        assert not re.search(r"[A-Za-z]{2}", plain), (name, re.findall(r".*[A-Za-z]{2}.*", plain))


@pytest.mark.parametrize(("accepted", "language"), [
    ("", "en"), ("pt-BR,pt;q=0.9,en;q=0.8", "pt"), ("de, pt;q=0.3", "pt"), ("en;q=0.5, pt;q=0.4", "en"), ("xx", "en"),
    ("pt;q=0", "en"), ("*", "en"), ("pt;q=x", "en"), (",;,=", "en"),
])
def test_the_browser_chooses_the_language(tmp_path, accepted, language):
    page = ResolverClient(Resolver(MinterFolder(str(tmp_path))))("/", **HTML, HTTP_ACCEPT_LANGUAGE=accepted)
    assert f'<html lang="{language}"' in page.text and page.headers["vary"] == "Accept, Accept-Language"
    assert ("Enter an identifier" in page.text) is (language == "en")


@pytest.fixture
def site(tmp_path):
    (tmp_path / "site.ini").write_text(SITE, "utf-8")
    (tmp_path / "logo.svg").write_text("<svg/>")
    return tmp_path


def test_pages_have_the_look_of_the_site(site):
    page = ResolverClient(Resolver(MinterFolder(str(site))))("/", **HTML).text
    for part in ('<html lang="pt"', "Bücherei &amp; Söhne</span>",
                 '<img src="data:image/svg+xml;base64,PHN2Zy8+" alt="">',
                 "<h1 dir=\"auto\">Bücherei &amp; Söhne</h1>", "Since 1852.", "--accent:#7a1f3d",
                 '<a href="/ark:/13030/kt4x551?info">', '<a href="https://library.example.org/imprint">Impressum</a>',
                 '<a href="mailto:jo@example.org">Mail</a>', '<a href="https://library.example.org/">'):
        assert part in page, part


def test_a_browser_that_prefers_english_gets_it_from_a_portuguese_site(site):
    page = ResolverClient(Resolver(MinterFolder(str(site))))("/", **HTML, HTTP_ACCEPT_LANGUAGE="en").text
    assert '<html lang="en"' in page


def test_a_colour_is_readable_in_the_light_and_in_the_dark(site):
    branding = site_branding(str(site))
    assert least_contrast(branding.colour, LIGHT) >= 4.5 and least_contrast(branding.dark_colour, DARK) >= 4.5


def test_the_backgrounds_that_are_measured_are_those_of_the_style_sheet():
    light, dark = (WEB / "templates/style.css").read_text("utf-8").split("prefers-color-scheme:dark", 1)
    for source, colours in ((light.replace("#fff;", "#ffffff;"), LIGHT), (dark, DARK)):
        found = dict(re.findall(r"--([\w-]+):(#[0-9a-f]{6})", source))
        assert tuple(found[name] for name in ("page", "surface", "good-soft", "warn-soft", "bad-soft")) == colours
        for text in ("ink", "quiet", "accent"):
            assert least_contrast(found[text], colours) >= 4.5, text
        for name in ("good", "warn", "bad"):
            assert least_contrast(found[name], (found["page"], found["surface"], found[f"{name}-soft"])) >= 4.5, name


@pytest.mark.parametrize(("text", "sentence"), [
    ("[site]\ncolour = red\n", "colour: a colour is written with six digits, as #7a1f3d, not 'red'"),
    ("[site]\ncolour = #ffee00\n", "colour: links in #ffee00 are hard to read on white: take a shade such as #"),
    ("[site]\ndark-colour = #101010\n", "dark-colour: links in #101010 are hard to read on black"),
    ("[site]\nlogo = none.svg\n", "logo: the file 'none.svg' cannot be read"),
    ("[site]\nlogo = logo.exe\n", "logo: name a file that ends in .svg"),
    ("[site]\nlogo = large.png\n", "logo: the file has 1 to 65536 bytes"),
    ("[site]\nlanguage = xx\n", "language: there are pages in en, pt, not in 'xx'"),
    ("[site]\nconsole = perhaps\n", "console: write yes or no, not 'perhaps'"),
    ("[site]\nname =\n", "name: give a text of one line"), ("[site]\nname = a\0b\n", "name: give a text of one line"),
    ("[site]\nwebsite = javascript:alert(1)\n", "website: an address begins with https://"),
    ("[links]\nX = //evil.example/\n", "X: an address begins with https://"),
    ("[links]\nX = data:text/html,x\n", "X: an address begins with https://"),
    ("[site]\ntitle = x\n", "title: there is no such key: known are name, about, "),
    ("[look]\nname = x\n", "[look]: there is no such section"),
    ("[DEFAULT]\nname = x\n", "[DEFAULT]: there is no such"),
    ("name = x\n", "cannot be understood in line 1"),
    ("[site]\nname = x\nname = y\n", "cannot be understood in line 3"),
    ("[site]\nrubbish\n", "cannot be understood"), ("\xff", "cannot be read: it is not UTF-8"),
    ("#" * 70_000, "is larger than 65536 bytes"),
    ("[links]\n" + "".join(f"a{number} = /\n" for number in range(13)), "[links]: at most 12 links"),
])
def test_a_file_that_cannot_be_used_is_refused_with_a_sentence_that_names_the_key(tmp_path, text, sentence):
    (tmp_path / "site.ini").write_bytes(text.encode("latin-1"))
    (tmp_path / "large.png").write_bytes(b"x" * 70_000)
    with pytest.raises(UsageError) as refusal:
        site_branding(str(tmp_path))
    assert sentence in refusal.value.message and "site.ini" in refusal.value.message
    assert "\n" not in refusal.value.message


def test_a_server_does_not_start_with_it_and_a_running_one_keeps_the_usual_look(tmp_path):
    (tmp_path / "site.ini").write_text("[site]\ncolour = red\n")
    done = subprocess.run([*NOID, "serve", "--minters", tmp_path], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode != 0 and "site.ini: colour: a colour is written" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    page = ResolverClient(Resolver(MinterFolder(str(tmp_path))))("/", **HTML)
    assert page.status == 200 and "Persistent identifiers" in page.text


def test_hostile_names_and_links_are_text(tmp_path):
    (tmp_path / "site.ini").write_text("[site]\nname = </title><script>x\n[links]\n<b> = https://a.example/\"><i>\n")
    page = ResolverClient(Resolver(MinterFolder(str(tmp_path))))("/", **HTML).text
    assert "<script" not in page and "<b>" not in page and "<i>" not in page


def test_a_single_minter_has_the_look_of_the_folder_around_it_unless_it_has_its_own(site):
    create_in_child(site / "kt5", "kt.sdd")
    request = Request({"SCRIPT_NAME": "/cgi-bin/noidu_kt5"}, Trust())
    page = renderer_of(SingleMinter(str(site / "kt5"))).page(request, "commands.html", {"groups": {}}).body.decode()
    assert "Bücherei" in page and '<span class="brand">' in page and '<html lang="en"' in page
    (site / "kt5" / "site.ini").write_text("[site]\nname = Maps\n")
    assert site_branding(str(site / "kt5")).name == "Maps"


def test_the_example_in_the_documentation_can_be_used(tmp_path):
    (example,) = re.findall(r"```text\n(\[site\].*?)```", (ROOT / "docs/pages.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "site.ini").write_text(example, "utf-8")
    (tmp_path / "logo.svg").write_text("<svg/>")
    assert site_branding(str(tmp_path)).name == "Kerry's Library"
