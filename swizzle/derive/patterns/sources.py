"""The part of a user's file that a specification needs: its functions, constants and imports, as they stand there."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from pathlib import Path

from swizzle.sketches.swz_file import parsed_swz
from symbolic.errors import SwizzleError
from symbolic.files import file_text


def needed_text(path: str, names: Iterable[str]) -> str:
    """Return the statements of a file's top level that some names need, in their order, as the file has them."""
    text = file_text(Path(path))
    tree = parsed_swz(text, path)[0] if path.endswith(".swz") else ast.parse(text)
    defined: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for name in _defines(node):
            defined.setdefault(name, []).append(node)
    wanted = {node.lineno: node for node in defined.get("*", ())}
    waiting = list(names)
    imported: dict[int, set[str]] = {}
    seen = set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or (name not in defined and hasattr(builtins, name)):
            continue
        seen.add(name)
        for node in defined.get(name, ()):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imported.setdefault(node.lineno, set()).add(name)
            if node.lineno not in wanted:
                wanted[node.lineno] = node
                waiting += _reads(node)
    lines = []
    for line, node in sorted(wanted.items()):
        if isinstance(node, ast.Import | ast.ImportFrom):
            known = imported.get(line, set())
            kept = [each for each in node.names if (each.asname or each.name.split(".")[0]) in {*known, "*"}]
            lines.append(ast.unparse(type(node)(**{**dict(ast.iter_fields(node)), "names": kept})))
        else:
            lines.append(("\n\n" if isinstance(node, ast.FunctionDef) else "") + _segment(text, node))
    return "\n".join(lines).strip("\n") + "\n"


def _defines(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.split(".")[0] for alias in aliases)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))
        case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try():
            for each in ast.iter_child_nodes(node):
                inner = each.body if isinstance(each, ast.ExceptHandler) else [each]
                for stmt in inner:
                    if isinstance(stmt, ast.stmt):
                        yield from _defines(stmt)
                    else:
                        yield from (x.id for x in ast.walk(stmt) if isinstance(x, ast.Name) and _stores(x))


def _stores(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _reads(node: ast.stmt) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))


def _segment(text: str, node: ast.stmt) -> str:
    lines = text.splitlines()
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    found = "\n".join(lines[first - 1 : node.end_lineno])
    if not found:
        raise SwizzleError("a file that has changed while it was read", expected="one that stays", fix="try again")
    return found
