"""The table of docs/history/security-findings.md: a row for each number, and tests that exist."""

from __future__ import annotations

import ast
import re

import pytest

from support.project import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "history" / "security-findings.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| (.+) \|$", PAGE, flags=re.MULTILINE)
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))


def test_the_rows_are_numbered_without_gaps_and_name_tests():
    numbers = [int(number) for number, _ in ROWS]
    assert numbers == sorted(numbers) and set(numbers) == set(range(1, 17))
    for number, row in ROWS:
        what, now, tests = re.split(r"(?<!\\) \| ", row)
        assert what and now and "`tests/" in tests, number


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_a_test_that_is_named_exists(path: str, name: str):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert not name or name in functions


def test_no_test_is_named_in_a_way_that_is_not_checked():
    spelled = set(re.findall(r"::(\w+)", PAGE))
    assert spelled == {name for _, name in NAMED if name}
