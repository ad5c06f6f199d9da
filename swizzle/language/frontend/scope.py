"""What the local names of a kernel stand for, and which of them surely have a value.

Every name has one meaning in the whole kernel, as a declaration in C has. `assigned` holds the names that have a
value on every path to the statement being read, `steady` the scalars that are the same for every thread, and
`known` those of them that are plain constants.

A call of a device function is written out where it stands, with a scope of its own: its names are renamed apart from
all others in the program.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from swizzle.language.element_types import VectorType
from symbolic.ir.program import Const, DType, Expr, Role, Var


class ArrayName(Struct, frozen=True):
    """A parameter, local or shared array; `role` is None unless it is a parameter."""

    dtype: DType
    shape: tuple[int, ...]
    memory: Literal["parameter", "local", "shared"]
    role: Role | None = None

    @property
    def is_writable(self) -> bool:
        return self.role in (None, "out", "inout")

    @property
    def is_readable(self) -> bool:
        return self.role != "out"


class VectorArrayName(Struct, frozen=True):
    """An array of vectors: the program's array of `numbers`, called `array`.

    Its last dimension has the lanes of a vector; of a view, all vectors of a row, side by side.
    """

    array: str
    numbers: ArrayName
    type: VectorType
    is_view: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape in vectors."""
        *rows, last = self.numbers.shape
        return (*rows, last // self.type.lanes) if self.is_view else tuple(rows)


class VectorName(Struct, frozen=True):
    """A variable that holds a vector: in the program, a local array of its numbers."""

    type: VectorType


class AccumulatorName(Struct, frozen=True):
    """An accumulator, or an array of them; `inner` says whether it has an inner operator, `operator` which scan's
    operator it combines words by, if it does.

    In a device function, `at` says which one of an array of accumulators the call has given.
    """

    dtype: DType
    shape: tuple[int, ...]
    inner: bool
    at: tuple[Expr, ...] = ()
    operator: str = ""
    sums_products: bool = False
    """Whether it adds products: the operators of mma."""


class GivenName(Struct, frozen=True):
    """A scalar parameter: data that the kernel is given by value."""

    dtype: DType


class ScalarName(Struct, frozen=True):
    """A scalar variable."""

    dtype: DType


class ComparisonName(Struct, frozen=True):
    """A comparison of data with a name of its own, `c = a < b`, for `where(c, x, y)`.

    `op` is a comparison, `and`, `or`, `not`, or `index` for a condition made of indices; `parts` are comparisons, or
    the variables that hold the operands as they were.
    """

    op: str
    parts: tuple[ComparisonName | Const | Var, ...]


class LoopName(Struct, frozen=True):
    """A loop variable, with the program's name for it; `is_counter` unless each iteration assigns it."""

    name: str
    dtype: DType = DType.INDEX
    is_counter: bool = True


class StaticName(Struct, frozen=True):
    """An int parameter of the sketch: a constant in the kernel."""

    value: int


NameMeaning: TypeAlias = (
    ArrayName
    | VectorArrayName
    | VectorName
    | AccumulatorName
    | GivenName
    | ScalarName
    | ComparisonName
    | LoopName
    | StaticName
)


class Scope(Struct):
    """The state of the names of one function while its statements are read in order.

    Names are the function's own words in `bindings`, `meanings`, `assigned` and `renamed`; they are the program's in
    `taken`, `steady`, `known`, `counters` and `running`, which the kernel and the calls in it share. `counters` are
    the names that stand for loop variables only: two loops may have the same one, unless one runs in the other. `parts`
    are the function's words of which an attribute is assigned, as in `v.x = 1`.
    """

    bindings: Counter[str]
    taken: set[str]
    meanings: dict[str, NameMeaning] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    steady: set[str] = field(default_factory=set)
    known: dict[str, int] = field(default_factory=dict)
    counters: set[str] = field(default_factory=set)
    running: list[str] = field(default_factory=list)
    renamed: dict[str, str] | None = None
    parts: frozenset[str] = frozenset()

    @staticmethod
    def of(definition: ast.FunctionDef) -> Scope:
        """Return the scope of a kernel, before its first statement."""
        nodes = _nodes(definition)
        names = [node for node in nodes if isinstance(node, ast.Name)]
        bindings = _bindings(definition)
        counted = Counter(n.target.id for n in nodes if isinstance(n, ast.For) and isinstance(n.target, ast.Name))
        taken = {name.id for name in names} | {a.arg for n in nodes for a in _arguments(n)} | set(bindings)
        return Scope(bindings, taken, counters={name for name, times in counted.items() if bindings[name] == times})

    def call(self, definition: ast.FunctionDef) -> Scope:
        """Return the scope of a call of a device function that stands where this scope's statements are read."""
        shared = (self.steady, self.known, self.counters, self.running)
        return Scope(_bindings(definition), self.taken, {}, set(), *shared, renamed={}, parts=_parts(definition))

    def is_local(self, name: str) -> bool:
        """Say whether the function binds `name` itself, anywhere."""
        return name in self.bindings or name in self.meanings

    def is_bound_once(self, name: str) -> bool:
        """Say whether only one place in the function gives `name` a value."""
        return self.bindings[name] <= 1

    def changes(self, name: str) -> bool:
        """Say whether a function assigns to its parameter `name`, or to a component of it."""
        return not self.is_bound_once(name) or name in self.parts

    def named(self, name: str) -> str:
        """Return what the program calls a local name."""
        if self.renamed is None:
            return name
        if name not in self.renamed:
            self.renamed[name] = self.fresh(name)
        return self.renamed[name]

    def alias(self, name: str, meaning: NameMeaning, program_name: str) -> None:
        """Let `name` stand for an array or an accumulator of the caller."""
        assert self.renamed is not None
        self.renamed[name] = program_name
        self.declare(name, meaning)

    def declare(self, name: str, meaning: NameMeaning) -> None:
        """Give `name` its meaning and count it as having a value."""
        self.meanings[name] = meaning
        self.assigned.add(name)

    def fresh(self, wish: str) -> str:
        """Return a name like `wish` that the program does not use, and take it."""
        name = next(c for c in _candidates(wish) if c not in self.taken)
        self.taken.add(name)
        return name

    @contextmanager
    def loop(self, counter: str, targets: Mapping[str, LoopName], runs: bool) -> Iterator[None]:
        """Read the body of the loop that counts in `counter`: its assignments count afterwards only if it `runs`."""
        before = set(self.assigned)
        for variable, meaning in targets.items():
            self.declare(variable, meaning)
            if meaning.dtype is DType.INDEX:
                self.steady.add(meaning.name)
        self.steady.add(counter)
        self.running.append(counter)
        yield
        self.running.pop()
        self.assigned = (self.assigned if runs else before & self.assigned) - set(targets)

    def counter(self, variable: str) -> LoopName:
        """Return what the variable of a loop over a range stands for."""
        if self.renamed is not None:
            self.renamed[variable] = self.free_counter(variable)
        return LoopName(self.named(variable))

    def element(self, variable: str, dtype: DType, is_counter: bool) -> LoopName:
        """Return what a variable of a loop over constants stands for: a name that only such loops have."""
        earlier, wanted = self.meanings.get(variable), LoopName("", dtype, is_counter)
        if isinstance(earlier, LoopName) and replace(earlier, name="") == wanted and not is_counter:
            return earlier
        plain = self.renamed is None and self.is_bound_once(variable)
        return replace(wanted, name=variable if plain else self.fresh(variable))

    def free_counter(self, wish: str) -> str:
        """Return a name for a loop variable, one that a loop had which is over where there is one like `wish`."""
        free = (c for c in _candidates(wish) if c not in self.taken or (c in self.counters and c not in self.running))
        name = next(free)
        self.taken.add(name)
        self.counters.add(name)
        return name

    def join(self, branches: Iterable[set[str]]) -> None:
        """Keep what every branch has assigned."""
        self.assigned = set.intersection(*branches)


@lru_cache(maxsize=64)
def _nodes(definition: ast.FunctionDef) -> tuple[ast.AST, ...]:
    return tuple(node for statement in definition.body for node in ast.walk(statement))


def _bindings(definition: ast.FunctionDef) -> Counter[str]:
    """Count the places of a function that give each name a value, its parameters among them."""
    bindings = Counter(n.id for n in _nodes(definition) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    bindings.update(argument.arg for argument in definition.args.args)
    return bindings


def _parts(definition: ast.FunctionDef) -> frozenset[str]:
    return frozenset(
        node.value.id
        for node in ast.walk(definition)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    )


def _candidates(wish: str) -> Iterator[str]:
    yield wish
    yield from (f"{wish}_{n}" for n in count(1))


def _arguments(node: ast.AST) -> list[ast.arg]:
    return node.args.args if isinstance(node, ast.Lambda) else []
