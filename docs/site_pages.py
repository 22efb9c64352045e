"""What `mkdocs build` does beyond turning pages into HTML; see mkdocs.yml.

The navigation is the table of contents in README.md, and the reference pages, of which the repository has short ones
only, are made from the source.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support import command_reference, python_reference  # noqa: E402

_REFERENCES = {"commands.md": command_reference.reference, "python-reference.md": python_reference.reference}


def on_config(config: Any) -> Any:
    contents = (Path(config.docs_dir) / "README.md").read_text(encoding="utf-8")
    config.nav = [{"Contents": "README.md"}, *navigation(contents)]
    return config


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    make = _REFERENCES.get(page.file.src_uri)
    text = make() if make else markdown
    # Repository browsers want `\|` in the code of a table's cell, and mkdocs shows the backslash.
    return re.sub(r"^\|.*", lambda row: re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), row[0]), text,
                  flags=re.MULTILINE)


def navigation(contents: str) -> list[dict[str, list[str]]]:
    """The sections of a table of contents, each with the pages that it is the first to link to."""
    seen: set[str] = set()
    found = []
    for section in contents.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        pages = [path for path in dict.fromkeys(re.findall(r"\]\(([\w/-]+\.md)\)", text)) if path not in seen]
        seen.update(pages)
        if pages:
            found.append({title: pages})
    return found
