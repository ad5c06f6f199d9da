"""Mutants: small changes of a module's text, each of which a test ought to notice.

A mutant replaces one expression or statement by another. Messages, annotations, decorators and assertions are left
alone: they say something, or say it again, but decide nothing.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
ORDERED = (ast.Sub, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift)
"""Operators whose operands may not be swapped."""

Node = ast.expr | ast.stmt


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the lines at `line` of `file`, in `function`, before and after it; `source` is the whole text."""

    file: str
    function: str
    line: int
    before: str
    after: str
    source: str

    @property
    def key(self) -> str:
        """Its name, which other changes of the file do not alter."""
        return f"{self.file} {self.function}: {self.before} => {self.after}"


def mutants(file: str, source: str) -> list[Mutant]:
    """Return every mutant of a module; the text of none is that of another."""
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Mutant] = []
    seen: Counter[str] = Counter()
    for function, node, new in _changes(ast.parse(source), "<module>"):
        assert node.end_lineno is not None and node.end_col_offset is not None
        first, last = starts[node.lineno - 1], starts[node.end_lineno]
        begin, end = first + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        planted = ast.unparse(ast.fix_missing_locations(new))
        if not isinstance(node, ast.stmt | ast.Constant):
            planted = f"({planted})"
        before = " ".join(text[first:last].decode().split())
        after = " ".join((text[first:begin] + planted.encode() + text[end:last]).decode().split())
        key = f"{file} {function}: {before} => {after}"
        seen[key] += 1
        if seen[key] > 1:
            after += f"  # {seen[key]}"
        whole = (text[:begin] + planted.encode() + text[end:]).decode()
        found.append(Mutant(file, function, node.lineno, before, after, whole))
    return found


def _changes(node: ast.AST, function: str, returns: str = "") -> Iterator[tuple[str, Node, Node]]:
    """Yield (function, what stands there, what is planted) for a node and all below it."""
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.Raise() | ast.Import() | ast.ImportFrom():
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            returns = ast.unparse(node.returns) if node.returns is not None else ""
            below: list[ast.AST] = [*node.args.defaults, *(d for d in node.args.kw_defaults if d), *node.body]
            for child in below:
                yield from _changes(child, node.name, returns)
            return
        case ast.ClassDef():
            below = list(node.body)
        case ast.AnnAssign():
            below = [node.value] if node.value is not None and "TypeAlias" not in ast.unparse(node.annotation) else []
        case ast.Call(func=ast.Name(id="cast" | "TypeVar" | "field" | "SwizzleError" | "dataclass")):
            return
        case _:
            below = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.expr):
        yield from ((function, node, new) for new in _expressions(node))
    if isinstance(node, ast.stmt):
        yield from ((function, node, new) for new in _statements(node, returns))
    yield from ((function, test, _negated(test)) for test in _conditions(node))
    for child in below:
        yield from _changes(child, function, returns)


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    new = copy.deepcopy(node)
                    new.ops[i] = other()
                    yield new
        case ast.BinOp(op=op, left=left, right=right) if not _is_text(left) and not _is_type(node):
            if type(op) in ARITHMETIC:
                yield ast.BinOp(left, ARITHMETIC[type(op)](), right)
            if isinstance(op, ORDERED):
                yield ast.BinOp(right, op, left)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for i in range(len(values)):
                kept = values[:i] + values[i + 1 :]
                yield kept[0] if len(kept) == 1 else ast.BoolOp(op, kept)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.Call(args=[first, second, *rest]) if not any(isinstance(a, ast.Starred) for a in (first, second)):
            if ast.unparse(first) != ast.unparse(second):
                yield ast.Call(node.func, [second, first, *rest], node.keywords)
        case _:
            return


def _statements(node: ast.stmt, returns: str) -> Iterator[ast.stmt]:
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            if returns == "bool":
                yield ast.Return(ast.Constant(True))
                yield ast.Return(ast.Constant(False))
            if returns.endswith("| None"):
                yield ast.Return(ast.Constant(None))
        case _:
            return


def _conditions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield conditions that no other change negates."""
    tests: list[ast.expr] = []
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            tests = [test]
        case ast.comprehension(ifs=ifs):
            tests = ifs
        case ast.match_case(guard=guard) if guard is not None:
            tests = [guard]
        case _:
            pass
    for test in tests:
        single = isinstance(test, ast.Compare) and len(test.ops) == 1
        if not single and not isinstance(test, ast.Constant | ast.UnaryOp):
            yield test


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_type(node: ast.BinOp) -> bool:
    """Say whether `|` joins types, as in `isinstance(x, A | B)`."""
    names = [part for part in (node.left, node.right) if isinstance(part, ast.Name | ast.Attribute)]
    last = [ast.unparse(part).rsplit(".", 1)[-1] for part in names]
    return isinstance(node.op, ast.BitOr) and any(name[:1].isupper() and not name.isupper() for name in last)
