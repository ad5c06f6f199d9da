"""Vector accesses: which loops move neighbouring words between memory and registers, so that one vector access can
replace them, and the pass that shapes loops over neighbouring words to be such.

Such a loop runs over 0, 1 or 0 .. 3 and contains one statement, `mine[e] = x[base + e]` or `x[base + e] = mine[e]`. The
base must be a multiple of the vector's width for every thread. That is proved from the index expression, by finding a
number of which each of its parts is a multiple. Arrays must begin where cudaMalloc puts them, or at a multiple of 16
bytes; the host function that launches the kernel checks that. Shared arrays are declared with the alignment that their
vectors need. Four words of half precision are moved by their bits, as CUDA has no vector of four; to a compiler that is
another type, so those of an array that a kernel reads and writes are moved in pairs.

    for e in range(8):                       for v in range(2):
        if base + e < n:                         if base + v * 4 < n:          # n and base: multiples of 4
            mine[e] = x[base + e]                    for e in range(4):
        else:                           ->               mine[v * 4 + e] = x[base + v * 4 + e]
            mine[e] = 0                          else:
                                                     for e in range(4):
                                                         mine[v * 4 + e] = 0

Where the end of the array may lie within a vector, the words of that one vector are moved one by one, as before. A
loop that computes with neighbouring words gets them from registers, and leaves its results in registers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.analysis.registers import is_static, register_arrays, static_names
from cuda_out.analysis.values import is_computable, leaves_in
from cuda_out.passes.index_rules import ScaledAtom, constant, terms_of
from cuda_out.passes.references import Definitions, forget, update_definitions, variable_counts
from cuda_out.passes.simplify import simplify_expression
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, after, facts_where, launch_facts, loop_facts
from symbolic.ir.program import DType, Expr, Parameter, Program, Stmt
from symbolic.ir.walk import (
    Body,
    FreshNames,
    all_names,
    assigned_in,
    bodies,
    children,
    map_own,
    names_in,
    own_expressions,
    rebuild,
    same,
    statements,
    subexpressions,
    substitute,
)

InMemory: TypeAlias = Parameter | ir.DeclareArray


class VectorAccess(Struct, frozen=True):
    """One access of `width` words: the parameter's first and last index, and the register for each word."""

    array: str
    dtype: DType
    width: int
    is_store: bool
    indices: tuple[Expr, ...]
    last: tuple[Expr, ...]
    registers: tuple[ir.Load, ...]

    @property
    def type_name(self) -> str:
        row = self.dtype.row
        return self._bits if self.by_bits else f"{row.c if row.half else row.vector}{self.width}"

    @property
    def maker(self) -> str:
        return f"make_{self._bits if self.by_bits else f'{self.dtype.row.vector}{self.width}'}"

    @property
    def by_bits(self) -> bool:
        """Whether the vector's type has the bits of the words, and not the words."""
        return self.dtype.row.half is not None and self.width > 2

    @property
    def _bits(self) -> str:
        return f"ushort{self.width}"

    @property
    def bytes(self) -> int:
        return self.width * self.dtype.bits // 8


def arrays_in_memory(program: Program) -> dict[str, InMemory]:
    """Return the parameters that are arrays in memory and the shared arrays, by name."""
    found: dict[str, InMemory] = {p.name: p for p in program.parameters if p.shape and not p.by_value}
    for stmt in statements(program.body):
        if isinstance(stmt, ir.DeclareArray) and stmt.memory == "shared":
            found[stmt.name] = stmt
    return found


def vector_accesses(program: Program) -> dict[ir.For, VectorAccess]:
    """Return the loops that can be one vector access each."""
    found: dict[ir.For, VectorAccess | None] = {}
    finder = _Finder(program, found)
    finder.body(program.body, {}, {})
    return {stmt: vector for stmt, vector in found.items() if vector is not None}


class _Finder:
    def __init__(self, program: Program, found: dict[ir.For, VectorAccess | None]) -> None:
        self._far = arrays_in_memory(program)
        self._registers = register_arrays(program)
        self._static = static_names(program)
        self._found = found

    def body(self, body: Body, known: Definitions, steps: Mapping[str, int]) -> None:
        for stmt in body:
            inner = dict(known)
            if isinstance(stmt, ir.For):
                forget(inner, assigned_in((stmt,)))
                vector = self._vector(stmt, inner, steps)
                # The same loop may stand in two places: it must be fit for a vector in both.
                self._found[stmt] = vector if self._found.get(stmt, vector) == vector else None
                steps = {**steps, stmt.variable: step_of(stmt, inner, steps)}
            for nested in bodies(stmt):
                self.body(nested, dict(inner), steps)
            update_definitions(stmt, known, {})

    def _vector(self, stmt: ir.For, known: Definitions, steps: Mapping[str, int]) -> VectorAccess | None:
        match stmt:
            case ir.For(start=ir.Const(value=0), stop=ir.Const(value=2 | 4 as width), step=ir.Const(value=1)):
                pass
            case _:
                return None
        match stmt.body:
            case (ir.Store(array=array, indices=indices, value=ir.Load(array=source, indices=read), atomic=False),):
                if array in self._far and source in self._registers:
                    memory, far, near, register, is_store = self._far[array], indices, read, source, True
                elif array in self._registers and source in self._far:
                    memory, far, near, register, is_store = self._far[source], read, indices, array, False
                else:
                    return None
            case _:
                return None
        variable = frozenset({stmt.variable})
        if not all(is_static(index, self._static | variable) for index in near):
            return None
        if not is_contiguous(memory, far, stmt.variable, int(width), known, steps):
            return None
        registers = tuple(
            ir.Load(register, tuple(_at(index, stmt.variable, e) for index in near), memory.dtype, stmt.place)
            for e in range(int(width))
        )
        first, last = (tuple(_at(index, stmt.variable, e) for index in far) for e in (0, int(width) - 1))
        return VectorAccess(memory.name, memory.dtype, int(width), is_store, first, last, registers)


def _at(expr: Expr, name: str, value: int) -> Expr:
    """Return the expression for one value of the variable, its sums folded."""
    if name not in leaves_in([expr]):
        return expr

    return simplify_expression(substitute(expr, name, ir.Const(value, DType.INDEX, expr.place)), {})


def step_of(stmt: ir.For, known: Definitions, steps: Mapping[str, int]) -> int:
    """Return a number of which every value of the loop's variable is a multiple."""
    return math.gcd(multiple_of(stmt.start, known, steps), multiple_of(stmt.step, known, steps))


def is_contiguous(
    array: InMemory,
    indices: tuple[Expr, ...],
    variable: str,
    width: int,
    known: Definitions,
    steps: Mapping[str, int],
) -> bool:
    """Say whether the element moves by one word with the variable, and starts at a multiple of the width."""
    if not array.dtype.row.vector or width * array.dtype.bits > 128:
        return False
    if array.dtype.row.half and width > 2 and (isinstance(array, ir.DeclareArray) or array.role == "inout"):
        return False
    stride = 1
    for number, index in enumerate(reversed(indices)):
        rest = without(index, variable) if number == 0 else index
        if rest is None or variable in leaves_in([rest]) or multiple_of(rest, known, steps) * stride % width:
            return False
        stride *= array.shape[-1 - number]
    return True


def without(index: Expr, variable: str) -> Expr | None:
    """Return the sum without the variable, or None unless the variable is added exactly once."""
    terms = list(terms_of(index))
    own = [term for term in terms if isinstance(term, ScaledAtom) and leaves_in([term.atom]) == {variable}]
    if len(own) != 1 or own[0].factor != 1 or not isinstance(own[0].atom, ir.Var):
        return None
    return substitute(index, variable, ir.Const(0, DType.INDEX, index.place))


def multiple_of(expr: Expr, known: Definitions, steps: Mapping[str, int]) -> int:
    """Return a number of which every value of an index expression is a multiple; 0 if the index is always 0."""

    def inner(part: Expr) -> int:
        return multiple_of(part, known, steps)

    match expr:
        case ir.Const(value=value):
            return abs(int(value))
        case ir.Var(name=name):
            return inner(known[name]) if name in known else steps.get(name, 1)
        case ir.Binary(op="+" | "-" | "min" | "max", left=left, right=right):
            return math.gcd(inner(left), inner(right))
        case ir.Binary(op="*", left=left, right=right):
            return inner(left) * inner(right)
        case ir.Binary(op="<<", left=left, right=ir.Const(value=by)) if 0 <= by < 32:
            return inner(left) << int(by)
        case ir.Binary(op="&", left=left, right=right):
            return max(_twos(inner(left)), _twos(inner(right)))
        case ir.Binary(op="%", left=left, right=right):
            return math.gcd(inner(left), inner(right))
        case ir.Binary(op="//", left=left, right=ir.Const(value=by)) if by and inner(left) % int(by) == 0:
            return abs(inner(left) // int(by))
        case ir.Binary(op=">>", left=left, right=ir.Const(value=by)) if (
            0 <= by < 32 and inner(left) % (1 << int(by)) == 0
        ):
            return inner(left) >> int(by)
        case ir.Unary(op="-" | "abs", operand=operand):
            return inner(operand)
        case ir.Select(then=then, otherwise=otherwise):
            return math.gcd(inner(then), inner(otherwise))
        case ir.Lookup(entries=entries):
            return math.gcd(*entries)
        case _:
            return 1


def _twos(value: int) -> int:
    """Return the largest power of two that divides the value."""
    return value & -value if value else 1 << 31


LONGEST = 16  # words that one thread moves in a loop


def vectorize(program: Program) -> Program:
    """Return the same program with neighbouring words moved by loops of two or four words."""
    return replace(program, body=_Vectorizer(program).body(program.body, launch_facts(program), {}, {}))


class _Vectorizer:
    def __init__(self, program: Program) -> None:
        self._memory = arrays_in_memory(program)
        self._registers = register_arrays(program)
        self._static = static_names(program)
        self._fresh = FreshNames(all_names(program))
        self._read = variable_counts(program.body)[1]

    def body(self, body: Body, facts: Facts, known: Definitions, steps: Mapping[str, int]) -> Body:
        found: list[Stmt] = []
        for stmt in body:
            match stmt:
                case ir.For(variable=variable, body=inner):
                    around = dict(known)
                    forget(around, assigned_in((stmt,)))
                    shaped = self._shaped(stmt, facts, around, steps)
                    if shaped is None:
                        within = {**steps, variable: step_of(stmt, around, steps)}
                        shaped = (replace(stmt, body=self.body(inner, loop_facts(stmt, facts), around, within)),)
                    found += shaped
                case ir.If(condition=condition, then=then, otherwise=otherwise):
                    sides = [
                        self.body(side, facts_where(condition, truth, facts), dict(known), steps)
                        for side, truth in ((then, True), (otherwise, False))
                    ]
                    found.append(replace(stmt, then=sides[0], otherwise=sides[1]))
                case _:
                    found.append(stmt)
            update_definitions(stmt, known, facts)
            facts = after(stmt, facts)
        return tuple(found)

    def _shaped(self, stmt: ir.For, facts: Facts, known: Definitions, steps: Mapping[str, int]) -> Body | None:
        """Return what becomes of a loop, or None when no vector fits it."""
        match stmt:
            case ir.For(start=ir.Const(value=0), stop=ir.Const(value=count), step=ir.Const(value=1)) if (
                2 <= count <= LONGEST and count % 2 == 0
            ):
                pass
            case _:
                return None
        body = self._inlined(stmt.body, facts)
        if body is None:
            return None
        moved = self._moved(stmt, body, int(count), known, steps)
        return moved if moved is not None else self._computed(stmt, body, int(count), known, steps)

    def _inlined(self, body: Body, facts: Facts) -> Body | None:
        """Return a loop's body without its index variables, when they and one level of statements are all."""
        known: Definitions = {}
        found: list[Stmt] = []
        for stmt in body:
            match stmt:
                case ir.Assign(name=name, value=value) if is_computable(value, facts) and name not in known:
                    known[name] = reduce(lambda expr, item: substitute(expr, *item), known.items(), value)
                case ir.Store(atomic=False) | ir.If():
                    found.append(_spelled(stmt, known))
                case _:
                    return None
        nested = [inner for stmt in found for side in bodies(stmt) for inner in statements(side)]
        if not all(isinstance(inner, ir.Store) and not inner.atomic for inner in nested):
            return None
        # Nothing may read the variables before they are assigned, or behind the loop.
        here, left = variable_counts(body)[1], variable_counts(tuple(found))[1]
        gone = all(left[name] == 0 and here[name] == self._read[name] for name in known)
        return tuple(found) if gone and not any(names_in(value) & known.keys() for value in known.values()) else None

    # ---- a loop that only moves words --------------------------------------------------------------------------

    def _moved(self, stmt: ir.For, body: Body, count: int, known: Definitions, steps: Mapping[str, int]) -> Body | None:
        plain, condition, other = _one_store(body)
        if plain is None or not self._is_move(plain, stmt.variable):
            return None
        far = self._far(plain)
        width = self._width(far, stmt.variable, count, known, steps)
        if width is None:
            return None
        chunk, variable, place = self._fresh.loop_variable("v"), stmt.variable, stmt.place
        if count == width:
            start: Expr = constant(0, place)
        else:
            start = ir.Binary("*", ir.Var(chunk, DType.INDEX, place), constant(width, place), DType.INDEX, place)
        here = ir.Binary("+", start, ir.Var(variable, DType.INDEX, place), DType.INDEX, place)

        def words(inner: Body) -> ir.For:
            at = tuple(map_own(each, lambda expr: substitute(expr, variable, here)) for each in inner)
            at = tuple(map_own(each, lambda expr: simplify_expression(expr, {})) for each in at)
            return replace(stmt, stop=constant(width, place), body=at)

        found: Stmt = words((plain,))
        if condition is not None:
            ends = _whole(condition, variable, width, start, known, {**steps, chunk: 1})
            if ends is None:
                return None
            whole, exact = ends
            if exact:
                rest: Body = () if other is None else (words((other,)),)
            else:
                inside = simplify_expression(substitute(condition, variable, here), {})
                one, none = words((plain,)), () if other is None else words((other,)).body
                rest = (replace(one, body=(ir.If(inside, one.body, none, place),)),)
            found = ir.If(simplify_expression(whole, {}), (found,), rest, place)
        if count == width:
            return (found,)
        return (
            ir.For(chunk, constant(0, place), constant(count // width, place), constant(1, place), (found,), place),
        )

    def _is_move(self, store: ir.Store, variable: str) -> bool:
        """Say whether the store moves a word between memory and a register at a static index."""
        if not isinstance(store.value, ir.Load):
            return False
        names = (store.array, store.value.array)
        near = [
            each
            for each in ((store.array, store.indices), (names[1], store.value.indices))
            if each[0] in self._registers
        ]
        far = [name for name in names if name in self._memory]
        static = self._static | {variable}
        return len(near) == 1 and len(far) == 1 and all(is_static(index, static) for index in near[0][1])

    def _far(self, store: ir.Store) -> tuple[str, tuple[Expr, ...]]:
        if store.array in self._memory:
            return store.array, store.indices
        assert isinstance(store.value, ir.Load)
        return store.value.array, store.value.indices

    def _width(
        self, far: tuple[str, tuple[Expr, ...]], variable: str, count: int, known: Definitions, steps: Mapping[str, int]
    ) -> int | None:
        """Return the widest vector that the words of a reference fill and are aligned for, if any."""
        array = self._memory[far[0]]
        for width in (4, 2):
            if count % width == 0 and is_contiguous(array, far[1], variable, width, known, steps):
                return width
        return None

    # ---- a loop that computes with words -----------------------------------------------------------------------

    def _computed(
        self, stmt: ir.For, body: Body, count: int, known: Definitions, steps: Mapping[str, int]
    ) -> Body | None:
        """Load what the loop reads before it, and store what it writes behind it, by vectors."""
        if not all(isinstance(each, ir.Store) and not each.atomic for each in body):
            return None
        stores = [each for each in body if isinstance(each, ir.Store)]
        loads = {part for each in stores for expr in own_expressions(each) for part in _sure_loads(expr)}
        every = {part for each in stores for e in own_expressions(each) for part in subexpressions(e)}
        written = [each.array for each in stores if each.array in self._memory]
        read = {part.array for part in every if isinstance(part, ir.Load)}
        before: list[Stmt] = []
        behind: list[Stmt] = []
        into: dict[Expr, Expr] = {}
        e = ir.Var(stmt.variable, DType.INDEX, stmt.place)
        for each in sorted(loads, key=lambda load: (load.array, str(load.place), str(load))):
            alike = next((into[other] for other in into if same(other, each)), None)
            if alike is not None:
                into[each] = alike
                continue
            if each.array not in self._memory or each.array in written:
                continue
            if self._width((each.array, each.indices), stmt.variable, count, known, steps) is None:
                continue
            words = self._words(each.array, count, each)
            store = ir.Store(words.name, (e,), each, each.place)
            before += [words, replace(stmt, body=(store,))]
            into[each] = ir.Load(words.name, (e,), each.dtype, each.place)
        changed: list[Stmt] = []
        for target in stores:
            target = replace(target, value=_swapped(target.value, into))
            alone = written.count(target.array) == 1 and target.array not in read
            fits = alone and self._width((target.array, target.indices), stmt.variable, count, known, steps) is not None
            if fits and target.value in into.values():  # as it was loaded
                behind.append(replace(stmt, body=(target,)))
                continue
            if fits:
                words = self._words(target.array, count, target.value)
                value = ir.Load(words.name, (e,), words.dtype, target.place)
                before.append(words)
                behind.append(replace(stmt, body=(replace(target, value=value),)))
                target = replace(target, array=words.name, indices=(e,))
            changed.append(target)
        if not before:
            return None
        self._registers |= {each.name for each in before if isinstance(each, ir.DeclareArray)}
        moves: list[Stmt] = []
        rest = (replace(stmt, body=tuple(changed)),) if changed else ()
        for move in (*before, *rest, *behind):
            moved = self._moved(move, move.body, count, known, steps) if isinstance(move, ir.For) else None
            moves += [move] if moved is None else list(moved)
        return tuple(moves)

    def _words(self, array: str, count: int, like: Expr) -> ir.DeclareArray:
        name = self._fresh.take(f"{array}_words")
        return ir.DeclareArray(name, "local", (count,), self._memory[array].dtype, like.place)


def _spelled(stmt: Stmt, known: Definitions) -> Stmt:
    def change(expr: Expr) -> Expr:
        return reduce(lambda found, item: substitute(found, *item), known.items(), expr)

    stmt = map_own(stmt, change)
    if isinstance(stmt, ir.If):
        sides = [tuple(_spelled(inner, known) for inner in side) for side in (stmt.then, stmt.otherwise)]
        return replace(stmt, then=sides[0], otherwise=sides[1])
    return stmt


def _one_store(body: Body) -> tuple[ir.Store | None, Expr | None, ir.Store | None]:
    """Return a body's only store, its condition if any, and what is stored to the same place where that is false."""
    match body:
        case (ir.Store(value=ir.Select(condition=condition, then=then, otherwise=otherwise)) as store,):
            if isinstance(otherwise, ir.Const):
                return replace(store, value=then), condition, replace(store, value=otherwise)
        case (ir.Store() as store,):
            return store, None, None
        case (ir.If(condition=condition, then=(ir.Store() as store,), otherwise=()),):
            return store, condition, None
        case (ir.If(condition=condition, then=(ir.Store() as store,), otherwise=(ir.Store() as other,)),):
            if isinstance(other.value, ir.Const):
                return store, condition, other
        case _:
            pass
    return None, None, None


def _whole(
    condition: Expr, variable: str, width: int, start: Expr, known: Definitions, steps: Mapping[str, int]
) -> tuple[Expr, bool] | None:
    """Return when all words of a vector are wanted, and whether otherwise none is; None where that cannot be said."""
    place = condition.place
    match condition:
        case ir.Logic(op="and", left=left, right=right):
            first, second = (_whole(side, variable, width, start, known, steps) for side in (left, right))
            if first is None or second is None:
                return None
            return ir.Logic("and", first[0], second[0], place), first[1] and second[1]
        case _ if variable not in leaves_in([condition]):
            return condition, True
        case ir.Compare(op="<" | ">=" as op, left=left, right=right) if variable not in leaves_in([right]):
            base = without(left, variable)
            if base is None:
                return None
            exact = multiple_of(base, known, steps) % width == 0 == multiple_of(right, known, steps) % width
            extreme = constant(width - 1 if op == "<" and not exact else 0, place)
            at = ir.Binary("+", start, extreme, DType.INDEX, place)
            return replace(condition, left=substitute(left, variable, at)), exact
        case _:
            return None


def _sure_loads(expr: Expr) -> list[ir.Load]:
    """Return the loads that are made in any case, not only where a condition chooses them."""
    if isinstance(expr, ir.Select):
        return _sure_loads(expr.condition)
    found = [expr] if isinstance(expr, ir.Load) else []
    return found + [load for child in children(expr) for load in _sure_loads(child)]


def _swapped(expr: Expr, into: Mapping[Expr, Expr]) -> Expr:
    return into[expr] if expr in into else rebuild(expr, lambda child: _swapped(child, into))
