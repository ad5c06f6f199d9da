"""What the local names of a kernel stand for, and which of them surely have a value.

Every name has one meaning in the whole kernel, as a declaration in C has. `assigned` holds the names that have a
value on every path to the statement being read, `steady` the scalars that are the same for every thread, and
`known` those of them that are plain constants.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from symbolic.program import DType, Role


@dataclass(frozen=True, slots=True)
class ArrayName:
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


@dataclass(frozen=True, slots=True)
class AccumulatorName:
    """An accumulator, or an array of them; `inner` says whether it has an inner operator."""

    dtype: DType
    shape: tuple[int, ...]
    inner: bool


@dataclass(frozen=True, slots=True)
class ScalarName:
    """A scalar variable."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class LoopName:
    """A loop variable."""


@dataclass(frozen=True, slots=True)
class StaticName:
    """An int parameter of the sketch: a constant in the kernel."""

    value: int


Meaning: TypeAlias = ArrayName | AccumulatorName | ScalarName | LoopName | StaticName


@dataclass(slots=True)
class Scope:
    """The state of the names while the kernel's statements are read in order."""

    bindings: Counter[str]
    taken: set[str]
    meanings: dict[str, Meaning] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    steady: set[str] = field(default_factory=set)
    known: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def of(definition: ast.FunctionDef) -> Scope:
        """Return the scope of a kernel, before its first statement."""
        nodes = [node for statement in definition.body for node in ast.walk(statement)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        bindings = Counter(name.id for name in names if not isinstance(name.ctx, ast.Load))
        bindings.update(argument.arg for argument in definition.args.args)
        return Scope(bindings, {name.id for name in names} | {a.arg for n in nodes for a in _arguments(n)})

    def is_local(self, name: str) -> bool:
        """Say whether the kernel binds `name` itself, anywhere."""
        return name in self.bindings or name in self.meanings

    def is_bound_once(self, name: str) -> bool:
        """Say whether only one place in the kernel gives `name` a value."""
        return self.bindings[name] <= 1

    def declare(self, name: str, meaning: Meaning) -> None:
        """Give `name` its meaning and count it as having a value."""
        self.meanings[name] = meaning
        self.assigned.add(name)

    def fresh(self, wish: str) -> str:
        """Return a name like `wish` that the kernel does not use, and take it."""
        candidates = [wish, *(f"{wish}_{n}" for n in range(1, len(self.taken) + len(self.bindings) + 2))]
        name = next(c for c in candidates if c not in self.taken and c not in self.bindings)
        self.taken.add(name)
        return name

    @contextmanager
    def loop(self, variable: str, runs: bool) -> Iterator[None]:
        """Read a loop's body: its assignments count afterwards only if it `runs` at least once."""
        before = set(self.assigned)
        self.declare(variable, LoopName())
        yield
        self.assigned = (self.assigned if runs else before & self.assigned) - {variable}

    def join(self, branches: Iterable[set[str]]) -> None:
        """Keep what every branch has assigned."""
        self.assigned = set.intersection(*branches)


def _arguments(node: ast.AST) -> list[ast.arg]:
    return node.args.args if isinstance(node, ast.Lambda) else []
