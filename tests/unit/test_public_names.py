"""What `import noidtools` offers, and what it costs."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import subprocess
import sys
import typing

import pytest

import noidtools
from noidtools import errors, schemes
from noidtools.api import minter as words
from noidtools.description import RDF_FORMATS
from noidtools.minter import relations
from noidtools.minter.bindings import HOWS
from noidtools.minter.creation import TERMS
from noidtools.minter.lifecycle import STATES
from noidtools.minter.policies import CLASSES
from noidtools.minter.qualities import STATABLE
from noidtools.resolution import maps
from noidtools.transfer.exporter import FORMS
from noidtools.transfer.importer import CONFLICTS, READERS
from support.project import ROOT

FUNCTIONS = {"connect", "copy", "create", "import_minter", "open", "restore"}
ERRORS = {
    "BusyError", "ConflictError", "ExhaustedError", "ForbiddenError", "GoneError", "InvalidError", "NoMinterError",
    "NoidError", "NotFoundError", "OutcomeUnknownError", "StoreError", "UsageError",
}
RESULTS = {
    "AbstractName", "AccessToken", "AliasLink", "Binding", "BulkChange", "CanaryResult", "ChangedValue",
    "CheckResult", "CitationForm", "Comparison", "ContextClaim", "Copied", "CustodyPeriod", "FoundName",
    "HistoryEvent", "HoldResult", "ImportResult", "LeftBinding", "LinkReport", "MintCount", "MinterDescription",
    "MinterInfo", "MinterPolicy", "NameDescription", "NameRecord", "NameRelation", "NamingContext", "OfferedAction",
    "PerformedAction", "PersistencePromise", "PolicyStatement", "QualityClaim", "QualityFinding", "RedirectTarget",
    "ReportedLink", "Resolution", "ResolverSettings", "Restored", "RuleBinding", "Transition", "Usage", "UsageDay",
    "Validity", "ValueDigest", "VerifiedName", "Withdrawal",
}
METHODS = {
    "abstract_names", "alias", "amend_tombstone", "backup", "bind", "bind_many", "check", "check_canaries", "cite",
    "claim_context", "close", "closed", "context", "custodian", "custodians", "declare_abstract", "decode", "dequeue",
    "describe", "describe_rdf", "elements", "export", "export_map", "fetch", "find", "get", "history", "hold",
    "identify", "import_file", "info", "items", "link_reports", "log", "make_unavailable", "mint", "mint_many",
    "mint_table", "names", "new_token", "note", "path", "peppermint", "policy", "prefer", "present_custodians",
    "publish", "qualities", "queue", "rebind", "relate", "relations", "release", "remove_abstract", "remove_alias",
    "remove_canary", "remove_context_claim", "remove_custodian", "remove_preference", "remove_quality",
    "remove_synonym", "reserve", "reset_clock", "resolve", "resolver", "retarget", "revoke_token", "rules", "same",
    "set_cache", "set_canary", "set_context", "set_custodian", "set_passthrough", "set_policy", "set_resolver",
    "set_timing", "state_quality", "status", "synonym", "tokens", "tombstone", "transaction", "undo", "unrelate",
    "usage", "validate", "verify", "who", "withdraw",
}


def test_the_public_names_are_these():
    assert set(noidtools.__all__) == {
        "Export", "MintedTable", "OpenMinter", "RemoteMinter", "__version__", *FUNCTIONS, *ERRORS, *RESULTS}
    assert noidtools.__all__ == sorted(noidtools.__all__)
    for name in noidtools.__all__:
        assert getattr(noidtools, name) is not None and name in dir(noidtools)
    with pytest.raises(AttributeError):
        noidtools.nothing  # noqa: B018


def test_type_checkers_see_the_same_names():
    tree = ast.parse((ROOT / "noidtools" / "__init__.py").read_text(encoding="utf-8"))
    imported = {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
                for alias in node.names if node.module != "__future__"}
    assert imported == set(noidtools.__all__)


def test_the_methods_of_a_minter_are_these():
    public = {name for name in dir(noidtools.OpenMinter) if not name.startswith("_")}
    assert public == METHODS


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_method_is_documented_and_typed(name):
    member = inspect.getattr_static(noidtools.OpenMinter, name)
    function = member.fget if isinstance(member, property) else member
    assert function.__doc__, f"{name} has no docstring"
    signature = inspect.signature(function)
    assert signature.return_annotation is not signature.empty
    for parameter in list(signature.parameters.values())[1:]:
        assert parameter.annotation is not parameter.empty, f"{name}: {parameter.name}"
        optional = parameter.default is not parameter.empty
        positional = parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        # What may be left out is named, but for the operand that gives the call its meaning.
        operand = parameter.name in ("count", "form", "name", "prefix", "target", "value", "words")
        assert not (optional and positional) or operand, f"{name}: {parameter}"


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_a_result_is_immutable_and_documented(name):
    result = getattr(noidtools, name)
    assert dataclasses.is_dataclass(result) and result.__dataclass_params__.frozen
    assert result.__doc__ and not result.__doc__.startswith(f"{name}(")


@pytest.mark.parametrize(("words", "accepted"), [
    (words.How, [how.decode() for how in HOWS]),
    (words.Term, TERMS),
    (words.SchemeName, schemes.NAMES),
    (words.RelationName, relations.CLAIMED),
    (words.AbstractKind, relations.ABSTRACT_KINDS),
    (words.QualityName, STATABLE),
    (words.RdfFormat, RDF_FORMATS),
    (words.FileFormat, FORMS),
    (words.ImportFormat, READERS),
    (words.MapFormat, maps.FORMS),
    (words.OnConflict, CONFLICTS),
    (words.State, STATES),
    (words.AccessClass, CLASSES),
])
def test_the_types_of_words_have_all_that_are_accepted(words, accepted):
    assert set(typing.get_args(words)) == set(accepted)


def test_every_error_has_a_kind_and_is_one_of_ours():
    assert {name for name, value in vars(errors).items() if isinstance(value, type)
            and issubclass(value, errors.NoidError)} == ERRORS | {
                "LoginNeededError", "NotInstalledError", "TokenNeededError"}
    for name in ERRORS:
        error = getattr(noidtools, name)
        assert issubclass(error, noidtools.NoidError) and isinstance(error.kind, str)


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_importing_the_package_imports_hardly_anything():
    """The shell starts a process for each command, and pays for every module that this imports."""
    code = ("import sys; before = set(sys.modules); import noidtools; "
            "print(*sorted(set(sys.modules) - before - {'__future__'}))")
    assert run(code).split() == ["noidtools"]


def test_an_error_can_be_caught_without_loading_the_interface():
    code = "import sys, noidtools; noidtools.NotFoundError; print({'noidtools.api', 'lmdb'} & {*sys.modules})"
    assert run(code) == "set()\n"


def test_opening_a_minter_loads_neither_the_web_nor_rdf():
    code = ("import sys, tempfile, noidtools\n"
            "with noidtools.create(tempfile.mkdtemp(), '.sd') as minter: minter.bind(minter.mint()[0], 'a', 'b')\n"
            "print(*sys.modules)")
    loaded = run(code).split()
    others = ("rdflib", "jinja2", "granian", "flup", "noidtools.web", "noidtools.server", "noidtools.commands")
    assert [name for name in loaded if name.startswith(others)] == []


CLIENT = """
import noidtools
from noidtools.minter.folder import MinterFolder
from noidtools.web.site import Site

def work(minter: noidtools.OpenMinter) -> list[str]:
    ids: list[str] = minter.mint(3)
    value: str = minter.get(ids[0], "_t")
    raw: bytes = minter.get(ids[0], "_t", raw=True)
    maybe: str | None = minter.get(ids[0], "_t", default=None)
    elements: dict[bytes, bytes] = minter.elements(ids[0], raw=True)
    facts: noidtools.NameDescription = minter.describe(ids[0])
    system: noidtools.MinterDescription = minter.describe()
    number: int = minter.get(ids[0], "_t")  # type: ignore[assignment]
    minter.bind(ids[0], "_t", value, "set")  # type: ignore[call-arg]
    minter.bind(ids[0], "_t", value, how="upsert")  # type: ignore[arg-type]
    minter.mint(elements={"title": "Kant", "cover": b"PNG"}, state="reserved")
    minter.mint(state="withdrawn")  # type: ignore[arg-type]
    minter.queue(ids[0], when="later")  # type: ignore[arg-type]
    minter.queue(ids[0], when=3600)
    minter.set_policy(minting="never")  # type: ignore[arg-type]
    minter.relate(ids[0], "cousin", ids[1], authority="us")  # type: ignore[arg-type]
    minter.describe_rdf(format="csv")  # type: ignore[arg-type]
    minter.export("xlsx")  # type: ignore[arg-type]
    chunks: list[bytes] = list(minter.export("csv", state="published").chunks())
    done: noidtools.ImportResult = minter.import_file("names.csv", "csv", on_conflict="keep", dry_run=True)
    undone: noidtools.BulkChange = minter.undo(done.event)
    secret: str = minter.new_token("robot", ["mint", "bind"])
    minter.new_token("robot", ["own"])  # type: ignore[list-item]
    names: list[str] = [name for name in minter if name in minter]
    sound: bool = bool(minter.check()) and all(minter.check_canaries())
    noidtools.create("f6", term="forever")  # type: ignore[arg-type]
    noidtools.create("f6", scheme="uuid")  # type: ignore[arg-type]
    with minter.transaction():
        resolution = minter.resolve(ids[0])
        resolution.code = 301  # type: ignore[misc]
    try:
        return list(minter.mint_many(1_000_000))
    except noidtools.ExhaustedError as error:
        return [error.kind, error.message]

with noidtools.create("f5", "f5.reedeedk", naan="13030", labels=["ark:/"]) as minter:
    work(minter)
site = Site(MinterFolder("."))
"""


@pytest.mark.slow
def test_a_type_checker_knows_arguments_and_results(tmp_path):
    """Each `type: ignore` stands at a mistake that it must find: in strict mode an unused one is an error."""
    client = tmp_path / "client.py"
    client.write_text(CLIENT)
    command = [sys.executable, "-m", "mypy", "--strict", str(client)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
