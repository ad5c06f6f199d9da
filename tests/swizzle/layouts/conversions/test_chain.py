"""The printed function through the chain: compiled, its PTX run on variables, its instructions counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from bench.conversions import CASES, kernel_text, sass_counts
from cuda_out.compile.report import instruction_counts
from cuda_out.compile.toolchain import compile_cuda
from swizzle import layouts
from swizzle.layouts import Conversion, convert
from swizzle.layouts.conversions.network import LaneExchange, Mix
from tests.swizzle.layouts.conversions.chain import wrong_elements

COMPILED = ["fp8", "quads", "AoS 5"]


@pytest.mark.parametrize("name", COMPILED)
def test_every_element_lands_and_instructions_are_as_counted(name: str) -> None:
    """The compiler may join two selects of one value by a predicate, and so need fewer."""
    source, target, options = CASES[name]
    found = convert(source, target, via="shuffles", **options)
    assert wrong_elements(found) == []
    counted = sass_counts(found) if name == "quads" else None  # the others: marked as slow, and bench/conversions.py
    if counted is not None:
        assert counted == (found.shuffles, found.selects)


def test_a_transposed_matrix_is_one_instruction() -> None:
    """`movmatrix`, as it is compiled, brings each element to its place: one MOVM for each matrix of 8x8."""
    source, target, options = CASES["16x16 b16"]
    found = convert(source, target, fewest="instructions", **options)
    assert (found.transpositions, found.shuffles, found.selects) == (4, 0, 0)
    assert wrong_elements(found) == []
    counts = instruction_counts(compile_cuda(kernel_text(found), "sm_90").cubin, "k")
    assert counts is None or counts["MOVM"] == 4


@pytest.mark.parametrize("name", ["fp8", "warps"])
def test_shared_memory(name: str) -> None:
    """Stores, the barrier and loads, of bytes, of a layout with a formula, of several warps: no race."""
    source, target, options = CASES[name]
    found = convert(source, target, via="shared", **options)
    assert found.via == "shared" and wrong_elements(found) == []


def test_any_distribution() -> None:
    """Lanes and conditions without a formula, cells that are held twice: tables, and one store each."""
    order = [(7 * n * n + 3 * n) % 61 for n in range(64)]
    source = layouts.distribution(lambda r, lane: order[2 * lane + r], registers=2, shape=(61,))
    target = layouts.distribution(lambda r, lane: order[63 - 2 * lane - r], registers=2, shape=(61,))
    for via in ("shuffles", "shared"):
        assert wrong_elements(convert(source, target, bits=16, via=via)) == []  # type: ignore[arg-type]


def test_warps_that_hold_the_same() -> None:
    """One of them stores: a write by two would be a race."""
    source = layouts.distribution(lambda r, lane, warp: 2 * lane + r, registers=2, warps=2)
    target = layouts.distribution(lambda r, lane, warp: 63 - lane - 32 * warp, registers=1, warps=2)
    assert wrong_elements(convert(source, target, bits=32, via="shared")) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("target", "bits", "turns"),
    [("c0 c1 r3 | c3 c4 r0 r1 r2 | c2 r4", 32, 32), ("r3 c1 c2 | c3 c4 r0 r1 r2 | c0 r4", 32, 32),
     ("c0 r4 r3 | c3 c4 r0 r1 r2 | c2 c1", 32, 48), ("c0 c1 r3 | c3 c4 r0 r1 r2 | c2 r4", 16, 16),
     ("c0 c1 r3 | c3 c4 r0 r1 r2 | c2 r4", 64, 64)],
)  # fmt: skip
def test_what_a_warp_keeps_stays(target: str, bits: int, turns: int) -> None:
    """Half of the words, or a quarter, are neither stored nor loaded; all would take 64 turns of 32-bit words."""
    found = convert("c0 c1 c2 | c3 c4 r0 r1 r2 | r3 r4", target, bits=bits)
    assert found.shared is not None and found.shared.passes == turns
    assert wrong_elements(found) == []
    moved = replace(found.shared, own=(*found.shared.own[1:], found.shared.own[0]))
    assert not moved.gives(found.source, found.target) and wrong_elements(replace(found, shared=moved)) != []


def test_elements_of_64_bits() -> None:
    """Both halves of each arrive."""
    assert wrong_elements(convert("a | b c d e f", "c | b a d e f", bits=64)) == []


@pytest.mark.parametrize("via", ["shuffles", "shared"])
def test_no_number_is_declared_in_vain(via: str) -> None:
    """Where nothing moves, and where all lanes read the same one: a compiler would warn of a number nobody uses."""
    one = layouts.distribution(lambda r, lane: lane, registers=1)
    for target in (one, layouts.distribution(lambda r, lane: (lane, 5)[r], registers=2)):
        assert wrong_elements(convert(one, target, bits=32, via=via)) == []  # type: ignore[arg-type]
    two = layouts.distribution(lambda r, lane, warp: 32 * warp + lane, registers=1, warps=2)
    found = convert(two, two, bits=32, via="shared")
    assert "thread" not in found.cuda("f") and wrong_elements(found) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CASES))
def test_the_others(name: str) -> None:
    """All of the table."""
    source, target, options = CASES[name]
    for via in ("auto", "shared", "shuffles"):
        if (name, via) in (("warps", "shuffles"), ("32x32", "shuffles")):
            continue
        found = convert(source, target, via=via, **options)
        assert wrong_elements(found) == []
        counted = sass_counts(found) if found.network is not None else None
        if counted is not None:
            assert counted[0] == found.shuffles and found.selects - 2 <= counted[1] <= found.selects


def spoilt(found: Conversion, wrong: Callable[[Any], Any], kind: type) -> Conversion:
    """Return a conversion with the first node of a kind changed."""
    assert found.network is not None
    at = next(n for n, node in enumerate(found.network.nodes) if isinstance(node, kind))
    nodes = list(found.network.nodes)
    nodes[at] = wrong(nodes[at])
    return replace(found, network=replace(found.network, nodes=tuple(nodes)))


def test_a_wrong_lane_or_condition_is_found() -> None:
    """What the chain looks at is the printed text: another lane, another byte."""
    tf32 = convert(*CASES["tf32"][:2], **CASES["tf32"][2])
    fp8 = convert(*CASES["fp8"][:2], **CASES["fp8"][2])
    lane = spoilt(tf32, lambda node: replace(node, lanes=(*node.lanes[1:], node.lanes[0])), LaneExchange)
    picks = spoilt(fp8, lambda node: replace(node, picks=((1, 0, 2, 3), *node.picks[1:])), Mix)
    for wrong in (lane, picks):
        assert wrong_elements(wrong) != []


ARRANGED: list[tuple[str, str, int, int, int]] = [  # turns of all warps and selects of one
    ("c0 c1 c2 c3 r0 r1 | c4 c5 r2 r3 r4", "r0 r1 r2 r3 c0 c1 | r4 c2 c3 c4 c5", 8, 32, 32),
    ("c0 c1 c2 r0 r1 | c3 c4 c5 r2 r3", "r0 r1 r2 c0 c1 | r3 c2 c3 c4 c5", 16, 32, 16),
    ("r2 c3 c1 r0 | c0 c2 c4 r1 r3 | c5 r4", "c0 c4 c1 r0 | c2 c3 r1 r2 r3 | r4 c5", 8, 32, 16),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("source, target, bits, turns, selects", ARRANGED, ids=["bytes", "halves", "two in common"])
def test_lanes_arrange_their_registers_anew(source: str, target: str, bits: int, turns: int, selects: int) -> None:
    """What both sides hold in a lane is a word of shared memory; its bytes are permuted in registers."""
    found = convert(source, target, bits=bits, via="shared")
    assert found.shared is not None and (found.shared.passes, found.selects) == (turns, selects)
    assert wrong_elements(found) == []
    assert found.proof.endswith("none can take less") and found.proof.startswith("free")
    other = found.shared.packing or found.shared.unpacking
    assert other is not None
    moved = replace(other, outputs=(*other.outputs[1:], other.outputs[0]))
    wrong = replace(found.shared, **{"packing" if found.shared.packing else "unpacking": moved})
    assert not wrong.gives(found.source, found.target) and wrong_elements(replace(found, shared=wrong)) != []


def test_what_is_stored_by_bytes_is_not_said_to_be_least() -> None:
    """Where no word is in common, single bytes go through memory: the turns of these, not of any program."""
    found = convert("c0 c1 c2 c3 | c4 c5 r0 r1 r2", "r0 r1 r2 c0 | c1 c2 c3 c4 c5", bits=8, via="shared")
    assert found.clocks == 20
    assert found.proof.startswith("open: 512 bytes are stored and 512 loaded, which takes 8 turns at least; by these")
