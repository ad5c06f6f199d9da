"""A kernel with loops, read as a backbone: each of its statements gets a nest of its own.

The kernel is an ordinary sketch of one thread. So the front end has looked at its text before, and what is refused here
is only what a schedule cannot be made for.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NoReturn

from msgspec import Struct, field
from msgspec.structs import replace

from swizzle.derive.schedules.backbone import Backbone, BackboneArray, Statement, default_sizes, tiled, with_divisors
from swizzle.language.source.kernel_source import Source
from swizzle.sketches.sketch import Sketch

_LOOPS: Final = "`for i in range(N)`, with a parameter, or a number that is no parameter's"
SHORT: Final = 32
"""A loop of so many trips, which are a number, is not strip-mined."""
_STATEMENTS: Final = "accumulators, their `accumulate`, `v = ...` and `y[i] = ...` in loops"

_ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv
}  # fmt: skip
Sizes = Mapping[str, tuple[tuple[int, ...], ...]]


def backbone_of(
    sketch: Sketch,
    source: Source,
    definition: ast.FunctionDef,
    numbers: Mapping[str, int],
    constants: Mapping[str, int],
    sizes: Sizes | None = None,
) -> Backbone:
    """Return the backbone of a kernel with loops, for one thread.

    Args:
        sketch: the kernel.
        source, definition: its text.
        numbers: the values of its parameters.
        constants: the other numbers that its file names.
        sizes: for loops by name the sizes of their inner levels, the outer ones first, in place of the usual ones.

    Raises:
        SwizzleError: a statement that is none of the above, or a loop that is not over a range of one length.
    """
    program = sketch.program
    if program.block != (1, 1, 1) or program.grid != (1, 1, 1):
        source.mistake(
            definition,
            f"{sketch.name} has a block of {program.block} and a grid of {program.grid} threads, and no choices",
            "choices, or a kernel of one thread, with loops: which of them are threads and blocks the search decides",
            'declare a choice, `V = choice("V", (1, 2, 4))`, or write loops over all outputs, with `block=1`',
        )
    arguments = {
        keyword.arg: ast.unparse(keyword.value)
        for decorator in definition.decorator_list
        if isinstance(decorator, ast.Call)
        for keyword in decorator.keywords
        if keyword.arg not in (None, "spec", "block", "grid")
    }
    arrays = {
        parameter.name: BackboneArray(
            arguments[parameter.name].split("[")[0].split(".")[0],
            parameter.shape,
            parameter.role not in ("in", "const", "by_value"),
        )
        for parameter in program.parameters
        if parameter.shape
    }
    reader = _Reader(sketch.name, source, dict(numbers), dict(constants), arrays)
    reader.read(definition.body)
    return reader.backbone({name: arguments[name] for name in (a.arg for a in definition.args.args)}, sizes or {})


class _Reader(Struct):
    name: str
    source: Source
    numbers: dict[str, int]
    constants: dict[str, int]
    arrays: dict[str, BackboneArray]
    lengths: dict[str, tuple[str, int, ast.For]] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    loops: list[str] = field(default_factory=list)
    meaning: dict[str, ast.expr] = field(default_factory=dict)
    """What the kernel's names stand for: loops by their own names, values by their statements'."""
    accumulators: dict[str, str] = field(default_factory=dict)
    """The accumulation of each accumulator; before there is one, where it begins."""

    def refuse(self, node: ast.AST, found: str, expected: str = _STATEMENTS) -> NoReturn:
        self.source.mistake(node, found, expected, "write it so, or choose the kernel's shape yourself, in a sketch")

    def read(self, body: Sequence[ast.stmt]) -> None:
        for stmt in body:
            match stmt:
                case ast.For(
                    ast.Name(variable), ast.Call(ast.Name("range"), [length] | [ast.Constant(0), length] | [
                        ast.Constant(0), length, ast.Constant(1)
                    ])
                ):  # fmt: skip
                    self.loop(stmt, variable, length)
                case ast.For():
                    self.refuse(stmt.iter, "a loop of another form", _LOOPS)
                case ast.Assign([ast.Name(name)], ast.Call(func=ast.Name("accumulator")) as call):
                    self.begin(stmt, name, call)
                case ast.Assign([ast.Name(name)], value):
                    self.compute(stmt, name, value)
                case ast.Assign([ast.Subscript(ast.Name(array)) as target], value):
                    self.store(target, array, value)
                case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "accumulate"), operands, [])):
                    self.accumulate(stmt, name, operands)
                case ast.Expr(ast.Constant()) | ast.Pass():
                    pass
                case _:
                    self.refuse(stmt, "a statement that no schedule is made for")

    def loop(self, stmt: ast.For, variable: str, length: ast.expr) -> None:
        match length:
            case ast.Name(name) if name in self.numbers:
                extent = self.numbers[name]
            case _:
                extent = constant(length, self.constants) or 0
                if extent <= 0:
                    self.refuse(length, f"a loop to `{ast.unparse(length)}`", _LOOPS)
        own = self.fresh_loop(variable)
        text = ast.unparse(length) if isinstance(length, ast.Name) else str(extent)
        self.lengths[own] = text, extent, stmt
        outer = self.meaning.get(variable)
        self.meaning[variable] = ast.Name(own)
        self.loops.append(own)
        self.read(stmt.body)
        self.loops.pop()
        self.meaning.pop(variable)
        if outer is not None:
            self.meaning[variable] = outer

    def fresh_loop(self, variable: str) -> str:
        """Return a name for a loop, none of whose levels has the name of another loop or level: `k`, then `kb`."""
        taken: set[str] = {*self.arrays, *(name for loop in self.lengths for name in (loop, *_levels(loop)))}
        suffixes: list[str] = ["", *"bcdefgh", *(f"_{n}_" for n in range(len(taken) + 1))]
        for suffix in suffixes:
            if not taken & {variable + suffix, *_levels(variable + suffix)}:
                return f"{variable}{suffix}"
        raise AssertionError("more names are tried than are taken")

    def fresh(self, name: str) -> str:
        known = {*self.lengths, *self.arrays, *(statement.name for statement in self.statements)}
        return (
            name
            if name not in known
            else next(f"{name}_{n}" for n in range(2, len(known) + 3) if f"{name}_{n}" not in known)
        )

    def begin(self, stmt: ast.stmt, name: str, call: ast.Call) -> None:
        if any(keyword.arg == "shape" for keyword in call.keywords):
            self.refuse(stmt, "an array of accumulators", "one accumulator where its sum begins")
        own = self.fresh(f"begin_{name}")
        self.accumulators[name] = own
        self.add(Statement(own, "begin", tuple(self.loops), array=name, text=ast.unparse(call)))

    def accumulate(self, stmt: ast.stmt, name: str, operands: list[ast.expr]) -> None:
        begin = self.accumulators.get(name)
        if begin is None or not begin.startswith("begin_"):
            self.refuse(stmt, f"{name} accumulates a second time" if begin else f"{name} is no accumulator")
        reads, text = self.expressions(operands)
        own = self.fresh(f"sum_{name}")
        self.accumulators[name] = own
        self.add(Statement(own, "accumulate", tuple(self.loops), (begin, *reads), array=name, text=text))

    def compute(self, stmt: ast.stmt, name: str, value: ast.expr) -> None:
        reads, text = self.expressions([value])
        if name in self.arrays or name in self.numbers:
            self.refuse(stmt, f"{name} is assigned, and is more than a variable")
        if name in self.meaning or name in self.accumulators:
            self.refuse(
                stmt, f"{name} is assigned a second time", "a variable is assigned once; a sum is an accumulator"
            )
        known = [self.dtype(read) for read in reads]
        if not known:
            self.refuse(stmt, f"{name} is made of no array's elements")
        own = self.fresh(f"make_{name}")
        self.meaning[name] = ast.Name(own)
        loops = self.loops_of(reads, text)
        self.add(Statement(own, "compute", loops, reads, text=text, dtype=known[0]))

    def store(self, target: ast.Subscript, array: str, value: ast.expr) -> None:
        if array not in self.arrays or not self.arrays[array].written:
            self.refuse(target, f"{array} is no output")
        reads, text = self.expressions([value])
        if missing := set(self.loops) - set(self.loops_of((), ast.unparse(self.named(target.slice)))):
            self.refuse(
                target,
                f"an element of {array} that is the same for all {', '.join(sorted(missing))}",
                "one store of each element",
            )
        self.add(
            Statement(self.fresh(f"store_{array}"), "store", tuple(self.loops), reads, array, self.index(target), text)
        )

    def add(self, statement: Statement) -> None:
        self.statements.append(statement)

    def dtype(self, name: str) -> str:
        statement = next(other for other in self.statements if other.name == name)
        if statement.dtype:
            return statement.dtype
        begin = next(o for o in self.statements if o.kind == "begin" and o.array == statement.array)
        call = ast.parse(begin.text, mode="eval").body
        assert isinstance(call, ast.Call)
        return ast.unparse(call.args[0])

    def named(self, expr: ast.expr) -> ast.expr:
        """Return an expression over loops and statements by their own names."""
        renamed: ast.expr = _Renamed(self.meaning).visit(_copied(expr))
        return renamed

    def index(self, target: ast.Subscript) -> tuple[str, ...]:
        indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        return tuple(ast.unparse(self.named(index)) for index in indices)

    def loops_of(self, reads: Sequence[str], text: str) -> tuple[str, ...]:
        """Return the loops that a value depends on, in the order of the kernel's."""
        names = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
        for read in reads:
            statement = next(other for other in self.statements if other.name == read)
            names |= set(statement.loops if statement.kind != "accumulate" else self.begun(statement).loops)
        return tuple(loop for loop in self.lengths if loop in names)

    def begun(self, statement: Statement) -> Statement:
        return next(other for other in self.statements if other.name == statement.reads[0])

    def expressions(self, given: Sequence[ast.expr]) -> tuple[tuple[str, ...], str]:
        """Return the statements that expressions read, and their text over the statements' names."""
        taker = _Taken(self)
        text = ", ".join(ast.unparse(taker.visit(_copied(expr))) for expr in given)
        return tuple(taker.reads), text

    def load(self, array: str, node: ast.Subscript) -> str:
        index = self.index(node)
        for statement in self.statements:
            if (statement.kind, statement.array, statement.index) == ("load", array, index):
                return statement.name
        loops = self.loops_of((), ", ".join(index))
        own = self.fresh(f"load_{array}")
        self.add(Statement(own, "load", loops, array=array, index=index, dtype=self.arrays[array].dtype))
        return own

    def backbone(self, arguments: dict[str, str], sizes: Sizes) -> Backbone:
        """Return what was read, with a copy of each load that threads may exchange."""
        stores = [statement for statement in self.statements if statement.kind == "store"]
        outputs = {loop for store in stores for loop in store.loops}
        alone = len(outputs) == 1
        loops = {}
        for name, (length, extent, _) in self.lengths.items():
            chosen = sizes.get(name)
            if chosen is None:
                usual = default_sizes(name not in outputs, alone)
                chosen = with_divisors(extent, usual) if length in self.numbers or extent > SHORT else ()
            loops[name] = tiled(name, length, extent, chosen)
        made = Backbone(self.name, loops, tuple(self.statements), arguments, self.arrays)
        return with_copies(made)


def constants_of(tree: ast.Module) -> dict[str, int]:
    """Return the numbers that a file's top level names, made of numbers and of other such names alone.

    >>> constants_of(ast.parse("R = 2; K = 2 * R + 1; N = parameter('N', 4, domain=(4,)); M = N // 2"))
    {'R': 2, 'K': 5}
    """
    known: dict[str, int] = {}
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name(name)], value):
                known.pop(name, None)
                if (number := constant(value, known)) is not None:
                    known[name] = number
    return known


def constant(expr: ast.expr, names: Mapping[str, int]) -> int | None:
    """Return the value of an expression of numbers and names that stand for some; None for any other one."""
    match expr:
        case ast.Constant(value) if type(value) is int:
            return value
        case ast.Name(name):
            return names.get(name)
        case ast.BinOp(left, op, right):
            parts = constant(left, names), constant(right, names)
            if parts[0] is not None and parts[1] is not None and type(op) in _ARITHMETIC and (
                parts[1] or not isinstance(op, ast.FloorDiv)
            ):  # fmt: skip
                return _ARITHMETIC[type(op)](parts[0], parts[1])
    return None


def with_copies(backbone: Backbone) -> Backbone:
    """Return a backbone in which loads that threads may exchange are followed by copies.

    These are the loads of which several values of a loop make use, or that are side by side along another loop than
    what is stored: `b[k, j]` is needed for each `i`, and `x[j, i]` transposed.
    """
    (*_, store) = [statement for statement in backbone.statements if statement.kind == "store"]
    side_by_side = {loop for loop in backbone.loops if loop in _names(store.index[-1])}
    made: list[Statement] = []
    taken: dict[str, str] = {}
    for statement in backbone.statements:
        reads = tuple(taken.get(read, read) for read in statement.reads)
        renamed = ast.unparse(
            _Renamed({old: ast.Name(new) for old, new in taken.items()}).visit(
                ast.parse(statement.text or "0", mode="eval").body
            )
        )
        made.append(replace(statement, reads=reads, text=renamed if statement.text else ""))
        if statement.kind != "load" or not statement.loops:
            continue
        wider = any(set(user.loops) - set(statement.loops) for user in backbone.users(statement.name))
        turned = not side_by_side & _names(statement.index[-1])
        if wider or turned:
            copy = f"copy{statement.name.removeprefix('load')}"
            taken[statement.name] = copy
            made.append(replace(statement, name=copy, kind="copy", reads=(statement.name,), index=()))
    return replace(backbone, statements=tuple(made))


def _levels(loop: str) -> list[str]:
    return [f"{loop}{level}" for level in range(3)]


def _copied(expr: ast.expr) -> ast.expr:
    """Return an expression that may be changed."""
    return ast.parse(ast.unparse(expr), mode="eval").body


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}


class _Renamed(ast.NodeTransformer):
    """Names replaced by expressions."""

    def __init__(self, meaning: Mapping[str, ast.expr]) -> None:
        self.meaning = meaning

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.meaning.get(node.id, node)


class _Taken(ast.NodeTransformer):
    """What an expression takes of arrays and accumulators, replaced by the names of statements that give it."""

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader
        self.reads: dict[str, None] = {}

    def take(self, name: str, node: ast.expr) -> ast.expr:
        reader = self.reader
        statement = next(other for other in reader.statements if other.name == name)
        begin = reader.begun(statement) if statement.kind == "accumulate" else statement
        if statement.kind == "begin":
            reader.refuse(node, f"{statement.array} is read before it accumulates")
        if set(begin.loops) - set(reader.loops) or (set(statement.loops) - set(begin.loops)) & set(reader.loops):
            reader.refuse(node, f"`{ast.unparse(node)}` is read where its loops are not those in which it is made")
        self.reads[name] = None
        return ast.Name(name)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node.value:
            case ast.Name(array) if array in self.reader.arrays and not self.reader.arrays[array].written:
                return self.take(self.reader.load(array, node), node)
        self.reader.refuse(node, f"`{ast.unparse(node)}` is read", "elements of inputs")

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        match node:
            case ast.Attribute(ast.Name(name), "value") if name in self.reader.accumulators:
                return self.take(self.reader.accumulators[name], node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        meant = self.reader.meaning.get(node.id, node)
        if isinstance(meant, ast.Name) and any(meant.id == statement.name for statement in self.reader.statements):
            return self.take(meant.id, node)
        return meant


def substituted(text: str, names: Mapping[str, str]) -> str:
    """Return an expression with other expressions in place of names."""
    parsed = {name: ast.parse(value, mode="eval").body for name, value in names.items()}
    return ast.unparse(_Renamed(parsed).visit(ast.parse(text, mode="eval").body))
