"""Answers that release 0.1.0 gave, and what has changed about them on purpose since."""

from __future__ import annotations

import re

_NOTHING_BOUND = re.compile(
    r"error: nothing is bound under (\S+); its circulation record is ([^,\n]+)(, and it is on hold)?\n"
)


# What was withdrawn is shown by its tombstone alone, which is corrected by a command of its own.
_WITHDRAWN = {
    ("fetch", "ark:/13030/f5cc0ts6h"): (
        "id:    ark:/13030/f5cc0ts6h hold\nCirc:  i|20261116000002|me/us|7\nState: withdrawn\n"
        "Withdrawn: 20261116000026\nReason: It was a mistake\nSuccessor: ark:/13030/f54x54g11\n"
    ),
    ("get", "ark:/13030/f5cc0ts6h"): (
        "error: ark:/13030/f5cc0ts6h was withdrawn on 2026-11-16: It was a mistake; use ark:/13030/f54x54g11 instead\n"
    ),
}


def as_answered_now(words: list[str], answer: str) -> str:
    """A recorded answer in the form that this release gives it.

    Release 0.1.0 put the minter's label before rules and foreign names, too, and refused to fetch an identifier that
    has nothing but its circulation record.
    """
    answer = answer.replace("ark:/old/17", "old/17")
    if answer.startswith("error: "):
        # Refusals write a name as all answers do.
        answer = re.sub(r"(?<![/\w])13030/", "ark:/13030/", answer)
    if words[0] == "verify":
        # What is found is stored only if that is asked for, and each identifier has an answer.
        return re.sub(r"(persistent: (holds|unknown|fails)[^\n]*\n)(?=\n)",
                      lambda found: found[1] + f"answer: {'yes' if found[2] == 'holds' else 'no'}\n", answer)
    if tuple(words) in _WITHDRAWN:
        return _WITHDRAWN[words[0], words[1]]
    if words[0] == "check":
        return ""  # canaries have a command of their own
    if words == ["policy"]:
        # The administrators are nobody unless they were named, and there is a limit.
        answer = answer.replace("admin: authenticated", "admin: nobody")
        return answer.replace("minting: publish\n", "minting: publish\nmint-limit: 10000\n")
    if words[0] in ("history", "log"):
        return answer.replace("\ndoor: ", "\ninterface: ")
    if words[0] not in ("fetch", "get"):
        return answer.replace("with 'noid withdraw ", "with 'noid tombstone ")
    answer = answer.replace("ark:/:idmap", ":idmap").replace("ark:/doi:", "doi:")
    nothing = _NOTHING_BOUND.fullmatch(answer) if words[0] == "fetch" and len(words) == 2 else None
    if nothing:
        identifier, circulation, held = nothing.groups()
        state = "State: reserved\n" if circulation == "uncirculated" and held else ""
        note = f"note: no elements bound under {identifier}.\n"
        return f"id:    {identifier}{' hold' if held else ''}\nCirc:  {circulation}\n{state}{note}"
    return answer


def comparable(words: list[str], answer: str) -> str:
    """An answer to be compared with a recorded one: without the blank lines that now separate the values of `get`, and
    without the summary of `check`."""
    if words[0] == "check":
        return re.sub(r"ok: \d+ items examined[^\n]*\n", "", answer)
    return answer.replace("\n\n", "\n") if words[0] == "get" else answer
