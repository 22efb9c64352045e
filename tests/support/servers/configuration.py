"""The configurations that `noid setup` writes, with the folders and ports of the tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from noidtools.deployment.setup import CGI, USUAL_INTERFACES, SetUp, render


def rendered(template: str, server: str, way: str, changes: Mapping[str, object] | None = None,
             interfaces: str = USUAL_INTERFACES, **values: object) -> str:
    """A template of conf/ with these values, and then with words changed as an administrator would edit them."""
    setup = SetUp(server, minters="/srv/noid", host="localhost", way=way, prefix="/opt/noid",
                  minter="kt5" if way == CGI else "", interfaces=interfaces)
    return edited(render(template, {**dataclasses.asdict(setup), **values}), changes or {})


def edited(text: str, changes: Mapping[str, object]) -> str:
    """A text with words changed, each of which must be in it."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, str(new))
    return text
