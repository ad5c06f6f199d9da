"""Scans of a block: the machine proves their texts against the serial specification; bank conflicts lane by lane."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from swizzle import SwizzleError, i32, layouts, load, operator, scan_operator, scans, serial, u32
from swizzle.language.specs.verify import verify
from swizzle.scans import Network
from swizzle.scans.block import dense, elements
from symbolic.expressions.columns import on_columns
from symbolic.machine.accesses import WarpAccess
from tests.swizzle.scans.examples import FAMILIES, solved


@operator(order="sequence", identity=1 << 16, types=u32)
def then(a, b):
    """Maps x -> p * x + q one after the other, each packed into a word."""
    scale, offset = (a >> 16) * (b >> 16), (a & 65535) * (b >> 16) + (b & 65535)
    return (scale & 65535) << 16 | offset & 65535


SOME = [("brent_kung", True), ("sklansky", False), ("kogge_stone", True), ("ladner_fischer", False)]


@pytest.mark.parametrize(
    ("name", "backward"),
    [
        pytest.param(name, backward, marks=[] if (name, backward) in SOME else [pytest.mark.slow])
        for name in FAMILIES
        for backward in (False, True)
    ],
)
def test_kernels_are_scans_of_words(name: str, backward: bool) -> None:
    """With an operator that does not commute, output i is the word of its inputs in order."""
    made = solved(name, backward).kernel(32, operator=then, dtype=u32)
    assert verify(made.sketch.program, made.sketch.spec).equal
    assert made.placement is not None and made.placement.free


def test_a_block_of_1024_threads() -> None:
    """The tree of Brent and Kung, by 512 threads."""
    made = solved("brent_kung").kernel(1024)
    assert made.threads == 512 and "if t < 1024 // (2 * d):" in made.text
    assert verify(made.sketch.program, made.sketch.spec).equal


@pytest.mark.slow
def test_other_operators_and_base_three() -> None:
    scan = solved("base_three")
    for made in (
        scan.kernel(27, operator="max", dtype=i32),
        scan.kernel(27, threads=27, place=False),
    ):
        assert verify(made.sketch.program, made.sketch.spec).equal


@serial
def first_and_last(x: i32):
    """Two results of a loop, of which the first is that of the first element that is not 0."""
    first, last = 0, 0
    for v in x:
        first = v if first == 0 else first
        last = v
    return first, last


def test_operators_on_words() -> None:
    """Found of a loop: forward, backward, where all read before any writes; several results."""
    op = scan_operator(first_and_last)
    for name, backward in (("kogge_stone", False), ("brent_kung", True)):
        made = solved(name, backward).kernel(16, operator=op)
        sketch = made.sketch
        assert verify(sketch.program, sketch.spec).equal and "op.combine(" in made.text
        data = np.array([0, 0, 5, 0, 7, 1, 0, 3, 2, 2, 0, 9, 0, 0, 4, 0])
        words = sketch.spec(data)
        wanted = [first_and_last(data[i:] if backward else data[: i + 1]) for i in range(16)]
        assert [tuple(map(int, row)) for row in zip(*words.values(), strict=True)] == wanted


def test_swapped_operands_are_no_scan() -> None:
    """What the machine proves is the order, too."""
    made = solved("sklansky").kernel(16, operator=then, dtype=u32, place=False)
    text = made.text.replace("then(a[i - i % d - 1], a[i])", "then(a[i], a[i - i % d - 1])")
    assert text != made.text
    wrong = type(made)(made.name, text, made.threads, None, made.operator).sketch
    assert not verify(wrong.program, wrong.spec).equal


def test_the_saved_text_is_the_sketch(tmp_path: Path) -> None:
    made = solved("brent_kung").kernel(64)
    made.save(tmp_path / "scan.swz")
    (sketch,) = load(tmp_path / "scan.swz")
    assert verify(sketch.program, sketch.spec).equal and sketch.program.name == made.name


@pytest.mark.parametrize(("name", "threads"), [("brent_kung", 128), ("brent_kung", 256), ("sklansky", 128)])
def test_what_warps_ask(name: str, threads: int) -> None:
    """The accesses of a scan are those of its network, and turns are counted lane by lane."""
    scan, size = solved(name), 256
    asked = scan.accesses(size, threads)
    found = scan.kernel(size, threads=threads).placement
    assert found is not None and found.layout is not None
    table = found.layout.table().ravel()
    turns, taken = 0, []
    for access in asked:
        rows = access.of((size,), 32).starts[:, :, 0]
        taken.append(rows[rows >= 0])
        for row in rows:
            cells = tuple(int(table[cell]) if cell >= 0 else -1 for cell in row)
            turns += WarpAccess("a", "shared", False, (1 << 16,), 4, cells).passes
    assert found.passes == turns
    edges = [(i, s) for step in scan.network(size).steps for i, s in enumerate(step) if s >= 0]
    wanted = [
        *(s for _, s in edges),
        *(i for i, _ in edges for _ in range(2)),
        *itertools.chain(range(size), range(size)),
    ]
    assert sorted(np.concatenate(taken).tolist()) == sorted(wanted)


def test_placements() -> None:
    """Of a tree by half as many threads: 915 conflicts in order, none by an xor, and no words more."""
    scan = solved("brent_kung")
    assert layouts.count(layouts.row_major((1024,)), scan.accesses(1024)).conflicts == 915
    found = scan.kernel(1024).placement
    assert found is not None and found.counted is not None and found.layout is not None
    assert found.free and (found.layout.formula, found.layout.bytes) == ("x ^ ((x >> 5) & (x ^ x + 1) & 31)", 4096)
    turned = solved("brent_kung", True).kernel(1024).placement
    assert turned is not None and turned.free and turned.layout is not None
    assert turned.layout.formula == "x ^ ((x >> 5) & (x ^ x - 1) & 31)"
    assert layouts.count(layouts.row_major((1024,)), scan.accesses(1024, threads=1024)).conflicts == 0


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == "sklansky" else [pytest.mark.slow]) for name in FAMILIES],
)
def test_threads_without_gaps(name: str) -> None:
    """Thread by thread, the elements are those whose condition holds, each once, in order."""
    for backward in (False, True) if name == "brent_kung" else (False,):
        algorithm = solved(name, backward).loops
        for loop, own in zip(algorithm.loops, dense(algorithm, 256), strict=True):
            for step, form in zip(loop.steps, own, strict=True):
                for size, d in [(n, d) for n in (8, 64, 128) for d in loop.distances(n)]:
                    if form is None:
                        continue
                    names = {"d": d, "N": size}
                    threads = np.arange(form.first, int(on_columns(form.end, names)))
                    got = np.broadcast_to(on_columns(form.element, {"t": threads, **names}), len(threads)).tolist()
                    on = np.broadcast_to(on_columns(step.when, {"i": np.arange(size), **names}), size)
                    assert got == [i for i in range(size) if on[i]] == elements(step, size, d).tolist()
    forms = [form is not None for own in dense(solved(name).loops, 64) for form in own]
    assert all(forms) or name == "ladner_fischer"


def test_mistakes() -> None:
    scan = solved("kogge_stone")
    for call, said in (
        (lambda: scan.kernel(100), "the size is 100"),
        (lambda: scan.kernel(2048), "the scan takes 2048 threads"),
        (lambda: scan.kernel(64, threads=7), "7 threads for a scan of 64 elements"),
        (lambda: scan.network(0), "the size is 0"),
        (lambda: scans.solve(relaxed_from=Network(2, ((-1, 0),))), "relaxed_from is"),  # type: ignore[arg-type]
        (lambda: scan.kernel(64, operator="-"), "the operator is '-'"),
        (lambda: scan.kernel(64, dtype="i32"), "the type of the elements is 'i32'"),  # type: ignore[arg-type]
    ):
        with pytest.raises(SwizzleError) as error:
            call()
        assert said in str(error.value)
        assert error.value.place is not None and error.value.place.file == __file__
