"""The documentation as a site: it is built without a warning, loads nothing from elsewhere, and finds what is asked."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.project import ROOT

pytestmark = pytest.mark.slow

MOST_WORDS = 35_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_is_on_the_site(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        path = page.relative_to(ROOT / "docs").with_suffix(".html")
        assert (site / ("index.html" if path.name == "README.html" else path)).is_file(), page


def test_the_reference_pages_are_complete_on_the_site(site: Path) -> None:
    assert 'id="withdraw"' in (site / "commands.html").read_text(encoding="utf-8")
    assert 'id="mint_many"' in (site / "python-reference.html").read_text(encoding="utf-8")


def test_no_backslash_is_left_in_the_code_of_tables(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not re.search(r"<td><code>[^<]*\\\|", page.read_text(encoding="utf-8")), page.name


def test_the_site_can_be_searched(site: Path) -> None:
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    assert any("passthrough" in entry["text"].lower() for entry in found)


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=[\"']?(?:https?:)?//[^>]*")
    for page in site.rglob("*.html"):
        assert loaded.findall(page.read_text(encoding="utf-8")) == [], page.name


def test_the_documentation_stays_short() -> None:
    """Examples are counted; marks that stand alone, such as the bars of tables, are not.  docs/history has records that
    no task needs."""
    words = {str(page.relative_to(ROOT)): sum(any(map(str.isalnum, word)) for word in page.read_text("utf-8").split())
             for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))}
    assert sum(words.values()) <= MOST_WORDS, words
