"""A drill: of a minter only a bundle and the page about persistence are left, and a stranger follows the page."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from support.minter import Noid
from support.page_examples import Reader, examples
from support.project import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.only("lmdb")]

PAGE = ROOT / "docs" / "persistence.md"
SECTION = "When only the bundle is left"


def commands() -> list[str]:
    """What the section of the page says to type."""
    text = PAGE.read_text(encoding="utf-8")
    start = text.index(f"\n## {SECTION}\n")
    end = text.index("\n## ", start + 1)
    first, last = text.count("\n", 0, start), text.count("\n", 0, end)
    return [example.command for example in examples(PAGE) if first < example.line <= last]


def test_a_stranger_with_the_bundle_and_the_page_resolves_and_mints_nothing_twice(tmp_path: Path):
    lost = Noid.created(tmp_path / "lost", "kt5.zdk", "long", "13030", "example.org", "library")
    given = lost.ids(40)
    lost("bind", "set", "13030/kt50x", "_t", "https://library.example/books/1")
    lost("withdraw", given[3], "--reason", "It was a mistake")
    lost("bundle", str(tmp_path / "kt5.tar"))
    expected = lost.ids(1)
    lost.close()
    shutil.rmtree(tmp_path / "lost")
    (tmp_path / "stranger").mkdir()
    stranger = Reader(tmp_path / "stranger")
    try:
        shutil.move(tmp_path / "kt5.tar", tmp_path / "stranger" / "work" / "kt5.tar")
        answers = {example.command: stranger.type(example) for example in examples(PAGE)
                   if example.command in commands()}
    finally:
        stranger.close()
    assert not [command for command, answer in answers.items() if "error:" in answer]
    assert answers["noid -f found resolve ark:/13030/kt50x"] == "https://library.example/books/1\n"
    minted = re.findall(r"^id: (\S+)$", answers["noid -f found mint 1"], re.M)
    assert minted == expected and not set(minted) & set(given)
    found = Noid(tmp_path / "stranger" / "work" / "found")
    assert not set(found.ids(200)) & {*given, *minted}
    assert "It was a mistake" in found.refused("resolve", given[3]) + found("tombstone", given[3])
    found.close()
