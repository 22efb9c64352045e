"""The floor plan of docs/architecture.md, checked on the source: order, cycles, and what each package may know."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import noidtools
from noidtools import schemes, store
from noidtools.commands import call as command_calls
from noidtools.minter import schema
from support.import_graph import Module, changed, find_cycle, read_modules
from support.project import ROOT

# A package may import those before it in this list, never those behind it.
ORDER = (
    "version", "errors", "codec", "times", "dates", "console", "spool", "store", "names", "rules", "schemes", "minter",
    "resolution", "statistics", "transfer", "verification", "description", "search", "preservation", "deployment",
    "commands", "api", "web", "server", "cli", "",
)
# Packages that are pure functions of their arguments: they know no store and no minter.
PURE = ("names", "rules", "schemes")
LONGEST = 600
# The modules that import others by a name from a table, and what may be in that table.
DYNAMIC = {
    "": {home.partition(":")[0] for home in noidtools._HOMES.values()} | {"errors", "description.facts"},
    "store": {module.removeprefix("noidtools.") for module in store.ENGINES.values()},
    "schemes": {f"schemes.{name}" for name in schemes.NAMES},
    "commands.call": {f"commands.{module}" for module in command_calls._CHAPTERS.values()},
}
TABLES = {name for name, value in vars(schema).items() if isinstance(value, bytes) and value in schema.ALL_TABLES}

Modules = dict[str, Module]


@pytest.fixture(scope="module")
def modules() -> Modules:
    return read_modules()


def edges(module: Module) -> set[tuple[str, str]]:
    """What a module imports and how, from tables included."""
    return module.imports | {(name, "dynamic") for name in DYNAMIC.get(module.name, ())}


# -- each rule: what breaks it -------------------------------------------------------------------------------------


def imports_against_the_order(modules: Modules) -> list[str]:
    return [f"{module.name or 'noidtools'} imports {name} ({kind})"
            for module in modules.values() for name, kind in sorted(edges(module))
            if ORDER.index(name.partition(".")[0]) > ORDER.index(module.package)]


def cycle(modules: Modules) -> list[str]:
    """Imports in functions count as well; those for the type checker alone are never carried out."""
    return find_cycle({name: {imported for imported, kind in edges(module) if kind != "type" and imported != name}
                       for name, module in modules.items()})


def computed_imports(modules: Modules) -> list[str]:
    return [f"{module.name} calls {', '.join(module.dynamic)}" for module in modules.values()
            if module.dynamic and module.name not in DYNAMIC]


def tables_outside_the_minter(modules: Modules) -> list[str]:
    outside = [module for module in modules.values() if module.package not in ("minter", "store")]
    imported = [f"{module.name} uses {name} of {of}" for module in outside for of, name in sorted(module.names)
                if of.partition(".")[0] == "minter" and name in TABLES]
    return imported + [call for module in outside for call in module.tables]


def engines_outside_the_store(modules: Modules) -> list[str]:
    return [f"{module.name} imports {name}" for module in modules.values() if module.package != "store"
            for name, _ in sorted(module.imports) if any(in_package(name, engine) for engine in DYNAMIC["store"])]


def lmdb_outside_its_engine(modules: Modules) -> list[str]:
    return [module.name for module in modules.values() if not in_engine(module, "store.lmdb")
            and ("lmdb" in module.external or re.search(r"\w+\.mdb\b", module.source))]


def postgresql_outside_its_engine(modules: Modules) -> list[str]:
    return [module.name for module in modules.values()
            if "psycopg" in module.external and module.name != "store.postgres.connection"
            or not in_engine(module, "store.postgres") and any(in_package(name, "store.postgres")
                                                               for name, _ in module.imports)]


def impure(modules: Modules) -> list[str]:
    return [f"{module.name} imports {name}" for module in modules.values() if module.package in PURE
            for name, _ in edges(module) if name.partition(".")[0] in ("store", "minter")]


def messages_in_words_of_the_shell(modules: Modules) -> list[str]:
    """Refusals that name an option, or a command of the shell elsewhere than in the second argument, which Python
    programs do not show."""
    behind = ORDER.index("deployment")
    found = []
    for module in modules.values():
        if ORDER.index(module.package) >= behind and module.package != "api":
            continue
        for node in ast.walk(ast.parse(module.source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
                texts = [part.value for argument in node.args for part in ast.walk(argument)
                         if isinstance(part, ast.Constant) and isinstance(part.value, str)]
                text = re.sub(r"'[a-z_]+ [^']*'|docker run \S+", "", " ".join(texts))
                fact = ast.unparse(node.args[0]) if node.args else ""
                if re.search(r"(?<![\w-])--?[a-z]+\b|\bsay\b", text) or "'noid " in fact:
                    found.append(f"{module.name}, line {node.lineno}: {text}")
    return found


def in_engine(module: Module, engine: str) -> bool:
    return in_package(module.name, engine)


def in_package(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


# -- the rules hold -------------------------------------------------------------------------------------------------


def test_every_module_is_in_a_package_of_the_floor_plan(modules):
    assert {module.package for module in modules.values()} == set(ORDER)


def test_no_package_imports_one_that_comes_after_it(modules):
    assert imports_against_the_order(modules) == []


def test_imports_form_no_cycle(modules):
    assert cycle(modules) == []


def test_only_the_modules_with_a_table_of_modules_import_by_a_computed_name(modules):
    assert computed_imports(modules) == []
    assert {name for name, module in modules.items() if module.dynamic} == set(DYNAMIC)
    assert set().union(*DYNAMIC.values()) <= set(modules)


def test_only_the_minter_spells_tables(modules):
    assert tables_outside_the_minter(modules) == []


def test_only_the_store_knows_its_engines(modules):
    assert engines_outside_the_store(modules) == []


def test_only_the_package_of_its_engine_knows_lmdb(modules):
    assert lmdb_outside_its_engine(modules) == []
    assert any("lmdb" in module.external for module in modules.values())


def test_only_the_modules_of_its_engine_know_postgresql(modules):
    assert postgresql_outside_its_engine(modules) == []
    assert "psycopg" in modules["store.postgres.connection"].external


def test_only_interfaces_speak_of_their_options(modules):
    """A refusal is read by people at the shell, on the web and in Python programs."""
    assert messages_in_words_of_the_shell(modules) == []


def test_names_rules_and_schemes_are_pure(modules):
    assert impure(modules) == []


def test_modules_hold_one_subject_and_stay_short(modules):
    assert {name: count for name, module in modules.items()
            if (count := len(module.source.splitlines())) > LONGEST} == {}


# -- the page -------------------------------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PATH = r"[\w.-]+/[\w./-]*|[\w-]+\.(?:py|md)"


def place(path: str) -> Path:
    """A file or folder that the page names: in the package, or beside it."""
    return next((there for there in (ROOT / "noidtools" / path, ROOT / path) if there.exists()), ROOT / path)


def test_every_path_on_the_page_exists():
    named = set(re.findall(rf"`({PATH})`", PAGE)) - {"Dbdir/NOID/"}
    assert len(named) > 80
    assert [path for path in sorted(named) if not place(path).exists()] == []


def test_what_the_page_says_to_be_in_a_file_is_there():
    named = set(re.findall(rf"`([\w.]+)` in `({PATH})`", PAGE))
    assert len(named) > 10
    assert [f"{name} in {path}" for name, path in sorted(named) if place(path).is_file()
            and not re.search(rf"\b{name.rpartition('.')[2]}\b", place(path).read_text(encoding="utf-8"))] == []


def test_the_page_lists_the_packages_in_their_order():
    (section,) = re.findall(r"^## The packages\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    listed = [name for item in re.findall(r"^- ([^:]*):", section, re.MULTILINE)
              for name in re.findall(r"`(\w+)/?`", item)]
    assert set(listed) == set(ORDER) - {""}
    packages = [name for name in ORDER if (ROOT / "noidtools" / name).is_dir() and name]
    assert [name for name in listed if name in packages] == packages


# -- whatever breaks a rule is seen ---------------------------------------------------------------------------------

VIOLATIONS = {
    "a full name in a function": ("codec", "def f():\n    import noidtools.web.site", imports_against_the_order),
    "a full name after from": ("codec", "from noidtools.cli import noid", imports_against_the_order),
    "a relative name in a function": ("codec", "def f():\n    from .web import site", imports_against_the_order),
    "a relative name in a coroutine": ("codec", "async def f():\n    from . import web", imports_against_the_order),
    "a name for the type checker": ("codec", "if TYPE_CHECKING:\n    from .web import site", imports_against_the_order),
    "__import__": ("codec", "def f():\n    return __import__('noidtools.web.site')", computed_imports),
    "import_module": ("codec", "from importlib import import_module", computed_imports),
    "importlib.import_module": ("codec", "import importlib\nimportlib.import_module('x')", computed_imports),
    "__import__ of lmdb": ("resolution.maps", "def f():\n    return __import__('lmdb')", computed_imports),
    "a cycle in functions": ("resolution.lookup", "def f():\n    from . import maps", cycle),
    "a cycle by full names": ("resolution.lookup", "def f():\n    import noidtools.resolution.catalogue", cycle),
    "a cycle beside the type checker": (
        "resolution.lookup", "if TYPE_CHECKING:\n    pass\nelse:\n    from . import maps", cycle),
    "a cycle by the table of commands": ("commands.help", "from .call import all_commands", cycle),
    "a cycle by the table of engines": ("store.lmdb", "from .. import open_store", cycle),
    "a cycle by the table of schemes": ("schemes.noid", "from . import scheme_for", cycle),
    "a cycle by the public names": ("description.facts", "def f():\n    import noidtools", cycle),
    "a table as a byte": ("resolution.maps", "def f(r):\n    return r.get(b'i', b'x')", tables_outside_the_minter),
    "tables as bytes": ("resolution.maps", "def f(r):\n    return r.get_many([(b'i', b'x')])",
                        tables_outside_the_minter),
    "a table as a constant": ("resolution.maps", "T = b'i'\n\ndef f(r):\n    return r.scan(T)",
                              tables_outside_the_minter),
    "a table of the list": ("resolution.maps", "from ..minter.schema import IDS", tables_outside_the_minter),
    "a table through another module": ("resolution.maps", "from ..minter.circulation import IDS",
                                       tables_outside_the_minter),
    "a table as an attribute": ("resolution.maps", "from ..minter import circulation\nT = circulation.IDS",
                                tables_outside_the_minter),
    "lmdb": ("resolution.maps", "def f():\n    import lmdb", lmdb_outside_its_engine),
    "a file of lmdb": ("resolution.maps", "NAME = 'data.mdb'", lmdb_outside_its_engine),
    "an engine": ("resolution.maps", "from ..store.lmdb import database", engines_outside_the_store),
    "an engine in a function": ("minter.config", "def f():\n    import noidtools.store.postgres.writer",
                                engines_outside_the_store),
    "psycopg": ("store.postgres.writer", "import psycopg", postgresql_outside_its_engine),
    "postgres in another engine": ("store.lmdb", "from ..postgres import source", postgresql_outside_its_engine),
    "a store in a pure package": ("names.targets", "import noidtools.store", impure),
}


@pytest.mark.parametrize(("name", "addition", "rule"), VIOLATIONS.values(), ids=VIOLATIONS)
def test_what_breaks_a_rule_is_found(modules, name, addition, rule):
    assert rule(changed(modules, name, addition))
