"""The documentation is right: examples give what is printed, links lead somewhere, nothing is left unexplained."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from noidtools.commands import all_commands
from support.page_examples import Reader, blocks, examples, matches
from support.project import ROOT

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
FRONT_PAGE = ROOT / "README.md"
PAGES = [FRONT_PAGE, *sorted(DOCS.rglob("*.md"))]
LANGUAGES = {"console", "sh", "text", "python", "json", "turtle"}
# Pages whose commands need root or take minutes, and pages that only list or explain.
WITHOUT_EXAMPLES = {"README.md", "architecture.md", "benchmarks.md", "commands.md", "comparison.md", "deploy.md",
                    "deploy-apache.md", "deploy-nginx.md", "deploy-systemd.md", "glossary.md", "lighter.md",
                    "python-reference.md", "security.md", "security-findings.md"}
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def title(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub and others make of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# Its examples show the figures of a minter in files.
ABOUT_FILES = {"operations.md"}


@pytest.mark.parametrize("page", [
    pytest.param(page, marks=[pytest.mark.only("lmdb")] if page.name in ABOUT_FILES else [], id=title(page))
    for page in PAGES if examples(page)
])
def test_the_examples_of_a_page_give_what_it_prints(page: Path, tmp_path: Path):
    reader = Reader(tmp_path, page)
    try:
        for example in examples(page):
            output = reader.type(example)
            assert matches(output, example.output), (
                f"{title(page)}, line {example.line}:\n$ {example.command}\n{output}--- printed\n{example.output}")
    finally:
        reader.close()


@pytest.mark.parametrize("page", [FRONT_PAGE, *(page for page in PAGES[1:] if page.name not in WITHOUT_EXAMPLES)],
                         ids=title)
def test_a_page_has_examples_that_are_run(page: Path):
    assert any(block.language in ("console", "python") for block in blocks(page))


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_every_block_names_its_language(page: Path):
    """So that no example escapes being run by a slip of the fence."""
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{title(page)}, line {block.line}"
        assert block.language == "console" or not block.text.startswith("$ "), f"{title(page)}, line {block.line}"
    assert page.read_text(encoding="utf-8").count("```") == 2 * len(blocks(page))


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_lines_fit_on_a_screen(page: Path):
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [number for number, line in enumerate(lines, 1) if len(line) > 120 and line[:1] != "|"] == []


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_links_lead_somewhere(page: Path):
    for link in _LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{title(page)} links to {link}"
        assert not anchor or anchor in anchors(target), f"{title(page)} links to {link}"


def test_the_table_of_contents_lists_every_page():
    listed = {link.partition("#")[0] for link in _LINK.findall(prose(DOCS / "README.md"))}
    for page in PAGES[1:]:
        name = str(page.relative_to(DOCS))
        assert name == "README.md" or name in listed, f"docs/README.md does not list {name}"


def test_the_pages_say_that_a_minter_needs_a_local_file_system():
    text = (DOCS / "operations.md").read_text(encoding="utf-8")
    assert "Put the database on a local file system: network file systems (NFS, AFS) lack the locks" in text


def test_the_front_page_is_short():
    assert len(FRONT_PAGE.read_text(encoding="utf-8").splitlines()) <= 130


def test_every_command_is_explained():
    text = "".join(prose(page) for page in PAGES[1:])
    for command in all_commands():
        assert re.search(rf"`(?:noid )?{command.name}[ `]", text), f"no page explains {command.name}"


def test_every_configuration_and_benchmark_is_mentioned_and_exists():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for kind in ("conf", "bench"):
        there = {str(path.relative_to(ROOT)) for path in (ROOT / kind).rglob("*")
                 if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".j2"}
        named = set(re.findall(rf"(?<![\w.-]){kind}/[\w./-]*\w", text))
        assert named >= there, f"not mentioned: {there - named}"
        for path in named:
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", [page for page in PAGES if any(b.language == "sh" for b in blocks(page))], ids=title)
def test_lines_for_a_shell_can_be_parsed_by_one(page: Path):
    for block in blocks(page):
        if block.language == "sh":
            done = subprocess.run(["sh", "-n"], input=block.text, text=True, capture_output=True, check=False)
            assert done.returncode == 0, f"{title(page)}, line {block.line}: {done.stderr}"
