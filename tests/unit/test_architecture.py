"""The floor plan of docs/architecture.md, checked on the source: order, cycles, and what each package may know."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "noidtools"
# A package may import those before it in this list, never those behind it.
ORDER = (
    "version", "errors", "codec", "clock", "console", "store", "names", "rules", "schemes", "minter", "resolution",
    "verification", "description", "commands", "api", "web", "server", "cli", "",
)
# Packages that are pure functions of their arguments: they know no store and no minter.
PURE = ("names", "rules", "schemes")
LONGEST = 400


class Module:
    """A module of the package, and what it imports: (imported module, kind), kind being top, lazy or type."""

    def __init__(self, path: Path, known: set[str]) -> None:
        self.name = _dotted(path)
        self._is_package = path.name == "__init__.py"
        self._known = known
        self.imports: set[tuple[str, str]] = set()
        self.external: set[str] = set()
        self._visit(ast.parse(path.read_text(encoding="utf-8")), "top")

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]

    def _visit(self, node: ast.AST, kind: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = kind
            if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
                inner = "type"
            elif isinstance(child, (ast.FunctionDef, ast.Lambda)) and kind == "top":
                inner = "lazy"
            elif isinstance(child, ast.ImportFrom):
                self._add(child, kind)
            elif isinstance(child, ast.Import):
                self.external.update(alias.name.partition(".")[0] for alias in child.names)
            self._visit(child, inner)

    def _add(self, node: ast.ImportFrom, kind: str) -> None:
        if not node.level:
            self.external.add((node.module or "").partition(".")[0])
            return
        parts = self.name.split(".") if self.name else []
        parts = parts if self._is_package else parts[:-1]
        parts = parts[: len(parts) - node.level + 1] + (node.module.split(".") if node.module else [])
        base = ".".join(parts)
        for alias in node.names:
            whole = f"{base}.{alias.name}" if base else alias.name
            self.imports.add((whole if whole in self._known else base, kind))


def _dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    paths = sorted(PACKAGE.rglob("*.py"))
    known = {_dotted(path) for path in paths}
    return {module.name: module for module in (Module(path, known) for path in paths)}


def test_every_module_is_in_a_package_of_the_floor_plan(modules):
    assert {module.package for module in modules.values()} == set(ORDER)


def test_no_package_imports_one_that_comes_after_it(modules):
    wrong = [
        f"{module.name or 'noidtools'} imports {name} ({kind})"
        for module in modules.values() for name, kind in sorted(module.imports)
        if ORDER.index(name.partition(".")[0]) > ORDER.index(module.package)
    ]
    assert not wrong, "\n".join(wrong)


def test_imports_form_no_cycle(modules):
    """Imports in functions count as well; those for the type checker alone are never carried out."""
    graph = {
        name: {imported for imported, kind in module.imports if kind != "type" and imported != name}
        for name, module in modules.items()
    }
    finished: set[str] = set()

    def search(name: str, path: list[str]) -> None:
        if name in path:
            pytest.fail("a cycle: " + " -> ".join([*path[path.index(name) :], name]))
        if name not in finished:
            for imported in sorted(graph[name]):
                search(imported, [*path, name])
            finished.add(name)

    for name in graph:
        search(name, [])


def test_only_the_minter_spells_tables(modules):
    outside = [module.name for module in modules.values() if module.package != "minter"
               and any(name == "minter.tables" for name, _ in module.imports)]
    assert not outside


def test_only_the_modules_of_its_engine_know_lmdb(modules):
    knowing = {module.name for module in modules.values() if "lmdb" in module.external}
    engine = {"store.lmdb", "store.lmdb_backup", "store.lmdb_files"}
    assert knowing == engine
    spelled = [path for path in PACKAGE.rglob("*.py") if re.search(r"\w+\.mdb\b", path.read_text(encoding="utf-8"))]
    assert {_dotted(path) for path in spelled} <= engine


def test_names_rules_and_schemes_are_pure(modules):
    wrong = [f"{module.name} imports {name}" for module in modules.values() if module.package in PURE
             for name, _ in module.imports if name.partition(".")[0] in ("store", "minter")]
    assert not wrong


def test_modules_hold_one_subject_and_stay_short():
    long = {_dotted(path): count for path in PACKAGE.rglob("*.py")
            if (count := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST}
    assert not long
