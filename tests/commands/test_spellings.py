"""All spellings of a name are one identifier, in every command that takes one.

One table of minters with the spellings of their names, one table of commands; every command is given every spelling.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from noidtools.commands import Invocation, all_commands
from noidtools.commands.command import Form
from noidtools.errors import ConflictError, ForbiddenError, InvalidError, NoidError, NotFoundError
from noidtools.minter.qualities import last_findings
from noidtools.minter.schema import META
from noidtools.resolution.catalogue import MinterEntry
from support.minter import Noid
from support.project import ROOT
from support.resolving import resolve_among
from support.wsgi import resolver_of

pytestmark = pytest.mark.slow

TARGET = "https://target.example/x"
HYPHEN = "\N{HYPHEN}"
Spell = Callable[[str], str]

# What is written for a key.  A pepper or a suffix may follow, so nothing is put behind the last letter here.
ARK: dict[str, Spell] = {
    "as stored": lambda key: key,
    "ark:/": lambda key: f"ark:/{key}",
    "ark: without slash": lambda key: f"ark:{key}",
    "scheme in upper case": lambda key: f"ARK:/{key}",
    "scheme in mixed case": lambda key: f"Ark:{key}",
    "hyphens": lambda key: f"ark:/{key[:8]}-{key[8:10]}-{key[10:]}",
    "hyphens without scheme": lambda key: f"{key[:8]}-{key[8:]}",
    "typographic hyphen": lambda key: f"ark:{key[:9]}{HYPHEN}{key[9:]}",
    "escaped letter": lambda key: f"ark:/{key[:6]}%{ord(key[6]):02x}{key[7:]}",
    "escaped hyphen": lambda key: f"ark:{key[:8]}%2D{key[8:]}",
    "escaped scheme": lambda key: f"ark%3A/{key}",
    "resolver": lambda key: f"https://n2t.net/ark:/{key}",
    "resolver, hyphens": lambda key: f"http://n2t.net/ARK:{key[:8]}-{key[8:]}",
    "resolver, escaped scheme": lambda key: f"https://n2t.net/ark%3A/{key}",
    "info": lambda key: f"info:ark/{key}",
    "blank before": lambda key: f" {key}",
}
LABELLED: dict[str, Spell] = {
    "second label": lambda key: f"https://id.example/{key}",
    "second label with the first": lambda key: f"https://id.example/ark:/{key}",
    "second label in http and capitals": lambda key: f"http://ID.example/{key}",
}
PLAIN: dict[str, Spell] = {
    "as stored": lambda key: key,
    "label": lambda key: f"lib:{key}",
    "escaped letter": lambda key: f"%{ord(key[0]):02X}{key[1:]}",
    "blank before": lambda key: f" {key}",
}
HANDLE: dict[str, Spell] = {
    "as stored": lambda key: key,
    "lower case": lambda key: key.lower(),
    "hdl:": lambda key: f"hdl:{key}",
    "HDL: and lower case": lambda key: f"HDL:{key.lower()}",
    "resolver": lambda key: f"https://hdl.handle.net/{key}",
    "resolver, lower case": lambda key: f"http://hdl.handle.net/{key.lower()}",
    "info/": lambda key: f"info:hdl/{key}",
    "info:": lambda key: f"info:hdl:{key}",
    "escaped letter": lambda key: f"hdl:{key[:12]}%{ord(key[12]):02x}{key[13:]}",
}
REPOSITORY: dict[str, Spell] = {
    "as stored": lambda key: key,
    "upper case": lambda key: key.upper(),
    "port written out": lambda key: key.replace("mtc-m18/", "mtc-m18.80/"),
    "port after the old mark": lambda key: key.replace("mtc-m18/", "mtc-m18@80/"),
    "root dot": lambda key: key.replace("inpe.br/", "inpe.br./"),
    "seconds that are zero": lambda key: f"{key}.00",
}
OPAQUE: dict[str, Spell] = {
    "as stored": lambda key: key,
    "lower case": lambda key: key.lower(),
    "mixed case": lambda key: key[:5].lower() + key[5:],
}

MINTERS: dict[str, tuple[tuple[str, ...], str, dict[str, Spell]]] = {
    # How it is created, what is written before its names in answers, and the spellings of its names.
    "noid with NAAN": (("f5.reedeedk", "medium", "13030", "cdlib.org", "oac"), "", ARK),
    "noid with NAAN and labels": (
        ("--label", "ark:/", "--label", "https://id.example/", "f5.reedeedk", "medium", "13030", "cdlib.org", "oac"),
        "ark:/", {**ARK, **LABELLED}),
    "noid with upper-case NAAN": (
        ("f5.reedeedd", "medium", "B3030", "cdlib.org", "oac"), "",
        {**ARK, "NAAN in lower case": lambda key: f"ark:/{key[0].lower()}{key[1:]}"}),
    "noid with hyphens": (
        ("f-5.reedeed", "medium", "13030", "cdlib.org", "oac"), "",
        {name: ARK[name] for name in ("as stored", "ark:/", "ark: without slash", "scheme in upper case", "resolver",
                                      "resolver, escaped scheme", "info", "escaped scheme")}),
    "noid with capital letters": (
        ("X.rEEEEEE", "medium", "13030", "cdlib.org", "oac"), "",
        {name: spell for name, spell in ARK.items() if name != "escaped letter"}),
    "noid without NAAN": (("--label", "lib:", "f5.reedeedk", "medium"), "lib:", PLAIN),
    "noid without NAAN, label with NAAN": (
        ("--label", "https://n2t.net/ark:/13030/", "f5.reedeedd", "medium"), "https://n2t.net/ark:/13030/",
        {name: lambda key, spell=spell: spell(f"13030/{key}") for name, spell in ARK.items()
         if name not in ("as stored", "blank before")} | {"as stored": lambda key: key}),
    "pilin": (("--scheme", "pilin", "--prefix", "102.100.272"), "", HANDLE),
    "ibi": (("--scheme", "ibi", "--computer", "mtc-m18.sid.inpe.br"), "", REPOSITORY),
    "ibip": (("--scheme", "ibip", "--ip", "150.163.34.243"), "", OPAQUE),
    "free": ((), "", {
        "as stored": lambda key: key,
        "escaped letter": lambda key: f"%{ord(key[0]):02X}{key[1:]}",
        "blank before": lambda key: f" {key}",
    }),
    "free with NAAN": (("-", "medium", "13030", "cdlib.org", "oac"), "", {
        name: spell for name, spell in ARK.items() if "hyphen" not in name and name != "escaped letter"}),
}
CASES = [(minter, spelling) for minter, (_, _, spellings) in MINTERS.items() for spelling in spellings]


class Names:
    """A minter whose names are asked for in other spellings."""

    def __init__(self, folder: Path, words: tuple[str, ...], label: str) -> None:
        self.noid = Noid.with_clock(folder, *words)
        self.click = resolver_of(self.noid)
        self.label = label
        self.timed = "--scheme" in words

    def mint(self) -> tuple[str, str]:
        """Key and display of a new name, of which the seconds are zero where it is made of the time."""
        self.noid.clock.now += 60 * 10**9
        (display,) = self.noid.mint()
        return display.removeprefix(self.label), display


@pytest.fixture(scope="module")
def minters(tmp_path_factory) -> Iterator[dict[str, Names]]:
    folder = tmp_path_factory.mktemp("minters")
    made = {name: Names(folder / f"m{place}", words, label)
            for place, (name, (words, label, _)) in enumerate(MINTERS.items())}
    for names in made.values():
        # Names that are minted alone and stay so, that a wrong spelling could be mistaken for.
        names.mint()
        names.noid.records("policy", "persistence", "kept")
    yield made
    for names in made.values():
        names.noid.close()


@pytest.fixture
def case(request, minters) -> tuple[Names, str, str]:
    """A minter, the display of a new name of it, and the same in the spelling under test."""
    minter, spelling = request.param
    key, display = minters[minter].mint()
    return minters[minter], display, MINTERS[minter][2][spelling](key)


def every_spelling(test):
    ids = [f"{minter}-{spelling}" for minter, spelling in CASES]
    return pytest.mark.parametrize("case", CASES, indirect=True, ids=ids)(test)


def some_spellings(test):
    """As `every_spelling`, for tests of commands that differ in little but their words: one spelling in six."""
    return pytest.mark.parametrize("case", CASES[::6], indirect=True, ids=["-".join(case) for case in CASES[::6]])(test)


def every_spelling_once(test):
    """As `every_spelling`, for tests that take long: each spelling with the first minter that has it, and the last one
    of each minter; the others are among the long tests."""
    chosen = {spelling: (minter, spelling) for minter, spelling in reversed(CASES)}.values()
    last = dict(CASES).items()
    cases = [case if case in chosen or case in last else pytest.param(case, marks=pytest.mark.long) for case in CASES]
    return pytest.mark.parametrize("case", cases, indirect=True, ids=["-".join(case) for case in CASES])(test)


# -- commands that read ----------------------------------------------------------------------------------------------


def answers(noid: Noid, words: tuple[str, ...]) -> object:
    """What a command answers; the word for the refusal if it is refused."""
    try:
        return noid.records(*words)
    except NoidError as error:
        return type(error), error.message


READING: dict[str, tuple[str, ...]] = {
    "fetch": ("fetch", "NAME"), "fetch one": ("fetch", "NAME", "title"), "get": ("get", "NAME"),
    "get items": ("get", "--items", "NAME", "title"), "quality": ("quality", "NAME"),
    "get one": ("get", "NAME", "_t"), "get what a rule computes": ("get", "NAME", "computed"),
    "path": ("path", "NAME"), "relations": ("relations", "NAME"), "history": ("history", "NAME"),
    "custodian": ("custodian", "NAME"), "custodian show": ("custodian", "show", "NAME"),
    "custodian history": ("custodian", "history", "NAME"), "cite": ("cite", "NAME"),
    "verify": ("verify", "NAME"), "resolve": ("resolve", "NAME"), "stats": ("stats", "NAME"),
    "resolve what a rule computes": ("resolve", "--element", "computed", "NAME"),
}
# What takes longer than all of them.
DESCRIBING = ("describe",)
DESCRIBING_IN_WORDS = ("describe", "--text")


def say_all_of(noid: Noid, display: str) -> None:
    """Bind, state and relate what the reading commands answer."""
    noid.records("bind", "set", display, "_t", TARGET)
    noid.records("bind", "set", display, "title", "one")
    noid.records("bind", "set", ":idmap/^.*(.)$", "computed", "https://rule.example/$1")
    noid.records("custodian", "set", "somebody", display)
    noid.records("synonym", display, "doi:10.1000/182", "--authority", "me")
    noid.records("quality", "state", "persistent", display, "--authority", "me")


@every_spelling
def test_every_reading_command_finds_the_name(case):
    names, display, spelled = case
    noid = names.noid
    say_all_of(noid, display)
    for name, words in READING.items():
        expected = noid.records(*(display if word == "NAME" else word for word in words))
        assert expected, name
        assert answers(noid, tuple(spelled if word == "NAME" else word for word in words)) == expected, name
    assert noid.records("get", spelled, "_t") == [{"name": "_t", "value": TARGET}]
    assert noid.records("resolve", f"{spelled}/page")[0]["value"] == f"{TARGET}/page"
    assert noid.records("same", display, spelled)[0]["same"] is True
    (verdict,) = noid.records("validate", "-", spelled)
    assert verdict["id"] == (display if verdict["valid"] else spelled)
    if names.timed:
        assert noid.records("decode", spelled) == noid.records("decode", display)


@some_spellings
def test_a_description_is_of_the_name(case):
    names, display, spelled = case
    say_all_of(names.noid, display)
    for words in (DESCRIBING, DESCRIBING_IN_WORDS):
        assert names.noid.records(*words, spelled) == names.noid.records(*words, display)


@every_spelling
def test_every_resolver_finds_the_name(case):
    names, display, spelled = case
    names.noid.records("bind", "set", display, "_t", TARGET)
    path = "/" + quote(spelled.strip(), safe="/:%-._~!<>")
    assert names.click(path).headers["location"] == TARGET
    assert names.click(f"{path}/page").headers["location"] == f"{TARGET}/page"
    assert names.click(f"{path}?info").status == 200


@pytest.mark.parametrize("minter", MINTERS)
def test_a_web_servers_map_finds_the_names(minter, minters):
    names, spellings = minters[minter], MINTERS[minter][2]
    lines, expected = [], []
    for number, spell in enumerate(spellings.values()):
        key, display = names.mint()
        target = f"{TARGET}{number}"
        names.noid.records("bind", "set", display, "_t", target)
        lines += [f"get {spell(key)} _t", spell(key), f"{spell(key)}/p"]
        expected += [target, target, f"{target}/p"]
    command = [sys.executable, str(ROOT / "cgi-bin" / "noidr"), "-f", str(names.noid.folder)]
    done = subprocess.run(command, input="\n".join(lines).encode(), capture_output=True, timeout=60, check=True)
    assert dict(zip(lines, done.stdout.decode().splitlines(), strict=True)) == dict(zip(lines, expected, strict=True))


@every_spelling
def test_a_name_goes_to_its_minter_among_several(case, minters):
    names, display, spelled = case
    names.noid.records("bind", "set", display, "_t", TARGET)
    others = [MinterEntry(name, other.noid.opened) for name, other in minters.items()
              if other is names or name in ("free", "pilin", "ibi", "ibip")]
    outcome = resolve_among(others, spelled.encode())
    assert outcome.minter is names.noid.opened and outcome.value.decode() == TARGET


# -- commands that change --------------------------------------------------------------------------------------------


@every_spelling_once
def test_every_changing_command_changes_the_name(case):
    names, display, spelled = case
    noid = names.noid
    noid.records("bind", "new", spelled, "title", "one")
    assert isinstance(noid.refusal("bind", "new", display, "title", "two"), ConflictError)
    noid.records("bind", "append", spelled, "title", " two")
    assert noid.records("get", display, "title")[0]["value"] == "one two"
    noid.records("bind", "purge", spelled, "title")
    assert isinstance(noid.refusal("get", display, "title"), NotFoundError)
    noid.records("bind", "set", spelled, "_t", TARGET)

    held = noid.records("hold", "set", spelled)
    assert held == [{"ok": "1 hold placed"}] and noid.records("fetch", display)[0]["hold"] is True
    assert noid.records("hold", "release", spelled) == [{"ok": "1 hold released"}]
    if not names.timed:
        noid.records("queue", "1d", spelled)
        assert isinstance(noid.refusal("queue", "now", display), ConflictError)
        noid.records("queue", "delete", spelled)
        assert isinstance(noid.refusal("queue", "delete", display), NotFoundError)
    assert noid.records("reserve", spelled) == [{"id": display, "state": "reserved"}]
    assert isinstance(noid.refusal("resolve", display), NotFoundError)
    assert noid.records("publish", spelled) == [{"id": display, "state": "published"}]

    noid.records("custodian", "set", "somebody", spelled)
    assert noid.records("custodian", display)[0]["custodian"] == "somebody"
    noid.records("custodian", "remove", spelled)
    assert noid.records("custodian", display)[0]["of"] == "this minter"

    noid.records("resolver", "passthrough", "off", spelled)
    assert isinstance(noid.refusal("resolve", f"{display}/page"), NotFoundError)
    noid.records("resolver", "passthrough", "on", spelled)
    assert noid.records("resolve", f"{display}/page")

    noid.records("resolver", "canary", display)
    noid.records("resolver", "canary", spelled)
    assert sum(1 for line in noid.text("resolver").splitlines() if line.startswith("canary: ")) == 1
    noid.records("resolver", "canary", spelled, "-")
    assert "canary" not in noid.text("resolver")

    assert related(noid, display) == []
    assert len(noid.events_of(display)) > 10
    assert noid.records("history", display) == noid.records("history", spelled)


@every_spelling_once
def test_relations_are_those_of_the_name(case):
    names, display, spelled = case
    noid = names.noid
    _, other = names.mint()
    noid.records("bind", "set", display, "_t", TARGET)
    noid.records("synonym", spelled, "doi:10.1000/182", "--authority", "me")
    assert related(noid, display) == [("synonym", "doi:10.1000/182")]
    noid.records("prefer", spelled)
    assert ("preferred", None) in related(noid, display)
    noid.records("prefer", "--remove", spelled)
    noid.records("synonym", "--remove", "https://doi.org/10.1000/182", spelled)
    assert related(noid, display) == []
    assert isinstance(noid.refusal("synonym", spelled, display, "--authority", "me"), ConflictError)

    noid.records("alias", other, spelled)
    assert related(noid, display) == [("alias", other)] and noid.resolved(other) == TARGET
    assert isinstance(noid.refusal("alias", spelled, display), ConflictError)
    assert "loop" in noid.refusal("alias", spelled, other).message
    noid.records("alias", "--remove", other)
    noid.records("alias", spelled, other)
    noid.records("bind", "set", other, "_t", f"{TARGET}/other")
    assert related(noid, display) == [("alias-of", other)] and noid.resolved(display) == f"{TARGET}/other"
    noid.records("alias", "--remove", spelled)
    assert noid.resolved(display) == TARGET

    noid.records("withdraw", other, "--successor", spelled)
    assert related(noid, display) == [("predecessor", other)]
    assert noid.records("withdraw", spelled)[0]["id"] == display
    assert noid.resolved(display) == "gone" == noid.resolved(spelled)
    assert isinstance(noid.refusal("bind", "set", spelled, "_t", "x"), ConflictError)


def related(noid: Noid, name: str) -> list[tuple[str, str | None]]:
    return [(relation["relation"], relation["name"]) for relation in noid.records("relations", name)]


# What is run one after the other with a name that was just minted; elements and files are on standard input.  OTHER is
# a name of the same minter.
CHANGING: list[tuple[tuple[str, ...], str]] = [
    (("bind", "set", "NAME", "_t", TARGET), ""),
    (("bind", "new", "NAME", ":"), "title: one\n\n"),
    (("bind", "append-item", "NAME", "title", "two"), ""),
    (("bind", "delete", "NAME", "title"), ""),
    (("rebind",), "id,_t\nNAME,https://target.example/y\n"),
    (("import", "csv", "--on-conflict", "replace"), "id,_t\nNAME,https://target.example/z\n"),
    (("import", "csv", "--mint"), "id,part\nNAME,two\n"),
    (("hold", "set", "NAME"), ""), (("hold", "release", "NAME"), ""),
    (("queue", "1d", "NAME"), ""), (("queue", "delete", "NAME"), ""),
    (("reserve", "NAME"), ""), (("publish", "NAME"), ""),
    (("unavailable", "NAME", "--reason", "away"), ""), (("publish", "NAME"), ""),
    (("custodian", "set", "somebody", "NAME"), ""), (("custodian", "remove", "NAME"), ""),
    (("custodian", "set", "somebody", "NAME", "--element", "_t"), ""),
    (("custodian", "remove", "NAME", "--element", "_t"), ""),
    (("resolver", "passthrough", "off", "NAME"), ""), (("resolver", "passthrough", "on", "NAME"), ""),
    (("synonym", "NAME", "doi:10.1000/182", "--authority", "me"), ""),
    (("prefer", "NAME"), ""), (("prefer", "--remove", "NAME"), ""),
    (("synonym", "--remove", "NAME", "doi:10.1000/182"), ""),
    (("relate", "NAME", "synonym", "doi:10.1000/183", "--authority", "me"), ""),
    (("relate", "--remove", "NAME", "synonym", "doi:10.1000/183"), ""),
    (("quality", "state", "persistent", "NAME", "--authority", "me"), ""),
    (("quality", "deny", "reliable", "NAME", "--authority", "me"), ""),
    (("quality", "remove", "persistent", "NAME"), ""),
    (("alias", "NAME", "OTHER"), ""), (("alias", "--remove", "NAME"), ""),
    (("withdraw", "NAME", "--successor", "OTHER"), ""), (("tombstone", "NAME", "--reason", "lost"), ""),
]


@some_spellings
def test_every_change_is_in_the_history_of_the_name(case):
    names, display, spelled = case
    noid = names.noid
    _, other = names.mint()
    noid.records("bind", "set", other, "_t", TARGET)
    before = noid.events_of(display)
    for words, stdin in CHANGING:
        if words[0] == "queue" and names.timed:
            continue
        given = [{"NAME": spelled, "OTHER": other}.get(word, word) for word in words]
        done = noid.run(*given, stdin=stdin.replace("NAME", spelled).encode())
        assert (done.returncode, done.stderr) == (0, b""), words
        after = noid.events_of(display)
        assert len(after) > len(before), words
        before = after
    assert noid.records("tombstone", spelled) == noid.records("tombstone", display)
    assert "lost" in noid.text("tombstone", spelled)


@some_spellings
def test_findings_are_those_of_the_name(case):
    names, display, spelled = case
    noid = names.noid
    noid.records("bind", "set", display, "_t", TARGET)
    noid.records("verify", spelled, "--record")
    assert noid.read(lambda reader: last_findings(reader, display.removeprefix(names.label).encode()))


@some_spellings
def test_a_name_in_circulation_is_not_abstract_in_any_spelling(case):
    names, display, spelled = case
    names.noid.records("bind", "set", display, "_t", TARGET)
    for words in (("abstract", "show", spelled), ("abstract", "--remove", spelled)):
        assert isinstance(names.noid.refusal(*words), NotFoundError)
    for kind in ("context", "name"):
        assert display in names.noid.refusal("abstract", kind, spelled, "--authority", "me").message


@pytest.mark.parametrize("spelled", ["work:hamlet", " work:hamlet ", "work:%68amlet", "%77ork:hamlet"])
def test_an_abstract_name_has_spellings_like_others(tmp_path, spelled):
    noid = Noid.with_clock(tmp_path)
    noid.records("abstract", "context", "work", "--authority", "me")
    noid.records("abstract", "name", "work:hamlet", "--authority", "me")
    assert noid.records("abstract", "show", spelled) == noid.records("abstract", spelled)
    assert noid.records("abstract", "show", spelled)[0]["label"] == "hamlet"
    noid.records("abstract", "--remove", spelled)
    assert isinstance(noid.refusal("abstract", "show", "work:hamlet"), NotFoundError)
    noid.close()


@every_spelling_once
def test_a_beginning_of_names_selects_the_names(case):
    names, display, spelled = case
    noid = names.noid
    noid.records("bind", "set", display, "_t", TARGET)
    assert display in noid.text("export", "csv", "--prefix", spelled)
    assert display in noid.text("list", "--prefix", spelled)
    assert display in noid.text("find", "--target", TARGET, "--prefix", spelled)
    change = ("retarget", "--from", TARGET, "--to", f"{TARGET}/new", "--prefix", spelled)
    assert noid.records(*change, "--dry-run")[0]["id"] == display
    assert "ok: 1 binding changed" in noid.text(*change)
    assert noid.records("get", display, "_t")[0]["value"] == f"{TARGET}/new"


@pytest.mark.parametrize(("prefix", "count"), [
    ("13030/f5", 3), ("ark:/13030/f5", 3), ("ark:13030/f5", 3), ("ark:/13030/f5-1", 2), ("13030/f-5-1", 2),
    ("https://n2t.net/ark:/13030/f51", 2), ("https://n2t.net/ark:/13030/f5-1a", 1), ("ark:/13030/f5%31", 2), ("", 4),
    ("ark:/", 4), ("ark:/1303", 4), ("ark:/13030/", 4), ("ark:/13030/f5/", 0), ("ark:/13030/f52/", 1), ("13030/x", 1),
    ("ark:/13030/y", 0), ("doi:10.1000/", 0),
])
def test_a_beginning_of_names_may_be_spelled_like_a_name(tmp_path, prefix, count):
    noid = Noid.with_clock(tmp_path, "-", "medium", "13030", "a", "b")
    for key in ("13030/f51a", "13030/f51b", "13030/f52/c", "13030/x"):
        noid.records("bind", "set", key, "_t", TARGET)
    lines = noid.text("export", "csv", "--prefix", prefix).splitlines()
    assert len(lines) - 1 == count, lines
    done = noid.records("retarget", "--from", TARGET, "--to", f"{TARGET}/new", "--prefix", prefix, "--dry-run")
    assert done[-1]["ok"].startswith(f"{count} binding")
    noid.close()


def test_a_prefix_with_capitals_keeps_its_spelling_in_names_that_were_not_minted(tmp_path):
    noid = Noid.created(tmp_path, "--label", "hdl:", "x.sd", "medium", "21.T99")
    assert noid("hold", "set", "hdl:21.t99/Foo") == "ok: 1 hold placed\n\n"
    assert "Id:      hdl:21.T99/Foo\n" in noid("bind", "set", "21.T99/Foo", "_t", "https://a.example/")
    assert noid("list") == "id: hdl:21.T99/Foo\ntarget: https://a.example/\n\n"
    for spelled in ("hdl:21.T99/Foo", "HDL:21.t99/Foo", "https://hdl.handle.net/21.T99/Foo"):
        assert noid("resolve", spelled) == "https://a.example/\n"
    assert "does not resolve" in noid.refused("resolve", "hdl:21.T99/foo")
    noid.close()


# Forms that take a name, with which the tests above do not deal by a table, and why.
ELSEWHERE = {
    "same Name Name": "two names: test_every_reading_command_finds_the_name",
    "validate Template|Scheme|- Id…": "is stricter: the same test",
    "decode Label": "for schemes of time: the same test",
    "tombstone Id": "for withdrawn names: test_every_change_is_in_the_history_of_the_name",
    "abstract": "names that are not in circulation: test_an_abstract_name_has_spellings_like_others",
    "export": "beginnings of names: test_a_beginning_of_names_selects_the_names",
    "retarget": "the same", "find": "the same", "list": "the same",
    "verify [Id…]": "test_findings_are_those_of_the_name; --links reads as --record does",
    "resolver canary Name [Target|-]": "test_every_changing_command_changes_the_name",
    "token": "its names are those of tokens",
    "note": "its names are those of notes",
    "rebind File": "reads a file as rebind does standard input", "import csv|jsonl|anvl": "the same",
    "import csv [File] --mint": "the same",
    "import perl Source": "a whole minter of another program",
    "import noid4php Source": "a whole minter of another program",
}
# Words of usages that stand for names, and options whose value is one.
NAME_WORD = re.compile(r"\b(?:Id|Name|Alias|Label)\b")
NAME_OPTIONS = {"successor", "prefix", "in"}


def takes_a_name(form: Form) -> bool:
    """Whether the words of a form may be names, or the file that it reads may hold some."""
    usage = re.sub(r"--(\S+) [A-Z]\w*", lambda match: "Name" if match[1] in NAME_OPTIONS else "", form.usage)
    return bool(NAME_WORD.search(usage)) or form.takes_file


def test_every_form_that_takes_a_name_is_tested_with_spellings():
    tested = {Invocation([word.encode() for word in words]).form
              for words in (*READING.values(), (*DESCRIBING, "NAME"), (*DESCRIBING_IN_WORDS, "NAME"),
                            *(words for words, _ in CHANGING))}
    missing = [whole for command in all_commands() for form in command.forms
               if takes_a_name(form) and form not in tested and command.name not in ("dbcreate", "serve", "setup")
               and not (whole := f"{command.name} {form.usage}").startswith(tuple(ELSEWHERE))]
    assert missing == []


# -- peppers ---------------------------------------------------------------------------------------------------------


CHANGES = [
    ("bind", "set", "NAME", "title", "x"), ("hold", "set", "NAME"), ("hold", "release", "NAME"),
    ("reserve", "NAME"), ("publish", "NAME"), ("custodian", "set", "me", "NAME"),
    ("resolver", "passthrough", "off", "NAME"), ("synonym", "NAME", "doi:10.1000/182", "--authority", "me"),
    ("prefer", "NAME"), ("alias", "NAME", "doi:10.1000/182"), ("alias", "--remove", "NAME"),
    ("withdraw", "NAME"),
]
READS = [
    ("fetch", "NAME"), ("get", "NAME", "title"), ("path", "NAME"), ("relations", "NAME"),
    ("history", "NAME"), ("custodian", "NAME"), ("cite", "NAME"), ("describe", "NAME"), ("resolve", "NAME"),
]


@some_spellings
def test_a_pepper_is_needed_for_changes_and_a_wrong_one_is_refused_always(case, request):
    names, _, _ = case
    noid = names.noid
    minter, spelling = request.node.callspec.params["case"]
    noid.clock.now += 60 * 10**9
    display, _, pepper = noid.records("peppermint", "1")[0]["id"].partition("!")
    spelled = MINTERS[minter][2][spelling](display.removeprefix(names.label))

    def give(words: tuple[str, ...], name: str) -> list[dict]:
        return noid.records(*(name if word == "NAME" else word for word in words))

    for words in CHANGES:
        for name in (spelled, f"{spelled}!wrong", f"{spelled}!"):
            with pytest.raises((ForbiddenError, NotFoundError) if words[0] == "alias" else ForbiddenError):
                give(words, name)
    for words in READS:
        with pytest.raises((ForbiddenError, NotFoundError)):
            give(words, f"{spelled}!wrong")
    with pytest.raises(ForbiddenError):
        noid.records("same", f"{spelled}!wrong", display)
    noid.records("bind", "set", f"{spelled}!{pepper}", "_t", TARGET)
    noid.records("bind", "set", f"{display}!{pepper}", "title", "x")
    for words in READS:
        expected = give(words, display)
        for name in (spelled, f"{spelled}!{pepper}"):
            assert give(words, name) == expected, (words, name)
    assert noid.records("validate", "-", f"{display}!{pepper}") == [{"id": display, "valid": True}]
    assert isinstance(noid.refusal("validate", "-", f"{display}!wrong"), ForbiddenError)
    for words in CHANGES:
        give(words, f"{spelled}!{pepper}")
    assert pepper not in str(noid.records("history", display)) and pepper not in str(noid.records("relations", display))


# -- names that are not known yet ------------------------------------------------------------------------------------


@every_spelling
def test_what_is_bound_before_it_is_minted_is_bound_to_the_one_identifier(case, request):
    names, display, _ = case
    minter, spelling = request.node.callspec.params["case"]
    unminted = unminted_after(names, display)
    spelled = MINTERS[minter][2][spelling](unminted)
    if (minter, spelling) == ("free", "escaped letter"):
        # A plain name that nobody knows may mean just these octets: escapes are undone only to find what is known.
        unminted = spelled
    names.noid.records("bind", "set", spelled, "title", "one")
    assert names.noid.records("fetch", names.label + unminted)[0]["id"] == names.label + unminted
    assert names.noid.records("get", unminted, "title")[0]["value"] == "one"
    assert isinstance(names.noid.refusal("bind", "new", unminted, "title", "two"), ConflictError)


def unminted_after(names: Names, display: str) -> str:
    """The key of a name that the minter will make, or could have made, but has not."""
    scheme = names.noid.opened.scheme
    if names.timed:
        prefix, year = scheme.namespace_prefix.decode(), 2000 + len(display) + names.noid.event_count() % 3000
        return {"pilin": f"{prefix}{names.noid.event_count():09d}", "ibi": f"{prefix}{year}/02.16.17.46",
                "ibip": f"{prefix}3{encoded(names.noid.event_count())}"}[scheme.name]
    state = names.noid.read(lambda reader: reader.get(META, b"state"))
    # So far ahead that no other test comes to it.
    return scheme.generator(state).draw(2000)[-1][0].decode()


def encoded(number: int) -> str:
    digits = "23456789ABCDEFGHJKLMNPQRSTU"
    text = ""
    while number or not text:
        number, digit = divmod(number, len(digits))
        text = digits[digit] + text
    return text.rjust(6, "2")


FREE = {
    # Spellings of names that a free minter without labels has never heard of.
    "ark": ("ark:/12345/ab{n}cd", "ark:12345/ab{n}-cd", "ARK:/12345/ab-{n}cd/", "https://n2t.net/ark:/12345/ab{n}cd",
            "info:ark/12345/ab{n}cd", "ark:/12345/%61b{n}cd"),
    "doi": ("doi:10.1000/Ab{n}", "DOI:10.1000/aB{n}", "https://doi.org/10.1000/AB{n}", "info:doi/10.1000/ab{n}",
            "doi:10.1000/%41b{n}"),
    "handle": ("hdl:102.100.272/Ab{n}", "HDL:102.100.272/Ab{n}", "https://hdl.handle.net/102.100.272/Ab{n}",
               "info:hdl/102.100.272/Ab{n}"),
    "urn": ("urn:isbn:97{n}", "URN:ISBN:97{n}"),
    "uuid": ("urn:uuid:550e8400-e29b-41d4-a716-4466554{n:05d}", "URN:UUID:550E8400-E29B-41D4-A716-4466554{n:05d}"),
    "ark with a query": ("ark:/12345/ab{n}?x=1-2", "ark:12345/a-b{n}?x=1-2", "https://n2t.net/ark:/12345/ab{n}?x=1-2"),
    "plain": ("Some Name {n}", " Some Name {n} "),
}


@pytest.mark.parametrize("kind", FREE)
@pytest.mark.parametrize("label", ["", "ark:/", "doi:", "lib:"])
def test_whatever_spelling_binds_a_name_first_all_others_find_it(tmp_path, kind, label):
    noid = Noid.with_clock(tmp_path, *(("--label", label) if label else ()))
    for number, first in enumerate(FREE[kind], 1):
        noid.records("bind", "new", first.format(n=number), "_t", TARGET)
        for other in FREE[kind]:
            name = other.format(n=number)
            assert noid.records("get", name, "_t")[0]["value"] == TARGET, (first, name)
            assert noid.resolved(name) == TARGET, (first, name)
            assert noid.records("fetch", name)[0]["id"] == noid.records("fetch", first.format(n=number))[0]["id"]
            assert len(noid.records("history", name)) == 1
            assert noid.records("same", first.format(n=number), name)[0]["same"] is True
            assert isinstance(noid.refusal("bind", "new", name, "_t", "x"), ConflictError)
            assert noid.records("get", noid.records("fetch", name)[0]["id"], "_t")[0]["value"] == TARGET
    noid.close()


# -- ambiguities -----------------------------------------------------------------------------------------------------


def test_of_two_keys_that_spell_one_name_every_command_takes_the_same(tmp_path):
    noid = Noid.with_clock(tmp_path, "-", "medium", "13030", "a", "b")
    noid.records("bind", "set", "13030/b-c169", "title", "with")
    noid.records("bind", "set", "13030/bc169", "_t", TARGET)
    for name in ("13030/b-c169", "ark:/13030/b-c169", "https://n2t.net/ark:/13030/b-c169"):
        assert noid.records("fetch", name)[0]["id"] == "13030/b-c169"
        assert isinstance(noid.refusal("get", name, "_t"), NotFoundError)
        assert noid.resolved(name) == "not found"
        assert "kept apart" in noid.text("verify", name)
    for name in ("13030/bc169", "ark:/13030/bc169", "ark:/13030/b-c-169"):
        assert noid.records("fetch", name)[0]["id"] == "13030/bc169"
        assert noid.records("get", name, "_t")[0]["value"] == noid.resolved(name) == TARGET
    noid.close()


def test_a_name_with_a_query_is_another_name(tmp_path):
    noid = Noid.with_clock(tmp_path, "-", "medium", "13030", "a", "b")
    noid.records("bind", "set", "13030/x", "_t", TARGET)
    for name in ("13030/x?y", "ark:/13030/x?y", "https://n2t.net/ark:/13030/x?y"):
        assert isinstance(noid.refusal("get", name, "_t"), NotFoundError)
        assert isinstance(noid.refusal("history", name), NotFoundError)
        assert noid.records("relations", name) == []
    noid.records("bind", "set", "ark:/13030/x?y", "_t", f"{TARGET}/query")
    for name in ("13030/x?y", "ark:/13030/x?y", "https://n2t.net/ark:/13030/x?y"):
        assert noid.records("get", name, "_t")[0]["value"] == noid.resolved(name) == f"{TARGET}/query"
    assert noid.resolved("13030/x?z") == f"{TARGET}?z" and noid.resolved("13030/x") == TARGET
    noid.close()


def test_a_label_is_taken_off_before_a_name_that_begins_like_it_is_looked_for(tmp_path):
    noid = Noid.with_clock(tmp_path, "--label", "x:")
    noid.records("bind", "set", "x:x:a", "e", "inner")
    noid.records("bind", "set", "x:a", "e", "outer")
    assert noid.records("get", "x:x:a", "e")[0]["value"] == "inner"
    assert noid.records("get", "x:a", "e")[0]["value"] == noid.records("get", "a", "e")[0]["value"] == "outer"
    noid.close()


def test_a_pepper_reaches_neither_rules_nor_other_resolvers(tmp_path):
    noid = Noid.with_clock(tmp_path, "f5.reedeedk", "medium", "13030", "a", "b")
    display, _, pepper = noid.records("peppermint", "1")[0]["id"].partition("!")
    noid.records("resolver", "fallback", "https://other.example/")
    for name in (display, f"ark:{display}"):
        assert noid.resolved(f"{name}!{pepper}") == "not found"
        assert noid.resolved(f"{name}!wrong") == "invalid"
    noid.records("bind", "set", ":idmap/^13030/(.*)", "_t", "https://rule.example/$1")
    assert noid.resolved(f"{display}!{pepper}") == f"https://rule.example/{display.removeprefix('13030/')}"
    assert noid.records("get", f"{display}!{pepper}", "_t")[0]["value"] == noid.resolved(display)
    noid.close()


# -- refusals --------------------------------------------------------------------------------------------------------


NAME_TAKING = [
    *CHANGES, *READS, ("queue", "now", "NAME"), ("queue", "delete", "NAME"), ("verify", "NAME"), ("decode", "NAME"),
    ("same", "NAME", "x"), ("custodian", "history", "NAME"), ("custodian", "remove", "NAME"),
    ("alias", "x", "NAME"), ("withdraw", "13030/f54x54g11", "--successor", "NAME"),
    ("bind", "replace", "NAME", "a\nb", "x"), ("fetch", "NAME", "a\nb"),
]


@pytest.mark.parametrize(
    "name", [b"13030/f5\nx", b"a\r\nb", b"13030/f54x54g1\x01", b"\xff\n\x85", b"ark:/13030/f5\n1\xff"])
@pytest.mark.parametrize("words", [("f5.reedeedk", "medium", "13030", "a", "b"), ("--label", "x:"),
                                   ("--scheme", "pilin", "--prefix", "102.100.272")], ids=["noid", "free", "pilin"])
def test_a_refusal_is_one_line_whatever_the_name(tmp_path, name, words):
    noid = Noid.with_clock(tmp_path, *words)
    for command in NAME_TAKING:
        try:
            noid.records(*(name if word == "NAME" else word for word in command))
        except NoidError as error:
            assert error.message.isprintable(), (command, error.message)
    noid.close()


@pytest.mark.parametrize("name", ["", " ", "ark:/", " ark:/ ", "x" * 70_000])
def test_what_is_no_name_at_all_is_refused_by_every_command(tmp_path, name):
    noid = Noid.with_clock(tmp_path, "--label", "ark:/", "f5.reedeedk", "medium", "13030", "a", "b")
    assert noid.records("validate", "-", name)[0]["valid"] is False
    for command in (*CHANGES, *READS):
        refusal = noid.refusal(*(name if word == "NAME" else word for word in command))
        assert isinstance(refusal, InvalidError | NotFoundError), (command, refusal)
    noid.close()


@pytest.mark.parametrize("name", ["13030/f54x54g11\n", "\tark:/13030/f54x54g11", "13030/f54x54g11\r\n"])
def test_a_control_character_around_a_name_is_refused_by_changes(tmp_path, name):
    noid = Noid.with_clock(tmp_path, "--label", "ark:/", "f5.reedeedk", "medium", "13030", "a", "b")
    noid.records("mint", "1")
    for command in ("bind set {} a b", "hold set {}", "queue now {}", "withdraw {}"):
        words = [name if word == "{}" else word for word in command.split()]
        assert "control character" in noid.refusal(*words).message
    noid.close()


@pytest.mark.parametrize(("given", "kept"), [
    ("ark:/13030/x", "ark:/13030/x"), ("ark:13030/x", "ark:13030/x"), ("https://n2t.net/ark:/13030/x", "ark:/13030/x"),
    ("hdl:10.5/X", "hdl:10.5/X"), ("ISBN 0-596-00027-8", "ISBN 0-596-00027-8"), ("13030/x-y", "13030/x-y"),
])
def test_a_minter_without_a_template_keeps_the_name_that_it_was_given(tmp_path, given, kept):
    noid = Noid.created(tmp_path)
    assert noid("bind", "set", given, "e", "v").startswith(f"Id:      {kept}\n")
    assert noid("fetch", given) == noid("fetch", kept) == f"id:    {kept}\nCirc:  uncirculated\ne: v\n\n"
    assert f"canonical: {kept}\n" in noid("cite", given)
    assert f'{{"id":"{kept}",' in noid("export", "jsonl")
    assert f"id: {kept}\n" in noid("history", given)
    if ":" in kept:
        assert f"\n<{kept}> a " in noid("describe", given)


def test_in_a_minter_without_a_template_all_spellings_of_an_ark_find_it(tmp_path):
    noid = Noid.created(tmp_path)
    noid("bind", "set", "ark:/13030/x", "_t", TARGET)
    for spelled in ("ark:13030/x", "ARK:/13030/x", "13030/x", "https://n2t.net/ark:/13030/x", "info:ark/13030/x",
                    "ark:/13030/x/", " ark:/13030/-x "):
        assert noid("get", spelled, "_t") == TARGET + "\n"
        assert noid("resolve", spelled) == noid("resolve", "ark:/13030/x")
    assert noid.resolved("ark:13030/x/page") == TARGET + "/page"
