"""Which requests come from robots, by what they say of themselves; they are answered as others are, but not counted."""

from __future__ import annotations

import re
from functools import lru_cache

# Words that robots, feed readers, link checkers and programs have in their User-Agent, and people's browsers do not.
# Robots of the better sort name an address at which they are explained.
_ROBOT = re.compile(
    r"(?<!cu)bot\b|bot[/_;-]|crawl|spider|slurp|scrap|archiver|harvest|fetch|monitor|check|preview|headless|phantom|"
    r"https?://|\b(?:curl|wget|python|perl|ruby|java|php|node|axios|okhttp|libwww-perl|go-http|noidtools)\b",
    re.IGNORECASE)
_LONGEST = 500


def is_robot(agent: str) -> bool:
    """Whether a User-Agent header is that of a robot, or is missing."""
    return not agent.strip() or _names_robot(agent[:_LONGEST])


@lru_cache(maxsize=2000)
def _names_robot(agent: str) -> bool:
    return _ROBOT.search(agent) is not None
