"""Answers against lanes counted one by one, and against every layout of small tiles in small memories."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swizzle import layouts
from swizzle.layouts import Access, FoundLayout
from swizzle.layouts.layout import agrees, linear
from swizzle.layouts.requests import requests_of
from swizzle.layouts.search import lightest
from swizzle.layouts.steps import FlipBits
from symbolic.solve.edge_colours import edge_colours
from tests.swizzle.layouts import oracle


def best(shape: Sequence[int], accesses: Sequence[Access], **options: object) -> FoundLayout:
    """Return the answer, counted again lane by lane."""
    answer = layouts.best(shape, accesses, **options)  # type: ignore[arg-type]
    if answer.layout is not None:
        bits, banks, word = (int(options.get(key, usual)) for key, usual in (("bits", 32), ("banks", 32), ("word", 4)))  # type: ignore[call-overload]
        table = answer.layout.table()
        assert len(np.unique(table)) == table.size and agrees(answer.layout)
        assert oracle.turns(table, accesses, bits, banks, word) == answer.passes
        assert answer.passes >= answer.least and answer.optimal == (answer.passes == answer.least)
    return answer


def small_accesses(shape: tuple[int, ...]) -> st.SearchStrategy[list[Access]]:
    """Up to three accesses, each of one or two instructions of four lanes, to any cells."""
    cells = st.one_of(st.none(), st.tuples(*(st.integers(0, n - 1) for n in shape)))
    instruction = st.lists(cells, min_size=4, max_size=4)

    def access(rows: list[list[tuple[int, ...] | None]]) -> Access:
        return layouts.access(lambda lane, k: rows[k][lane], lanes=4, k=len(rows))

    return st.lists(st.lists(instruction, min_size=1, max_size=2).map(access), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(2, 3), (2, 4), (7, 1)]).flatmap(lambda shape: st.tuples(st.just(shape), small_accesses(shape)))
)
def test_no_layout_at_all_is_better(given: tuple[tuple[int, ...], list[Access]]) -> None:
    """Of all ways to give the cells of a small tile to four banks, the answer is the best."""
    shape, accesses = given
    answer = best(shape, accesses, banks=4)
    wanted = [np.array(cells) for each in accesses for cells in _cells(each, shape)]
    least = min(
        sum(int(np.bincount(np.array(banks)[cells], minlength=1).max()) for cells in wanted if len(cells))
        for banks in oracle.every_bank(int(np.prod(shape)), 4)
    )
    assert answer.passes == answer.least == least


@settings(max_examples=40, deadline=None)
@given(small_accesses((4, 4)), st.sampled_from([16, 32]))
def test_no_layout_that_keeps_vectors_whole_is_better(accesses: list[Access], bits: int) -> None:
    """Rows in vectors of two words, and single cells (of half a word, too): every way to put vectors in two places,
    the first one in the first: to exchange the places exchanges banks."""
    width = 64 // bits
    every = [layouts.rows(width), *accesses]
    answer = best((4, 4), every, bits=bits, banks=4)
    found = []
    for places in product((0,), *[(0, 1)] * (16 // width - 1)):
        table, used = np.empty(16, np.int64), [0, 0]
        for vector, place in enumerate(places):
            start = (2 * used[place] + place) * width
            table[vector * width : (vector + 1) * width] = np.arange(start, start + width)
            used[place] += 1
        found.append(oracle.turns(table.reshape(4, 4), every, bits, banks=4))
    assert answer.passes == answer.least == min(found)


def _cells(access: Access, shape: tuple[int, ...]) -> list[list[int]]:
    starts = access.of(shape, 32).starts
    return [
        sorted({int(np.ravel_multi_index(tuple(cell), shape)) for cell in row if cell[0] >= 0})
        for row in starts.tolist()
    ]


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from([(16, 64), (8, 32), (24, 40)]), st.sampled_from([8, 16, 32]))
def test_random_accesses_are_counted_rightly(data: st.DataObject, shape: tuple[int, int], bits: int) -> None:
    """Any mixture of patterns, of any width: the turns of the answer are those of its lanes."""
    some = [
        layouts.rows(),
        layouts.rows(2),
        layouts.rows(4),
        layouts.columns(),
        layouts.columns(2),
        layouts.blocks(4, 8),
        layouts.linear("column"),
        layouts.cp_async(8),
    ]
    best(shape, data.draw(st.lists(st.sampled_from(some), min_size=1, max_size=3)), bits=bits, families=["xor", "pad"])


@pytest.mark.parametrize("banks, word", [(1, 4), (8, 4), (16, 4), (32, 8), (64, 4)])
@pytest.mark.parametrize("bits", [8, 32, 64])
def test_other_memories(banks: int, word: int, bits: int) -> None:
    """Of other numbers of banks, and of wider words; vectors may be as wide as all banks, or wider."""
    for accesses in ([layouts.rows(), layouts.columns()], [layouts.cp_async(16), layouts.blocks(4, 8)]):
        answer = best((16, 32), accesses, bits=bits, banks=banks, word=word)
        assert answer.layout is not None
        count = layouts.count(answer.layout, accesses, banks=banks, word=word)
        assert (count.turns, count.least) == (answer.passes, answer.least)


def test_the_known_answers() -> None:
    """32 x 32 with rows and columns: in place, two instructions; with pads only: 33; a single column: turned round."""
    rows, columns = layouts.rows(), layouts.columns()
    answer = best((32, 32), [rows, columns])
    assert answer.layout is not None
    assert (answer.layout.formula, answer.passes, answer.free, answer.layout.bytes) == (
        "r * 32 + (c ^ r)",
        64,
        True,
        4096,
    )
    padded = best((32, 32), [rows, columns], families=["pad"])
    assert padded.layout is not None and padded.layout.formula == "r * 33 + c"
    assert padded.layout.bytes == 4 * (32 * 33 - 1)
    turned = best((24, 36), [rows, columns], families=["rotate"])
    assert turned.layout is not None and turned.free and turned.layout.kind == "rotate"
    column = best((32, 32), [columns])
    assert column.layout is not None and column.layout.kind == "column major"
    tight = best((32, 32), [rows, columns], families=["pad"], at_most=4096)
    assert tight.layout is not None and not tight.free and not tight.optimal


def test_a_table_where_no_formula_is_free() -> None:
    """Both linear orders of a 30 x 37 tile, by edge colouring; without tables the answer stays open."""
    accesses = [layouts.linear("row"), layouts.linear("column")]
    answer = best((30, 37), accesses)
    assert answer.layout is not None and answer.layout.kind == "table" and answer.free and answer.optimal
    assert answer.layout.bytes == -(-30 * 37 // 32) * 128 and answer.layout.table_bytes == 2 * 30 * 37
    formula = best((30, 37), accesses, families=["xor", "rotate", "pad"])
    assert formula.layout is not None and not formula.optimal and "open" in formula.proof
    assert "NO FORMULA: a table of 2220 bytes" in repr(answer) and "NO FORMULA" not in repr(formula)


@pytest.mark.parametrize("shape, bits", [((32, 32), 32), ((20, 24), 32), ((24, 48), 16), ((12, 20), 64)])
def test_a_table_for_accesses_of_different_widths(shape: tuple[int, int], bits: int) -> None:
    """Rows in vectors of 16 bytes and cell by cell, columns cell by cell: a column spread evenly over the vectors."""
    accesses = [layouts.rows(128 // bits), layouts.rows(), layouts.columns()]
    answer = best(shape, accesses, bits=bits, families=["table"])
    assert answer.layout is not None and answer.layout.kind == "table" and answer.optimal and not answer.free
    assert answer.layout.bytes == shape[0] * shape[1] * bits // 8 and "By edge colouring" in answer.proof


def test_what_a_solver_settles() -> None:
    """Vectors of two beside columns that do not meet them; rows, columns and diagonals of 4 x 4 words in four banks.

    The diagonals are not free, too: the Latin square of a cyclic group of even order has no transversal (Euler, 1782).
    """
    wide = best((9, 40), [layouts.linear("row", 2), layouts.linear("column")])
    assert wide.layout is not None and wide.layout.kind == "table" and wide.optimal and "By a solver" in wide.proof
    down, up = (
        layouts.access(lambda lane, k, by=by: (lane, (k + by * lane) % 4) if lane < 4 else None, k=4) for by in (1, -1)
    )
    three = best((4, 4), [layouts.rows(), layouts.columns(), down], banks=4)
    assert (three.passes, three.least, three.optimal) == (14, 14, True)
    assert "12 phases take 14 turns, and no layout has fewer, which a solver proves" in three.proof
    assert layouts.best((4, 4), [layouts.rows(), layouts.columns(), down, up], banks=4).least == 20
    formula = best((4, 4), [layouts.rows(), layouts.columns(), down], banks=4, families=["xor", "rotate", "pad"])
    assert not formula.optimal and formula.least == 12 and "open" in formula.proof


def test_vectors_that_force_conflicts() -> None:
    """Rows in 16-byte vectors and single columns: four turns, in every layout; vectors that cannot both be whole."""
    answer = best((64, 64), [layouts.rows(4), layouts.columns()])
    assert answer.optimal and not answer.free and answer.counted is not None
    assert answer.counted.shares[1].turns == 4 * answer.counted.shares[1].phases
    assert "4 turns at least" in answer.proof
    none = best((32, 32), [layouts.rows(4), layouts.columns(4)])
    assert none.layout is None and none.passes is None and "no layout keeps both whole" in none.proof
    crooked = layouts.access(lambda lane: (lane, 1), width=2)
    assert "no layout keeps both whole" in best((32, 32), [layouts.rows(4), crooked]).proof


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("size, b", [(32, 1), (64, 2), (128, 3)])
def test_the_atoms_of_cute_and_tma(bits: int, size: int, b: int) -> None:
    """Found for ldmatrix and 16-byte rows, and the only Swizzle with so few bits that is free and in place."""
    row, least = 8 * size // bits, {8: 4, 16: 3, 32: 2}[bits]
    accesses = [layouts.ldmatrix(4), layouts.cp_async(16)]
    answer = best((8, row), accesses, bits=bits)
    assert answer.layout is not None and answer.free and answer.layout.tma == f"{size}B"
    plain = f"Layout<Shape<_8,_{row}>,Stride<_{row},_1>>"
    assert answer.layout.cute == f"composition(Swizzle<{b},{least},3>{{}}, {plain}{{}})"
    free = []
    for fewer, m, s in product(range(b + 1), range(least, least + 4), range(7)):
        if s >= fewer:
            layout = layouts.swizzled((8, row), fewer, m, s, bits)
            if layout.table().max() < 8 * row and layouts.count(layout, accesses).conflicts == 0:
                free.append((fewer, m, s))
    assert free == [(b, least, 3)]
    assert best((8, row), accesses, bits=bits, tma=True).layout == answer.layout


def test_six_patterns_at_once() -> None:
    """Rows, columns and all blocks of 32 words of a 64 x 64 tile, by a bit matrix."""
    blocks = [layouts.blocks(2**k, 2 ** (5 - k)) for k in range(6)]
    answer = best((64, 64), [layouts.rows(), layouts.columns(), *blocks])
    assert answer.layout is not None and answer.free and answer.layout.kind == "xor" and answer.layout.bytes == 1 << 14


def test_a_scan_without_padding() -> None:
    """Blelloch's scan of 256 words, both children of each node: a pad has conflicts, flipped bits have none."""

    def node(side: int) -> Callable[[int, int, int], int | None]:
        def cell(lane: int, level: int, warp: int) -> int | None:
            i = lane + 32 * warp
            return 2**level * (2 * i + side) - 1 if i < 128 >> level else None

        return cell

    levels = [(level, max(1, 4 >> level)) for level in range(8)]
    accesses = [layouts.access(node(side), level=[d], warp=w) for side in (1, 2) for d, w in levels]
    answer = best((256,), accesses)
    assert answer.layout is not None and answer.free and answer.layout.bytes == 1024
    plain = layouts.count(layouts.row_major((256,)), accesses)
    assert plain.turns > plain.least == answer.passes


@settings(max_examples=60, deadline=None)
@given(small_accesses((4, 4)), st.booleans())
def test_the_lightest_matrix(accesses: list[Access], vectors: bool) -> None:
    """Of all matrices of a memory of four banks, none with fewer ones is free; None only where none is free at all.

    Beside vectors of two words, only the upper bit of a bank may be flipped.
    """
    accesses = [*accesses, *([layouts.rows(2)] if vectors else [])]
    requests = requests_of((4, 4), accesses, 32, banks=4)
    x = linear((4, 4), (0, 1))
    free = []
    for columns in product((0, 2) if vectors else range(4), repeat=2):
        table = FlipBits((0, 0, *columns)).of(x)
        if oracle.turns(table, accesses, 32, banks=4) == requests.free:
            free.append(sum(column.bit_count() for column in columns))
    found = lightest(requests, x)
    assert found != "unknown"
    assert (found.ones if isinstance(found, FlipBits) else None) == min(free, default=None)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=60), st.sampled_from([1, 4, 8]))
def test_colours(edges: list[tuple[int, int]], colours: int) -> None:
    """Edges that meet differ; None exactly where a vertex has too many; no colour is used more than it must be."""
    left, right = (np.array([edge[k] for edge in edges], np.int64) for k in (0, 1))
    found = edge_colours(left, right, colours)
    degree = max((np.bincount(side).max(initial=0) for side in (left, right)), default=0)
    assert (found is None) == (degree > colours)
    if found is not None:
        for side in (left, right):
            assert len({(end, colour) for end, colour in zip(side.tolist(), found.tolist(), strict=True)}) == len(edges)
        vertices = max(max(left.max(initial=0), right.max(initial=0)) + 1, -(-len(edges) // colours))
        assert np.bincount(found, minlength=1).max() <= vertices


def test_counting_a_layout_of_ones_own() -> None:
    """The classic: 32 x 32 plain, then with a pitch of 33."""
    accesses = [layouts.rows(), layouts.columns()]
    assert layouts.count(layouts.row_major((32, 32)), accesses).turns == 32 + 32 * 32
    assert layouts.count(layouts.padded((32, 32), 33), accesses).conflicts == 0


def operands() -> list[tuple[tuple[int, int], int, list[Access]]]:
    """Every operand of mma and ldmatrix, by majorness, beside stores of 16 to 128 bits a lane."""
    kinds = [(32, "m16n8k4"), (32, "m16n8k8"), (16, "m16n8k8"), (16, "m16n8k16"), (8, "m16n8k16"), (8, "m16n8k32")]
    found = []
    for bits, shape in kinds:
        for operand, along, store in product("ABC", (0, 1), (16, 32, 64, 128)):
            if store >= bits and (operand != "C" or bits >= 16):
                reads = layouts.mma(operand, shape, along=along)  # type: ignore[arg-type]
                linear = layouts.linear("row" if along else "column", store // bits)
                found.append(((64, 64), bits, [reads, linear]))
        for trans, store in product((False, True), (16, 32, 64, 128)):
            if store >= bits:
                linear = layouts.linear("column" if trans else "row", store // bits)
                found.append(((64, 64), bits, [layouts.ldmatrix(4, trans=trans, along=int(not trans)), linear]))
    return found


@pytest.mark.parametrize("trans", [False, True])
def test_operand_b_in_rows_of_n(trans: bool) -> None:
    """Banks know nothing of what registers hold; along the other axis, the copies' vectors are torn apart."""
    copies = layouts.cp_async(16)
    answer = layouts.best((64, 64), [copies, layouts.ldmatrix(4, trans=trans)], bits=16)
    assert answer.layout is not None and answer.layout.formula == "r * 64 + (c ^ ((r << 3) & 56))"
    assert (answer.passes, answer.free) == (128, True)
    other = layouts.best((64, 64), [copies, layouts.ldmatrix(4, trans=trans, along=0)], bits=16)
    assert other.layout is None and "along=0) moves the cells from (0, 0) to (7, 0) at once" in other.proof


def test_operands() -> None:
    """A sample: free, or proved to be impossible."""
    for shape, bits, accesses in operands()[::17]:
        assert best(shape, accesses, bits=bits).optimal


@pytest.mark.slow
def test_every_operand() -> None:
    """Free, or proved to be impossible; 0.2 s each."""
    open_ones = []
    for shape, bits, accesses in operands():
        before = time.process_time()
        answer = layouts.best(shape, accesses, bits=bits)
        assert time.process_time() - before < 2
        if not answer.optimal:
            open_ones.append((bits, accesses, answer.passes, answer.least))
    assert open_ones == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rows and columns", "flat"])
def test_every_tile(kind: str) -> None:
    """All m, n in 1 ... 64: fewest turns, proved; rows and columns always in place and by a formula."""
    flat = [layouts.linear("row"), layouts.linear("column")]
    accesses = flat if kind == "flat" else [layouts.rows(), layouts.columns()]
    for m, n in product(range(1, 65), repeat=2):
        answer = layouts.best((m, n), accesses)
        assert answer.optimal and answer.free and answer.layout is not None, (m, n)
        if kind != "flat":
            assert answer.layout.kind != "table", (m, n)
        assert (m * n) % 7 or oracle.turns(answer.layout.table(), accesses, 32) == answer.passes


def test_a_sample_of_tiles() -> None:
    """Some of all m, n in 1 ... 64, both ways."""
    for m, n in [(1, 1), (2, 64), (64, 2), (7, 32), (32, 48), (33, 31), (40, 64), (64, 64), (61, 59)]:
        for accesses in ([layouts.rows(), layouts.columns()], [layouts.linear("row"), layouts.linear("column")]):
            assert best((m, n), accesses).free
