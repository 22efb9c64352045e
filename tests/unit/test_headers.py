"""Elements read from input."""

from __future__ import annotations

import pytest

from noidtools.commands.lines import read_elements, read_one_element
from noidtools.errors import UsageError


def reader(text: bytes):
    pending = text.splitlines(keepends=True)
    return lambda: pending.pop(0) if pending else b""


@pytest.mark.parametrize(("text", "pairs"), [
    (b"a: 1\nb:2\n", [(b"a", b"1"), (b"b", b"2")]),
    (b"a: 1\n  more\n\tand more\n\nrest: 3\n", [(b"a", b"1 more and more")]),
    (b"# comment\na: x:y\r\n\r\n", [(b"a", b"x:y")]),
    (b"a:\n", [(b"a", b"")]),
])
def test_elements_are_read_up_to_a_blank_line(text, pairs):
    assert read_elements(reader(text)) == pairs


@pytest.mark.parametrize("text", [b"", b"\n", b"no colon\n", b"  indented: 1\n", b": no name\n"])
def test_lines_that_are_no_elements_are_refused(text):
    with pytest.raises(UsageError):
        read_elements(reader(text))


def test_one_element_takes_the_rest_of_the_input():
    assert read_one_element(reader(b"#c\n\nabstract:  one\n\n#two\n")) == [(b"abstract", b"one\n\n#two\n")]
    for text in (b"", b"# only\n", b"nothing\n"):
        with pytest.raises(UsageError):
            read_one_element(reader(text))
