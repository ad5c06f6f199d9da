"""Which local arrays of 8- and 16-bit elements are printed as words of 32 bits, and which statements move whole words.

A shuffle moves a word, so four bytes or two halves that come from one lane need one shuffle, and a byte permute puts
words together. The program says this element by element: neighbouring statements, or a loop, which is then written out,
store all elements of a word.

    w[4] = shfl(w[0], lane)                    w[1] = shfl(w[0], lane)          # w: words
    w[5] = shfl(w[1], lane)             ->
    w[6] = shfl(w[2], lane)
    w[7] = shfl(w[3], lane)

    w[8] = w[1] if lane < 16 else w[4]         w[2] = byte_perm(w[0], w[1], 0x... if lane < 16 else 0x...)
    w[9] = w[0] if lane < 16 else w[3]  ->
    ...

An array is one of words where a shuffle moves a word of it, or where such words are put together of its words, and
where all its elements are accessed at places that are known when loops are unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.analysis.registers import is_static, local_arrays, register_indices, static_names
from cuda_out.passes.simplify import simplify_expression
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, bodies, map_bodies, map_own, names_in, same, statements, substitute

Word: TypeAlias = tuple[str, int]
"""An array, and the number of a word in it."""
LONGEST: Final = 64  # elements that a loop shuffles


class WordMove(Struct, frozen=True):
    """A word that statements store, element by element.

    With a `shuffle` it is that of the first source, to the shuffle's lane. Otherwise `rows` says which elements of the
    sources it has, those of the second one counted on, in threads where the first of `conditions` holds, else the
    second, ..., else none of them; there is a row more than conditions.
    """

    target: Word
    sources: tuple[Word, ...]
    shuffle: ir.Shuffle | None = None
    conditions: tuple[Expr, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()

    @property
    def whole(self) -> tuple[int | None, ...]:
        """Of each row, the source that it has whole and in order, if there is one."""
        per = len(self.rows[0])
        starts = (row[0] // per if row[0] % per == 0 else None for row in self.rows)
        return tuple(
            start if start is not None and row == tuple(range(start * per, (start + 1) * per)) else None
            for start, row in zip(starts, self.rows, strict=True)
        )

    @property
    def is_copy(self) -> bool:
        """Whether it is a word as it is."""
        return self.shuffle is None and len(self.rows) == 1 and self.whole[0] is not None

    @property
    def takes_words(self) -> bool:
        """Whether a condition chooses one of two words; otherwise bytes are permuted."""
        return len(self.rows) == 2 and None not in self.whole


def per_word(dtype: DType) -> int:
    """Return how many elements a word has, 0 for what does not go into words of several."""
    return 32 // dtype.bits if dtype.is_data and dtype is not DType.STATE and dtype.bits < 32 else 0


def write_out_words(program: Program) -> Program:
    """Return the same program with loops that shuffle whole words, element by element, written out."""
    arrays = _small(program)

    def changed(body: Body) -> Body:
        found: list[Stmt] = []
        for stmt in body:
            stores = _written_out(stmt)
            runs = list(_runs(stores, arrays)) if stores else []
            if stores and sum(len(some) for some, move in runs if move.shuffle) == len(stores):
                found += stores  # a loop's variable has no value behind it
            else:
                found.append(map_bodies(stmt, changed))
        return tuple(found)

    return replace(program, body=changed(program.body)) if arrays else program


def _written_out(stmt: Stmt) -> Body:
    """Return the stores of a loop over a shuffle; none of other statements."""
    match stmt:
        case ir.For(
            variable=name,
            start=ir.Const(value=0),
            stop=ir.Const(value=count),
            step=ir.Const(value=1),
            body=(ir.Store(value=ir.Shuffle()) as store,),
        ) if 2 <= count <= LONGEST:
            numbers = (ir.Const(n, DType.INDEX, stmt.place) for n in range(int(count)))
            each = (map_own(store, lambda expr, n=n: substitute(expr, name, n)) for n in numbers)  # type: ignore[misc]
            return tuple(map_own(one, lambda expr: simplify_expression(expr, {})) for one in each)
        case _:
            return ()


def _small(program: Program) -> dict[str, ir.DeclareArray]:
    """Return the local arrays with one dimension, of elements that are smaller than a word."""
    arrays = local_arrays(program).items()
    return {name: each for name, each in arrays if len(each.shape) == 1 and per_word(each.dtype) > 1}


class PackedWords:
    """The arrays of a program that are printed as words, and the statements that are one move of a word.

    `moves` has the last statement of each move, by its id, `parts` the ids of all others.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        found = [each for body in _bodies(program.body) for each in _runs(body, self._declared)]
        shuffled = [move for stores, move in found if move.shuffle and len(stores) > 1]
        arrays = {array for move in shuffled for array, _ in (move.target, *move.sources)} & self._static
        while True:
            near = [
                each for _, move in found
                if (each := {move.target[0], *(array for array, _ in move.sources)}) & arrays
            ]  # fmt: skip
            grown = arrays.union(*near) & self._static
            if grown == arrays:
                break
            arrays = grown
        self.arrays = {name: self._declared[name] for name in arrays}
        self.moves: dict[int, WordMove] = {}
        self.parts: set[int] = set()
        for stores, move in found:
            if {move.target[0], *(array for array, _ in move.sources)} <= arrays:
                self.moves[id(stores[-1])] = move
                self.parts |= {id(each) for each in stores[:-1]}

    @cached_property
    def _declared(self) -> dict[str, ir.DeclareArray]:
        return _small(self._program)

    @cached_property
    def _static(self) -> set[str]:
        """The arrays whose elements are all accessed at places that a compiler knows."""
        if not self._declared:
            return set()
        static = static_names(self._program)
        found = set(self._declared)
        for stmt in statements(self._program.body):
            for name in list(found):
                if not all(is_static(index, static) for index in register_indices(stmt, frozenset({name}))):
                    found.discard(name)
        return found


def _bodies(body: Body) -> Iterator[Body]:
    yield body
    for stmt in body:
        for inner in bodies(stmt):
            yield from _bodies(inner)


def _runs(body: Body, arrays: Mapping[str, ir.DeclareArray]) -> Iterator[tuple[list[ir.Store], WordMove]]:
    """Yield the stores of each word that neighbouring statements of a body store whole."""
    if not arrays:
        return
    at = 0
    while at < len(body):
        stores, behind = _run(body, at, arrays)
        move = _move(stores, arrays) if stores else None
        if move is not None:
            yield stores, move
        at = behind if move is not None else at + 1


def _run(body: Body, at: int, arrays: Mapping[str, ir.DeclareArray]) -> tuple[list[ir.Store], int]:
    """Return the stores to all elements of one word that begin at a statement, and where they end; none if it is
    otherwise. Between them, indices may be computed that the stores before do not use. Constants come last; they are
    stored after the move, one by one."""
    word, wanted, stores, behind = None, set[int](), list[ir.Store](), 0
    for number in range(at, len(body)):
        stmt = body[number]
        match stmt:
            case ir.Store(array=array, indices=(ir.Const(value=index),), atomic=False) if array in arrays:
                per = per_word(arrays[array].dtype)
                here = (array, int(index) // per)
                if word is None:
                    word = here
                    wanted = set(range(here[1] * per, min((here[1] + 1) * per, arrays[array].shape[0])))
                if here != word or int(index) not in wanted:
                    return [], at
                wanted.discard(int(index))
                constant = isinstance(stmt.value, ir.Const)
                if behind and not constant:
                    return [], at
                behind = behind or (number if constant else 0)
                stores += [] if constant else [stmt]
                if not wanted:
                    return stores, behind or number + 1
            case ir.Assign(name=name, value=value) if (
                stores and not value.dtype.is_data and not any(name in names_in(each.value) for each in stores)
            ):
                pass
            case _:
                return [], at
    return [], at


def _move(stores: Sequence[ir.Store], arrays: Mapping[str, ir.DeclareArray]) -> WordMove | None:
    """Return the stores as a move of a word; None where they are none."""
    array = arrays[stores[0].array]
    per = per_word(array.dtype)
    values = {_index(each) % per: each.value for each in stores}
    target = array.name, _index(stores[0]) // per
    first = stores[0].value
    if isinstance(first, ir.Shuffle):
        sources = set[Word]()
        for place, value in values.items():
            if not isinstance(value, ir.Shuffle) or not same(_like(value, first), first):
                return None
            leaf = _leaf(value.value, array.dtype, arrays)
            if leaf is None or leaf[1] % per != place:
                return None
            sources.add((leaf[0], leaf[1] // per))
        return WordMove(target, tuple(sources), first) if len(sources) == 1 else None
    return _mixed(target, values, array.dtype, arrays)


def _index(store: ir.Store) -> int:
    (index,) = store.indices
    assert isinstance(index, ir.Const)
    return int(index.value)


def _like(value: ir.Shuffle, first: ir.Shuffle) -> ir.Shuffle:
    return ir.Shuffle(value.mode, value.mask, first.value, value.lane, value.dtype, value.place)


def _leaf(expr: Expr, dtype: DType, arrays: Mapping[str, ir.DeclareArray]) -> tuple[str, int] | None:
    match expr:
        case ir.Load(array=array, indices=(ir.Const(value=index),)) if array in arrays and arrays[array].dtype is dtype:
            return array, int(index)
        case _:
            return None


def _mixed(
    target: Word, values: Mapping[int, Expr], dtype: DType, arrays: Mapping[str, ir.DeclareArray]
) -> WordMove | None:
    """Return a word that is put together of one or two; all its elements are chosen by the same conditions, the last of
    which are left out where they change nothing."""
    per = per_word(dtype)
    conditions: tuple[Expr, ...] = ()
    leaves: dict[int, list[tuple[str, int]]] = {}
    for place, value in values.items():
        chain, rest = list[Expr](), value
        leaves[place] = []
        while isinstance(rest, ir.Select):
            chain.append(rest.condition)
            leaf = _leaf(rest.then, dtype, arrays)
            if leaf is None:
                return None
            leaves[place].append(leaf)
            rest = rest.otherwise
        leaf = _leaf(rest, dtype, arrays)
        if leaf is None:
            return None
        leaves[place].append(leaf)
        if not all(map(same, chain, conditions)):
            return None
        conditions = max(conditions, tuple(chain), key=len)
    sources = list(dict.fromkeys((array, index // per) for some in leaves.values() for array, index in some))
    if len(sources) > 2 or target in sources:
        return None
    rows = []
    for number in range(len(conditions) + 1):
        row: list[int | None] = [None] * per
        for place, some in leaves.items():
            array, index = some[min(number, len(some) - 1)]
            row[place] = sources.index((array, index // per)) * per + index % per
        known = next(each - place for place, each in enumerate(row) if each is not None)
        # what is behind the end of an array is of no matter: let the word stay whole
        rows.append(
            tuple(min(max(0, known + place), 2 * per - 1) if each is None else each for place, each in enumerate(row))
        )
    return WordMove(target, tuple(sources), None, conditions, tuple(rows))
