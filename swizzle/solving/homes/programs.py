"""An exchange as a part of the kernel: a way's shuffles and selects, or its stores and loads, in place of the hole.

Index expressions of numbers: a number for each lane, or for each thread of several warps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import pairwise

from msgspec.structs import replace

from swizzle.layouts.conversions.network import ExchangeNetwork, Input, LaneExchange, Mix
from swizzle.layouts.conversions.shared import Moves, SharedPlan
from swizzle.solving.homes.sources import Exchange, exchanges_of
from swizzle.solving.homes.ways import Way
from symbolic.errors import Place
from symbolic.ir.program import (
    LANES,
    Assign,
    Barrier,
    Compare,
    Const,
    Coordinate,
    DeclareArray,
    DType,
    Expr,
    For,
    HoleCall,
    If,
    Load,
    Program,
    Select,
    Shuffle,
    Stmt,
    Store,
    Var,
)
from symbolic.ir.walk import (
    Body,
    FreshNames,
    all_names,
    map_bodies,
    own_expressions,
    rewrite_program,
    statements,
    subexpressions,
)
from templates.formula import applied, binary, number, total
from templates.shortest import Shortest
from templates.xor import Matrix

_NOWHERE = Place("", 0, 0)
_ARGUMENT = Var("0", DType.INDEX, _NOWHERE)


class Thread:
    """The number of a thread in its warp, or in a block of several warps; what depends on it is written of it."""

    def __init__(self, warps: int, place: Place) -> None:
        self.place, self.count = place, warps * LANES
        self.lane: Expr = Coordinate("laneid", "x", place)
        self.warp: Expr = Coordinate("warpid", "x", place)
        own = binary("+", binary("*", self.warp, number(LANES, place)), self.lane)
        self.thread: Expr = self.lane if warps == 1 else own

    def index(self, values: Sequence[int]) -> Expr:
        """Return an expression with these values, one for each thread.

        It is a formula over the number's bits, a short one in arithmetic, or else a table, bit by bit.
        """
        found = self._bits(values) or self._arithmetic(values)
        if found is not None:
            return applied(found, [self.thread], self.place)
        planes = []
        for bit in range(max(values).bit_length()):
            plane = self._plane([value >> bit & 1 for value in values])
            planes.append(plane if not bit else binary("<<", plane, number(bit, self.place)))
        return total(planes, self.place)

    def where(self, chosen: Sequence[bool]) -> Expr:
        """Return a condition that holds for the threads that are chosen, not for all and not for none."""
        values = [int(each) for each in chosen]
        wanted = 1
        if values[0]:
            values, wanted = [1 - each for each in values], 0
        found = self._bits(values)
        index = self._plane(values) if found is None else applied(found, [self.thread], self.place)
        return Compare("!=" if wanted else "==", index, number(0, self.place), self.place)

    def _bits(self, values: Sequence[int]) -> Expr | None:
        """Return values that are affine over the bits of the thread's number, None where they are not."""
        if self.count & self.count - 1:
            return None
        first = values[0]
        columns = tuple(values[1 << j] ^ first for j in range(self.count.bit_length() - 1))
        guessed = [first]
        for column in columns:
            guessed += [value ^ column for value in guessed]
        if guessed != list(values):
            return None
        if not any(columns):
            return number(first, _NOWHERE)
        parts = Matrix(columns).terms(_ARGUMENT)
        found = reduce(lambda a, b: binary("^", a, b), parts)
        return binary("^", found, number(first, _NOWHERE)) if first else found

    def _arithmetic(self, values: Sequence[int]) -> Expr | None:
        points = [(n,) for n in range(self.count)]
        return Shortest(max(values) + 1, ["t"], points).found(values)

    def _plane(self, bits: Sequence[int]) -> Expr:
        """Return bits, packed in a word for each warp."""
        words = [bits[n : n + LANES] for n in range(0, len(bits), LANES)]
        masks = [sum(bit << lane for lane, bit in enumerate(word)) for word in words]
        packed: Expr = self._word(masks[-1])
        for warp in reversed(range(len(masks) - 1)):
            if masks[warp] != masks[warp + 1] or not isinstance(packed, Const):
                here = Compare("<=", self.warp, number(warp, self.place), self.place)
                packed = Select(here, self._word(masks[warp]), packed, DType.INDEX, self.place)
        return binary("&", binary(">>", packed, self.lane), number(1, self.place))

    def _word(self, mask: int) -> Const:
        return number(mask - (mask >> LANES - 1 << LANES), self.place)


def lowered(program: Program, ways: Sequence[Way]) -> Program:
    """Return a program with a way in the place of each exchange, in the order of their holes."""
    for exchange, way in reversed(list(zip(exchanges_of(program), ways, strict=True))):
        program = _without(program, exchange, way)
    return program


def _without(program: Program, exchange: Exchange, way: Way) -> Program:
    made = _Statements(program, exchange, way)
    body = made.replaced(program.body)
    kept = tuple(each for each in body if each is not exchange.declared)
    holes = tuple(hole for n, hole in enumerate(program.holes) if n != exchange.hole)

    def renumber(expr: Expr) -> Expr:
        return replace(expr, hole=expr.hole - 1) if isinstance(expr, HoleCall) and expr.hole > exchange.hole else expr

    return rewrite_program(replace(program, body=(*made.arrays, *kept), holes=holes), renumber)


class _Statements:
    """Makes the statements of a way; `arrays` are those that it needs at the top of the kernel."""

    def __init__(self, program: Program, exchange: Exchange, way: Way) -> None:
        self.program, self.exchange, self.way = program, exchange, way
        self.names = FreshNames(all_names(program))
        self.arrays: list[DeclareArray] = []
        self.dtype: DType = exchange.declared.dtype
        self.mine = self.theirs = ""
        self.place: Place = exchange.declared.place
        self.depth = 0

    def replaced(self, body: Body) -> Body:
        """Return statements in which the two loops of each use of the exchange are the way."""
        found: list[Stmt] = []
        for each in body:
            takes, gives = _stores(each, self.exchange.array), _loads(each, self.exchange.array)
            if isinstance(each, If) or (isinstance(each, For) and takes is not None and gives is not None):
                self.depth += isinstance(each, For)
                found.append(map_bodies(each, self.replaced))
                self.depth -= isinstance(each, For)
            elif takes is not None:
                assert isinstance(takes.value, Load)
                self.mine, self.place = takes.value.array, takes.place
            elif gives is not None:
                self.theirs = gives.array
                found += self._way()
            else:
                found.append(each)
        return tuple(found)

    def _way(self) -> list[Stmt]:
        if self.way.network is not None:
            return self._network(self.way.network)
        assert self.way.plan is not None
        return self._shared(self.way.plan)

    # -- registers -------------------------------------------------------------------------------------------

    def _network(self, network: ExchangeNetwork) -> list[Stmt]:
        if network.per > 1:
            return self._packed(network)
        thread, found = Thread(1, self.place), list[Stmt]()
        values: list[Expr] = []
        for node in network.nodes:
            match node:
                case Input(word):
                    value: Expr = self._element(self.mine, self._number(word))
                case LaneExchange(source, lanes):
                    value = self._shuffled(values[source], lanes, thread)
                case Mix(first, second, picks):
                    where = thread.where([row[0] > 0 for row in picks])
                    value = Select(where, values[second], values[first], self.dtype, self.place)
            name = self.names.take(f"{self.exchange.array}_{len(values)}")
            found.append(Assign(name, value, self.place))
            values.append(Var(name, self.dtype, self.place))
        for slot, n in enumerate(network.outputs):
            found.append(Store(self.theirs, (self._number(slot),), values[n], self.place))
        return found

    def _shuffled(self, value: Expr, lanes: Sequence[int], thread: Thread) -> Shuffle:
        flips = {lane ^ other for lane, other in enumerate(lanes)}
        if len(flips) == 1:
            return Shuffle("xor", None, value, self._number(flips.pop()), self.dtype, self.place)
        return Shuffle("idx", None, value, thread.index(lanes), self.dtype, self.place)

    def _packed(self, network: ExchangeNetwork) -> list[Stmt]:
        """Return a network of words with several elements each, element by element: an array has all words, and
        statements side by side store a word. The printer makes one move of them (`cuda_out/passes/packed_words.py`)."""
        thread, per, nodes = Thread(1, self.place), network.per, len(network.nodes)
        words = self.names.take(f"{self.exchange.array}_words")
        self.arrays.append(DeclareArray(words, "local", (nodes * per,), self.dtype, self.place))

        def part(word: int, place: int) -> Load:
            return self._element(words, self._number(word * per + place))

        found: list[Stmt] = []
        for n, node in enumerate(network.nodes):
            match node:
                case Input(word):
                    own = [word * per + place for place in range(per)]  # those behind the end are 0
                    nothing = Const(0.0 if self.dtype.is_float else 0, self.dtype, self.place)
                    values: list[Expr] = [
                        self._element(self.mine, self._number(slot)) if slot < self._slots(self.mine) else nothing
                        for slot in own
                    ]
                case LaneExchange(source, lanes):
                    values = [self._shuffled(part(source, place), lanes, thread) for place in range(per)]
                case Mix(first, second, picks):
                    kinds = sorted(set(picks), key=picks.count)
                    some = [[(first, second)[pick // per] * per + pick % per for pick in kind] for kind in kinds]
                    where = [thread.where([row == kind for row in picks]) for kind in kinds[:-1]]
                    values = []
                    for place in range(per):
                        value: Expr = self._element(words, self._number(some[-1][place]))
                        for condition, kind in reversed(list(zip(where, some[:-1], strict=True))):
                            one = self._element(words, self._number(kind[place]))
                            value = Select(condition, one, value, self.dtype, self.place)
                        values.append(value)
            for place, value in enumerate(values):
                found.append(Store(words, (self._number(n * per + place),), value, self.place))
        for slot in range(self._slots(self.theirs)):
            value = part(network.outputs[slot // per], slot % per)
            found.append(Store(self.theirs, (self._number(slot),), value, self.place))
        return found

    # -- shared memory ---------------------------------------------------------------------------------------

    def _shared(self, plan: SharedPlan) -> list[Stmt]:
        """Return stores, a barrier and loads; a warp that keeps its elements has a part of the array of its own."""
        size = -(-(int(plan.layout.table().max()) + 1) // LANES) * LANES
        x, y, z = self.program.block
        teams = x * y * z // (plan.warps * LANES)
        name = self.names.take(f"{self.exchange.array}_tile")
        self.arrays.append(DeclareArray(name, "shared", (teams * size,), self.dtype, self.place))
        thread = Thread(plan.warps, self.place)
        own = binary("*", thread.warp, self._number(size)) if teams > 1 else None
        barrier = Barrier("warp" if plan.warps == 1 else "block", self.place)
        put, get = (self._addresses(moves, thread, own) for moves in (plan.stores, plan.loads))
        found: list[Stmt] = [barrier] if self.depth else []  # who loaded in the round before is done
        for at, slots, on in zip(put[1], plan.stores.slots, plan.stores.on, strict=True):
            if not on.any():
                continue
            cell = partial(_plus, at)

            def store(k: Expr, j: Expr, cell: Callable[[Expr], Expr] = cell) -> Stmt:
                return Store(name, (cell(j),), self._element(self.mine, k), self.place)

            moved = self._moved(slots, store)
            found += moved if on.all() else [If(thread.where(on.tolist()), tuple(moved), (), self.place)]
        found.append(barrier)
        for at, slots in zip(get[1], plan.loads.slots, strict=True):
            cell = partial(_plus, at)

            def load(k: Expr, j: Expr, cell: Callable[[Expr], Expr] = cell) -> Stmt:
                return Store(self.theirs, (k,), Load(name, (cell(j),), self.dtype, self.place), self.place)

            found += self._moved([self.way.loaded[slot] for slot in slots], load)
        kept: list[Stmt] = []
        for slot, own_slot in self.way.kept:  # read before anything is loaded, as `theirs` may be `mine`
            copy = self.names.take(f"{self.exchange.array}_kept_{slot}")
            kept.append(Assign(copy, self._element(self.mine, self._number(own_slot)), self.place))
            found.append(Store(self.theirs, (self._number(slot),), Var(copy, self.dtype, self.place), self.place))
        for slot, other in self.way.again:
            copied = self._element(self.theirs, self._number(other))
            found.append(Store(self.theirs, (self._number(slot),), copied, self.place))
        return [*put[0], *get[0], *kept, *found]

    def _addresses(self, moves: Moves, thread: Thread, own: Expr | None) -> tuple[list[Stmt], list[Expr]]:
        """Return where each instruction's vectors begin, and what is computed first: those that differ by a number, or
        by the same bits in all threads, share it."""
        first, found, bases = list[Stmt](), list[Expr](), list[tuple[Expr, Sequence[int]]]()
        for addresses in moves.addresses:
            index = (addresses // moves.width).tolist()
            at = next((shifted for base in bases if (shifted := self._shifted(index, *base)) is not None), None)
            if at is None:
                at = thread.index(index)
                if not isinstance(at, Const):
                    name = self.names.take(f"{self.exchange.array}_at")
                    first.append(Assign(name, at, self.place))
                    at = Var(name, DType.INDEX, self.place)
                bases.append((at, index))
            at = at if moves.width == 1 else binary("*", at, self._number(moves.width))
            found.append(at if own is None else binary("+", own, at))
        return first, found

    def _shifted(self, index: Sequence[int], base: Expr, known: Sequence[int]) -> Expr | None:
        """Return an index as a known one plus a number, or with some bits the other way; None where it is neither."""
        more, flips = ({f(a, b) for a, b in zip(index, known, strict=True)} for f in (int.__sub__, int.__xor__))
        if len(more) == 1:
            by = more.pop()
            return base if not by else binary("-" if by < 0 else "+", base, self._number(abs(by)))
        return binary("^", base, self._number(flips.pop())) if len(flips) == 1 else None

    def _moved(self, slots: Sequence[int], move: Callable[[Expr, Expr], Stmt]) -> list[Stmt]:
        """Return the moves of a vector's elements: a loop, printed as one access, where registers are in order."""
        steps = {b - a for a, b in pairwise(slots)}
        if len(steps) != 1:
            return [move(self._number(slot), self._number(j)) for j, slot in enumerate(slots)]
        name = self.names.loop_variable("j")
        j, step = Var(name, DType.INDEX, self.place), steps.pop()
        scaled = j if step == 1 else binary("*", j, self._number(step))
        slot = scaled if not slots[0] else binary("+", scaled, self._number(slots[0]))
        body = (move(slot, j),)
        return [For(name, self._number(0), self._number(len(slots)), self._number(1), body, self.place)]

    def _element(self, array: str, slot: Expr) -> Load:
        return Load(array, (slot,), self.dtype, self.place)

    def _slots(self, array: str) -> int:
        (shape,) = (
            each.shape
            for each in statements(self.program.body)
            if isinstance(each, DeclareArray) and each.name == array
        )
        return shape[0]

    def _number(self, value: int) -> Const:
        return number(value, self.place)


def _plus(at: Expr, j: Expr) -> Expr:
    return at if isinstance(j, Const) and j.value == 0 else binary("+", at, j)


def _stores(stmt: Stmt, array: str) -> Store | None:
    """Return the store to an array in a statement, if there is one."""
    return next((each for each in statements([stmt]) if isinstance(each, Store) and each.array == array), None)


def _loads(stmt: Stmt, array: str) -> Store | None:
    """Return the store of what is loaded of an array in a statement, if there is one."""
    for each in statements([stmt]):
        if isinstance(each, Store) and any(
            isinstance(part, Load) and part.array == array
            for own in own_expressions(each)
            for part in subexpressions(own)
        ):
            return each
    return None
