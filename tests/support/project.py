"""Where the files of the project are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
CONF = ROOT / "conf"
PROGRAMS = ROOT / "cgi-bin"
VECTORS = ROOT / "tests" / "vectors"


def vectors(name: str) -> Any:
    """The recorded facts in a file of tests/vectors."""
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))
