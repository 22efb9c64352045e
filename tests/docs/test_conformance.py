"""conformance.md: every requirement of the documents has a row, and every row tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from support.project import ROOT

pytestmark = pytest.mark.slow

PAGE = ROOT / "tests" / "docs" / "conformance.md"
_REFERENCE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)(?:\[([^`]+)\])?`")
_SEPARATOR = re.compile(r"(?<!\\)\|")
# How many requirements were found in each document when they were first read line by line; a page may have more.
AT_LEAST = {
    "The manual of noid": 135, "The IBI standard": 64, "The IBI report": 13, "The PILIN suffix policy": 14,
    "The PILIN ontology": 70,
}


class Row:
    """A line of a table: section, requirement, tests, and where we differ."""

    def __init__(self, document: str, line: str) -> None:
        self.document = document
        self.cells = [cell.strip() for cell in _SEPARATOR.split(line)[1:-1]]
        self.section, self.requirement, tests, self.difference = self.cells
        self.tests = tests.replace("\\|", "|").split(", `")


def tables() -> dict[str, list[Row]]:
    """The rows of the page, by document."""
    found: dict[str, list[Row]] = {}
    for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, *lines = part.splitlines()
        found[title] = [Row(title, line) for line in [line for line in lines if line.startswith("|")][2:]]
    return found


@cache
def functions(path: Path) -> dict[str, str]:
    """The test functions of a file, each with the text in which its parameters stand: its decorators, and the values of
    the file that these name."""
    text = path.read_text(encoding="utf-8")
    body = ast.parse(text).body
    values = {}
    for node in body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                values[ast.unparse(target)] = ast.get_source_segment(text, node) or ""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            parts = [ast.get_source_segment(text, decorator) or "" for decorator in node.decorator_list]
            named = {part.id for decorator in node.decorator_list for part in ast.walk(decorator)
                     if isinstance(part, ast.Name)}
            found[node.name] = "\n".join(parts + [values.get(name, "") for name in named])
    return found


def test_every_document_has_at_least_the_requirements_that_were_found_in_it():
    found = tables()
    assert {title: len(found[title]) >= least for title, least in AT_LEAST.items()} == dict.fromkeys(AT_LEAST, True)
    assert sum(len(rows) for rows in found.values()) >= 296


@pytest.mark.parametrize("document", AT_LEAST)
def test_every_row_names_a_test_that_exists(document):
    for row in tables()[document]:
        for test in row.tests:
            reference = _REFERENCE.fullmatch("`" + test.removeprefix("`"))
            assert reference, (row.requirement, test)
            path, name, parameter = reference.groups()
            assert (ROOT / path).is_file(), test
            assert name.startswith("test_") and name in functions(ROOT / path), test
            assert parameter is None or f'"{parameter}"' in functions(ROOT / path)[name], test


@pytest.mark.parametrize("document", AT_LEAST)
def test_no_row_is_open(document):
    for row in tables()[document]:
        assert row.section and row.requirement, row.cells
        text = f"{row.requirement} {row.difference}".lower()
        assert not re.search(r"\b(missing|todo|to be done|not yet|planned|unknown whether)\b", text), row.cells


def test_the_summary_counts_the_rows():
    summary = dict(re.findall(r"^\| \[(.+)\]\(#.+\) \| (\d+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert summary == {title: str(len(rows)) for title, rows in tables().items()}
