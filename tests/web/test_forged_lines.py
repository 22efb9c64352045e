"""Values with rare line breaks: where a reader splits a text answer, no line begins with a label that is not ours."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from noidtools.web.resolver import Resolver
from support.wsgi import USER, CommandClient, ResolverClient

BREAKS = ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\r", "\n"]
FORGED = ("id: forged", "error: forged", "bulk: 9 commands, 9 done, 0 refused", "target: http://evil.example/", "bulk:")


def forged_lines(text: str) -> list[str]:
    """Lines that begin like one of FORGED."""
    return [line for line in text.splitlines() if line == "bulk:" or line.startswith(FORGED[:4])]


@pytest.mark.parametrize("line_break", BREAKS, ids=ascii)
def test_a_value_forges_no_line_whatever_its_line_breaks(web: CommandClient, line_break: str) -> None:
    commands = []
    for number, forged in enumerate(FORGED):
        for place, value in enumerate((f"a{line_break}{forged}", f"{line_break}{forged}", f"{forged}{line_break}b")):
            assert web(f"bind+set+kt639k9+e{number}{place}+{quote(value, safe='')}", user=USER).status == 200
            commands.append(f"get kt639k9 e{number}{place}\n")
        element = quote(f"x{line_break}{forged.partition(':')[0]}", safe="")
        assert web(f"bind+set+kt639k9+{element}+forged", user=USER).status == 200
    commands += ["fetch kt639k9\n", "history kt639k9\n"]
    assert forged_lines(web.post("".join(commands)).text) == []
    assert forged_lines(web("fetch+kt639k9").text) == []


@pytest.mark.parametrize("line_break", BREAKS, ids=ascii)
def test_a_description_forges_no_line(web: CommandClient, line_break: str) -> None:
    web("mint+1", user=USER)
    value = quote(f"a{line_break}target: http://evil.example/{line_break}id: forged", safe="")
    assert web(f"bind+set+kt4x551+who+{value}", user=USER).status == 200
    resolver = ResolverClient(Resolver(web.minters))
    assert forged_lines(resolver("/kt4x551?info").text) == []


def test_json_has_the_values_as_they_are(web: CommandClient) -> None:
    value = "".join(BREAKS) + "id: x"
    assert web(f"bind+set+kt639k9+e+{quote(value, safe='')}", user=USER).status == 200
    answer = web("get+kt639k9+e", accept="application/json").json
    assert value in answer["records"][0].values()
