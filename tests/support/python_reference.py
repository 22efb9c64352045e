"""The reference page of the Python interface, made from its source.

    python -m tests.support.python_reference

prints it; docs/site_pages.py puts it on the site.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator

import noidtools
from noidtools.api import minter as words
from noidtools.api.administration import AdministrationMethods
from noidtools.api.minter import BindingMethods, MinterBase, MintingMethods
from noidtools.api.names import NameMethods

_WIDTH = 118
_INTRODUCTION = """\
# Python reference

All functions, methods and results of `import noidtools`, with their types. [Python API](python-api.md) explains them
with examples. This page is made from the source.

`Text` is `str | bytes`, `Path` is `str | os.PathLike[str]`, and `Moment` is a `date`, a `datetime`, or text such as
`2026-11-16`. The words that an argument accepts are `Literal` types of `noidtools.api.minter`:

"""
# What each command is in Python.
_COMMANDS = """\
## Commands

`import_minter`, `copy`, `create` and `restore` are functions of `noidtools`, the others methods of an open minter:

| command | in Python |
|---|---|
| `dbcreate` | `create` |
| `mint`, `peppermint` | `mint`, `peppermint`, `mint_many` |
| `bind` | `bind`, `bind_many` |
| `get`, `fetch` | `get`, `elements`, `items`, `fetch`, `rules` |
| `identify` | `identify` |
| `hold` | `hold`, `release` |
| `queue` | `queue`, `dequeue` |
| `validate` | `validate` |
| `decode`, `path` | `decode`, `path` |
| `granularity`, `patience`, `clock` | `set_timing`, `reset_clock`; `info` has their values |
| `resolve` | `resolve` |
| `resolver` | `resolver`, `set_resolver`, `set_cache`, `set_passthrough`, `set_canary`, `remove_canary` |
| `canary` | `check_canaries` |
| `publish`, `reserve`, `unavailable`, `withdraw` | `publish`, `reserve`, `make_unavailable`, `withdraw` |
| `tombstone` | `tombstone`, `amend_tombstone` |
| `alias` | `alias`, `remove_alias` |
| `synonym`, `relate` | `synonym`, `remove_synonym`, `relate`, `unrelate` |
| `abstract` | `declare_abstract`, `remove_abstract`, `abstract_names` |
| `prefer` | `prefer`, `remove_preference` |
| `relations` | `relations` |
| `quality` | `state_quality`, `remove_quality`, `qualities` |
| `verify`, `links` | `verify`, `link_reports` |
| `cite`, `same` | `cite`, `same` |
| `context`, `site` | `context`, `set_context`, `claim_context`, `remove_context_claim` |
| `custodian` | `custodian`, `present_custodians`, `custodians`, `set_custodian`, `remove_custodian` |
| `describe` | `describe`, `describe_rdf` |
| `history`, `log` | `history`, `log` |
| `dbinfo`, `status`, `note`, `stats` | `info`, `status`, `note`, `usage` |
| `policy`, `promise` | `policy`, `set_policy` |
| `token` | `tokens`, `new_token`, `revoke_token` |
| `export` | `export`, `export_map` |
| `import`, `rebind` | `import_file`, `mint_table`, `rebind`, `import_minter` |
| `retarget`, `undo` | `retarget`, `undo` |
| `backup`, `restore`, `copy` | `backup`, `restore`, `copy` |
| `check` | `check` |
| `find`, `list` | `find`, `names`, or the minter itself in a `for` statement |
| | `transaction`, `close`, `closed`, `who` |

The other commands are for people at the shell: `help`, `hello`, `schemes`, `route`, `resolve-loop`, `serve`, `setup`,
`doctor`, `naans`, `bundle`, `depart`, `succeed`, `sql`, `completion`.

"""

_TITLES = {
    MinterBase: "An open minter", MintingMethods: "Identifiers", BindingMethods: "Bindings and resolution",
    NameMethods: "Names, relations, qualities, custodians and descriptions", AdministrationMethods: "Administration",
    noidtools.RemoteMinter: "A minter on another machine",
}


def reference() -> str:
    """The page, in Markdown."""
    parts = [_INTRODUCTION + _block(*_literals()), _COMMANDS + "## Functions\n"]
    parts += [_function(name) for name in sorted(noidtools.__all__) if inspect.isfunction(getattr(noidtools, name))]
    for group, title in _TITLES.items():
        parts += [f"## {title}\n", *_methods(group)]
    parts.append("## Results\n")
    return "\n".join([*parts, *(_result(name) for name in sorted(noidtools.__all__) if name[0].isupper()
                                and not name.endswith(("Error", "OpenMinter", "RemoteMinter")))])


def _literals() -> list[str]:
    return [wrapped for node in _tree(words).body if isinstance(node, ast.Assign)
            and ast.unparse(node.value).startswith("Literal[")
            for wrapped in _wrapped(ast.unparse(node).replace("'", '"'))]


def _function(name: str) -> str:
    source = getattr(noidtools, name)
    module = inspect.getmodule(source)
    (node,) = [node for node in _tree(module).body
               if isinstance(node, ast.FunctionDef) and node.name == source.__name__]
    return _callable(name, f"noidtools.{name}", [node])


def _methods(group: type) -> Iterator[str]:
    """The methods of a class, in the order of its source; one with several signatures once."""
    (body,) = [node.body for node in _tree(group).body if isinstance(node, ast.ClassDef)]
    named: dict[str, list[ast.FunctionDef]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            named.setdefault(node.name, []).append(node)
    for name, nodes in named.items():
        remote = group is noidtools.RemoteMinter
        yield _callable(f"remote.{name}" if remote else name, f"{'remote' if remote else 'minter'}.{name}", nodes)


def _callable(title: str, call: str, nodes: list[ast.FunctionDef]) -> str:
    doc = ast.get_docstring(nodes[-1]) or ""
    signatures = []
    for node in nodes[:-1] or nodes:
        attribute = any(ast.unparse(decorator) == "property" for decorator in node.decorator_list)
        node.args.args = [argument for argument in node.args.args if argument.arg != "self"]
        arguments = "" if attribute else f"({ast.unparse(node.args)})"
        result = ast.unparse(node.returns) if node.returns else ""
        signatures += _wrapped(f"{call}{arguments} -> {result}".replace("'", '"'))
    return f"### {title}\n\n{_block(*signatures, '', *textwrap.indent(doc, '    ').splitlines())}"


def _result(name: str) -> str:
    source = getattr(noidtools, name)
    (node,) = [node for node in _tree(source).body if isinstance(node, ast.ClassDef)]
    fields = [f"{each.target.id}: {ast.unparse(each.annotation)}" for each in node.body
              if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
    doc, signature = textwrap.indent(ast.get_docstring(node) or "", "    "), f"{name}({', '.join(fields)})"
    return f"### {name}\n\n{_block(*_wrapped(signature), '', *doc.splitlines())}"


def _tree(source: object) -> ast.Module:
    return ast.parse(textwrap.dedent(inspect.getsource(source)))  # type: ignore[arg-type]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _block(*lines: str) -> str:
    return "\n".join(["```text", *lines, "```", ""])


if __name__ == "__main__":
    sys.stdout.write(reference())
