"""docs/python-api.md: its session is run from top to bottom, and the reference mentions all there is."""

from __future__ import annotations

import doctest
import inspect
import re
import sys

import pytest

import noidtools
from noidtools.commands import all_commands
from support.page_examples import blocks
from support.project import ROOT
from support.python_reference import reference

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "python-api.md"
# The application that the page prints, and the name under which its session imports it.
APPLICATION = "application"


class Checker(doctest.OutputChecker):
    """`…` in the page stands for any text within one line."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return re.fullmatch(".*".join(map(re.escape, want.split("…"))), got) is not None


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """An empty folder in which somebody types."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop(APPLICATION, None)


def session(text: str) -> str:
    """The page as one session: everything but the blocks of Python made into blank lines, so that numbers stay."""
    lines = []
    inside = False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            line = ""
        lines.append(line if inside else "")
    return "\n".join(lines) + "\n"


def test_the_session_of_the_page_gives_what_it_prints(reader):
    python = [block for block in blocks(PAGE) if block.language == "python"]
    (application,) = [block.text for block in python if not block.text.startswith(">>>")]
    (reader / f"{APPLICATION}.py").write_text(application)
    text = PAGE.read_text(encoding="utf-8").replace(application, "\n" * application.count("\n"))
    examples = doctest.DocTestParser().get_doctest(session(text), {}, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 50
    complaints: list[str] = []
    # IGNORE_EXCEPTION_DETAIL would forgive a wrong sentence, so exceptions are compared whole.
    doctest.DocTestRunner(Checker(), verbose=False).run(examples, out=complaints.append)
    assert not complaints, "".join(complaints)


def test_the_page_lists_every_exception():
    text = PAGE.read_text(encoding="utf-8")
    for name in noidtools.__all__:
        if name.endswith("Error"):
            assert name == "NoidError" or f"| `{name}` | {getattr(noidtools, name).kind} |" in text, name


def test_the_reference_says_what_each_command_is_in_python():
    """Its table is in tests/support/python_reference.py."""
    text = reference()
    table = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    functions = [name for name in noidtools.__all__ if inspect.isfunction(getattr(noidtools, name))]
    for name in [*dir(noidtools.OpenMinter), *functions]:
        listed = name.startswith("_") or f"`{name}`" in table or name in ("connect", "open")
        assert listed, f"{name} is not in the table of methods"
    for command in all_commands():
        assert re.search(rf"^\|[^|]*`{command.name}`|^The other commands are .*?`{command.name}`[^|]*?\.\n\n", text,
                         re.M | re.S), command.name


def test_the_reference_has_every_method_and_every_result():
    titles = re.findall(r"^### (\w+)$", reference(), re.M)
    methods = [name for name in dir(noidtools.OpenMinter) if not name.startswith("_")]
    public = [name for name in noidtools.__all__ if not name.endswith("Error")]
    assert sorted(titles) == sorted([*methods, *{*public} - {"OpenMinter", "RemoteMinter", "__version__"}])
