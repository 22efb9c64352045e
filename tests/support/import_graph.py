"""What each module of the package imports, and how it calls the store, read from the source.

An import may be written in a function, with the full name of the package, or carried out by `__import__` with a name
from a table; the edges of the graph are the same for all of these.
"""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "noidtools"
# Ways to import a module by a name that is computed.
_IMPORTERS = {"__import__", "import_module", "reload", "run_module", "run_path", "exec", "eval"}
# What readers, writers and stores are asked for by table, as in `reader.get(TABLE, key)`.
_STORE_METHODS = {"get", "get_many", "scan", "put", "put_many", "delete", "delete_prefix"}


class Module:
    """A module of the package.

    name      with dots, without the name of the package; empty for the package itself
    imports   (module of the package, kind), kind being top, lazy or type
    names     (module of the package, name taken from it)
    external  the top-level modules imported from elsewhere
    dynamic   the functions it calls that import a module by a computed name
    tables    calls of the store with a table that is spelled as one byte
    source    its text
    """

    def __init__(self, path: Path, known: set[str], source: str = "") -> None:
        self.name = dotted(path)
        self.source = source or path.read_text(encoding="utf-8")
        self.imports: set[tuple[str, str]] = set()
        self.names: set[tuple[str, str]] = set()
        self.external: set[str] = set()
        self.dynamic: set[str] = set()
        self.tables: list[str] = []
        self._is_package = path.name == "__init__.py"
        self._known = known
        tree = ast.parse(self.source)
        # Local name -> module of the package.
        self._modules: dict[str, str] = {}
        self._bytes = {target.id for node in tree.body if isinstance(node, ast.Assign) and _is_one_byte(node.value)
                       for target in node.targets if isinstance(target, ast.Name)}
        self._visit(tree, "top")

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]

    def _visit(self, node: ast.AST, kind: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
                for part, of in ((child.body, "type"), (child.orelse, kind)):
                    self._visit(ast.Module(part, []), of)
                continue
            self._record(child, kind)
            lazy = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and kind == "top"
            self._visit(child, "lazy" if lazy else kind)

    def _record(self, node: ast.AST, kind: str) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._add(alias.name.split("."), None, alias.asname or "", kind)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self._add(self._base(node), alias.name, alias.asname or alias.name, kind)
        elif isinstance(node, ast.Call):
            self._record_call(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self._modules:
            self.names.add((self._modules[node.value.id], node.attr))

    def _base(self, node: ast.ImportFrom) -> list[str]:
        """The full name of the module from which a statement imports."""
        given = node.module.split(".") if node.module else []
        if not node.level:
            return given
        here = [PACKAGE.name, *(self.name.split(".") if self.name else [])]
        here = here if self._is_package else here[:-1]
        return here[: len(here) - node.level + 1] + given

    def _add(self, base: list[str], name: str | None, local: str, kind: str) -> None:
        if base[0] != PACKAGE.name:
            self.external.add(base[0])
            if base[0] == "importlib" and name in _IMPORTERS:
                self.dynamic.add(name)
            return
        module = ".".join(base[1:])
        whole = ".".join([*base[1:], name]) if name else module
        if name and whole not in self._known:
            self.imports.add((module, kind))
            self.names.add((module, name))
        else:
            self.imports.add((whole, kind))
            self._modules[local] = whole

    def _record_call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in _IMPORTERS:
            self.dynamic.add(called)
        if isinstance(node.func, ast.Attribute) and called in _STORE_METHODS:
            spelled = [part for argument in node.args[:1] for part in _tables(argument) if self._is_table(part)]
            # A dictionary, too, may have a byte as a key: `d.get(b"x")` has no second argument.
            if spelled and (len(node.args) > 1 or called in ("get_many", "scan")):
                self.tables.append(f"{self.name}:{node.lineno}: {ast.unparse(node)}")

    def _is_table(self, node: ast.expr) -> bool:
        return _is_one_byte(node) or isinstance(node, ast.Name) and node.id in self._bytes


def _tables(argument: ast.expr) -> list[ast.expr]:
    """The expressions in the first argument of a call that may be tables: itself, or the first of each pair in it."""
    pairs = [node for node in ast.walk(argument) if isinstance(node, ast.Tuple) and node.elts]
    return [argument, *(pair.elts[0] for pair in pairs)]


def _is_one_byte(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bytes) and len(node.value) == 1


def dotted(path: Path) -> str:
    """The name of the module in a file, without that of the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_modules() -> dict[str, Module]:
    """All modules of the package by name."""
    paths = sorted(PACKAGE.rglob("*.py"))
    known = {dotted(path) for path in paths}
    return {module.name: module for module in (Module(path, known) for path in paths)}


def changed(modules: dict[str, Module], name: str, addition: str) -> dict[str, Module]:
    """The same modules, with a text added at the end of one."""
    path = PACKAGE.joinpath(*name.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return modules | {name: Module(path, set(modules), f"{modules[name].source}\n\n{addition}\n")}


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of a cycle, the first again at the end; empty if there is none."""
    finished: set[str] = set()

    def search(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in finished:
            for imported in sorted(graph[name]):
                if found := search(imported, [*path, name]):
                    return found
            finished.add(name)
        return []

    return next((found for name in graph if (found := search(name, []))), [])
