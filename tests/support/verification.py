"""What tests of the command verify share."""

from __future__ import annotations

from support.minter import NoidCommand

# Options with which links of this computer are checked without a pause.
LINKS = ("--links", "--delay", "0", "--timeout", "1", "--allow-private")
Findings = dict[str, dict[str, str]]


def create_sound_minter(noid: NoidCommand) -> None:
    """A minter of which everything can be verified, and an identifier, 13030/f54x54g11, of which everything holds."""
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    noid("mint", "1", "_t", "https://example.org/")
    noid("custodian", "set", "A Library", "--contact", "mailto:names@library.example")
    noid("policy", "persistence", "we keep them", "--until", "2999")


def verified(noid: NoidCommand, *words: str) -> tuple[int, Findings, dict[str, str]]:
    """The exit status of verify, what it found of each identifier, and its summary."""
    done = noid.run("verify", *words)
    assert done.stderr == b"", done.stderr
    blocks = done.stdout.decode("utf-8", "surrogateescape").strip("\n").split("\n\n")
    parsed = [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]
    for block in parsed[:-1]:
        # Named identifiers have an answer; the failures among all have none.
        assert block.pop("answer", None) in (None, _answer(block)), block
    return done.returncode, {block.pop("id"): block for block in parsed[:-1]}, parsed[-1]


def _answer(block: dict[str, str]) -> str:
    """Yes, if all findings in a block hold."""
    verdicts = [text for label, text in block.items() if label != "id"]
    return "yes" if all(text.startswith("holds") for text in verdicts) else "no"


def findings_of(noid: NoidCommand, name: str, *words: str) -> dict[str, str]:
    """What verify found of one identifier."""
    _, found, _ = verified(noid, name, *words)
    (block,) = found.values()
    return block
