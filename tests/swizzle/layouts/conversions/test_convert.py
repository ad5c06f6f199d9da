"""Conversions: the counts of those that are known, every element of random ones, what is said to be minimal."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from bench.conversions import CASES, tritons_clocks
from bench.conversions import structures as of_structures
from swizzle import SwizzleError, layouts
from swizzle.layouts import convert, distribution
from swizzle.layouts.conversions.linear import QUAD, QUAD_OUTPUTS
from swizzle.layouts.conversions.network import LANES, Builder, Input, LaneExchange, Mix
from swizzle.layouts.conversions.rounds import schedules
from tests.swizzle.layouts.conversions.brute import lands

COUNTS = {  # the fewest clocks: via, clocks; in registers: shuffles/selects; the fewest shuffles, which is the bound
    "tf32": ("shuffles", 4, (4, 8), 4),
    "f16": ("shuffles", 0, (0, 0), 0),
    "fp8": ("shuffles", 4, (4, 8), 4),
    "8x8 b16": ("shuffles", 2, (2, 1), 2),
    "16x16 b16": ("shuffles", 4, (4, 8), 4),
    "rows to A": ("shuffles", 7, (6, 14), 4),
    "blocked": ("shared", 16, (18, 36), 8),
    "quads": ("shuffles", 5, (5, 10), 3),
    "octets": ("shuffles", 15.5, (15, 31), 7),
    "32x32": ("shared", 64, None, 31),
    "AoS 3": ("shuffles", 3, (3, 6), 3),
    "AoS 4": ("shuffles", 7, (6, 14), 4),
    "AoS 5": ("shuffles", 7.5, (5, 15), 5),
    "AoS 6": ("shuffles", 10, (10, 20), 6),
    "AoS 7": ("shuffles", 10.5, (7, 21), 7),
    "AoS 8": ("shared", 16, (18, 36), 8),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n == "32x32" else ()) for n in COUNTS])
def test_known_conversions(name: str) -> None:
    """None takes more clocks than here, and the fewest shuffles are the bound when they are asked for."""
    source, target, options = CASES[name]
    via, clocks, counts, bound = COUNTS[name]
    found = convert(source, target, **options)
    assert (found.via, found.clocks, found.bound) == (via, clocks, bound)
    triton = tritons_clocks(name)
    assert triton is None or found.clocks <= triton
    fewest = convert(source, target, via="shuffles", fewest="shuffles", **options)
    assert fewest.shuffles == bound and lands(found) and lands(fewest)
    if counts:
        inside = convert(source, target, via="shuffles", **options)
        assert (inside.shuffles, inside.selects) == counts and lands(inside)


def bit_texts(rng: random.Random, height: int, registers: int) -> list[str]:
    names = [f"e{k}" for k in range(height)]
    found = []
    for _ in range(2):
        rng.shuffle(names)
        found.append(f"{' '.join(names[:registers])} | {' '.join(names[registers:])}")
    return found


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 30))])
def test_random_permutations_of_bits(seed: int) -> None:
    """Every element lands, in words and in parts of words, and nothing is below the bound."""
    rng = random.Random(seed)
    bits, words = rng.choice([8, 16, 32, 64]), rng.choice([0, 1, 2] if seed < 6 else [0, 1, 2, 3, 4])
    registers = words + {8: 2, 16: 1, 32: 0, 64: 0}[bits]
    source, target = bit_texts(rng, registers + 5, registers)
    for options in ({}, {"fewest": "shuffles"}):
        found = convert(source, target, bits=bits, via="shuffles", **options)
        assert lands(found) and found.shuffles >= found.bound and found.clocks >= found.clocks_bound
    assert lands(convert(source, target, bits=bits, via="shared"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 40))])
def test_random_distributions(seed: int) -> None:
    """Any cells in any slots, some held twice, some wanted twice or not at all: every element lands, by either way."""
    rng = random.Random(100 + seed)
    bits, registers = rng.choice([8, 16, 32]), rng.choice([1, 2, 3, 5])
    count = 32 * registers
    held = rng.sample(range(count), count)
    for _ in range(rng.choice([0, 20])):
        held[rng.randrange(count)] = held[rng.randrange(count)]
    wanted: list[int | None] = rng.sample(held, count)
    for _ in range(rng.choice([0, 20])):
        wanted[rng.randrange(count)] = rng.choice([None, rng.choice(held)])

    def of(cells: Any) -> layouts.Distribution:
        return distribution(lambda r, lane: cells[lane * registers + r], registers=registers, shape=(count,))

    for via in ("shuffles", "shared"):
        found = convert(of(held), of(wanted), bits=bits, via=via)  # type: ignore[arg-type]
        assert lands(found) and (via == "shared" or found.shuffles >= found.bound)


@pytest.mark.slow
def test_many_bytes_in_any_order() -> None:
    """Lanes in which a mix may take either word, beside lanes in which it turns the order of bytes."""
    rng = random.Random(5)
    orders = [rng.sample(range(32 * count), 32 * count) for count in (8, 16, 16, 32)]
    source = distribution(lambda r, lane: lane * 32 + r, registers=32)
    target = distribution(lambda r, lane: orders[3][lane * 32 + r], registers=32)
    assert lands(convert(source, target, bits=8, via="shuffles"))


def test_pixels_of_three_bytes() -> None:
    """Four neighbouring pixels a lane, their colours apart: structures of three words, and six byte permutes more."""
    loaded = distribution(lambda r, lane: 128 * (r // 4) + 4 * lane + r % 4, registers=12)
    planes = distribution(lambda r, lane: 12 * lane + 3 * (r % 4) + r // 4, registers=12)
    found = convert(loaded, planes, bits=8)
    assert (found.shuffles, found.selects) == (3, 12) and lands(found)


def test_a_shift_moves_what_crosses_a_lane_only() -> None:
    """The neighbour's first word is all that is not there."""
    source = distribution(lambda r, lane: 4 * lane + r, registers=4)
    target = distribution(lambda r, lane: 4 * lane + r + 1 if 4 * lane + r < 127 else None, registers=4, shape=(128,))
    found = convert(source, target, bits=32)
    assert (found.shuffles, found.selects, found.bound) == (1, 0, 1) and lands(found)


def test_maps_that_are_linear_and_no_permutation_of_bits() -> None:
    """A tile that is swizzled by xor: rows by lanes to diagonals takes shuffles, and selects of one bit only."""
    source = distribution(lambda r, lane: (lane, r), registers=4, shape=(32, 4))
    target = distribution(lambda r, lane: (lane ^ r, r ^ lane & 3), registers=4, shape=(32, 4))
    found = convert(source, target, bits=32, via="shuffles")
    assert lands(found) and found.shuffles <= 4 and found.clocks <= 8


def test_transposed_matrices_save_instructions() -> None:
    """Where one of them, before shuffles or behind them, leaves less to do: every element lands, or none is used."""
    cases = [CASES["8x8 b16"], CASES["16x16 b16"], ("c0 c3 | c1 c2 r0 r1 r2", "r0 r1 | c0 r2 c1 c2 c3", {})]
    for source, target, _ in cases:
        fewer = convert(source, target, bits=16, fewest="instructions")
        plain = convert(source, target, bits=16, fewest="instructions", arch=70)
        assert fewer.transpositions and not plain.transpositions and lands(fewer) and lands(plain)
        assert fewer.transpositions + fewer.shuffles + fewer.selects < plain.shuffles + plain.selects
        assert fewer.bound <= fewer.transpositions + fewer.shuffles
    assert lands(convert(*bit_texts(random.Random(7), 6, 1), bits=16, via="shuffles", fewest="instructions"))


@pytest.mark.parametrize(
    ("words", "counts"), [(3, (3, 6)), (5, (5, 15)), (6, (10, 20)), pytest.param(14, (28, 56), marks=pytest.mark.slow)]
)
def test_structures_there_and_back(words: int, counts: tuple[int, int]) -> None:
    """A ship and two structures of half as many words; the way back takes as many, and so it does with gaps."""
    coalesced, structures, _ = of_structures(words)
    for source, target in ((coalesced, structures), (structures, coalesced)):
        found = convert(source, target, bits=32, via="shuffles")
        assert (found.shuffles, found.selects) == counts and lands(found)
    gaps = distribution(lambda r, lane: words * lane + r if r % 3 else None, registers=words, shape=(32 * words,))
    assert lands(convert(coalesced, gaps, bits=32, via="shuffles"))


def test_broadcasts() -> None:
    """One word that all lanes want is one shuffle; two that one lane has are two."""
    source = distribution(lambda r, lane: 32 * r + lane, registers=2)
    one = distribution(lambda r, lane: 5, registers=1, shape=(64,))
    assert (convert(source, one, bits=32).shuffles, convert(source, one, bits=32).selects) == (1, 0)
    two = distribution(lambda r, lane: 5 + 32 * r, registers=2, shape=(64,))
    found = convert(source, two, bits=32)
    assert (found.shuffles, found.selects, found.bound) == (2, 0, 2)


@pytest.mark.parametrize("seed", range(6))
def test_any_permutation_of_words_has_as_many_rounds_as_a_lane_has_words(seed: int) -> None:
    """Koenig: a colouring reaches the bound where all of a lane's words move."""
    rng = random.Random(seed)
    words = rng.choice([1, 2, 3, 4, 5])
    tokens = rng.sample(range(32 * words), 32 * words)
    wanted = np.array(tokens).reshape(words, 32, 1)
    networks = list(schedules(wanted, words))
    assert min(network.shuffles for network in networks) <= words
    assert all(network.gives(wanted) for network in networks)


def test_the_block_of_four_words() -> None:
    """What a solver found: four words of four lanes, transposed."""
    values = [[(lane, word) for lane in range(4)] for word in range(4)]
    for first, second, code in QUAD:
        if second < 0:
            values.append([values[first][lane ^ code] for lane in range(4)])
        else:
            values.append([values[second if code >> lane & 1 else first][lane] for lane in range(4)])
    assert [values[n] for n in QUAD_OUTPUTS] == [[(word, lane) for lane in range(4)] for word in range(4)]
    assert sum(second < 0 for _, second, _ in QUAD) == 5 and len(QUAD) == 15


def test_an_index_that_may_be_permuted() -> None:
    """The accumulator is the operand, if k is permuted: no shuffle, and the permutation is one of k."""
    for name, selects in (("tf32", 0), ("fp8", 4)):
        source, target, options = CASES[name]
        found = convert(source, target, free=1, **options)
        size = options["shape"][1]
        assert (found.shuffles, found.selects) == (0, selects) and sorted(found.permutation) == list(range(size))
        assert lands(found)
        plain = layouts.distribution("r3 c2 | c0 c1 r0 r1 r2")
        if name == "tf32":  # what stands at index k of the operand is column permutation[k] of the accumulator
            cell = found.target.cells[0, 1, 2]
            row, k = plain.cell(plain.cells[0, 1, 2])
            assert found.target.cell(cell) == (row, found.permutation[k])
    rows = convert("c0 c1 c2 | r0 r1 r2 r3 r4", "c1 c2 r4 | c0 r0 r1 r2 r3", bits=32, free=1)
    fixed = convert("c0 c1 c2 | r0 r1 r2 r3 r4", "c1 c2 r4 | c0 r0 r1 r2 r3", bits=32)
    assert rows.bound <= fixed.bound and lands(rows)


def test_several_warps() -> None:
    """Warps that keep to themselves need no shared memory; others go through it, conflicts and all."""
    apart = convert("a b | c d x y z | w", "c d | a b x y z | w", bits=32)
    assert (apart.via, apart.shuffles, apart.selects) == ("shuffles", 5, 10) and lands(apart)
    source, target, options = CASES["warps"]
    across = convert(source, target, **options)
    assert across.via == "shared" and lands(across) and across.shared is not None and across.shared.found.free


def test_what_is_said_to_be_minimal() -> None:
    """Only what reaches a bound; the rest is open."""
    proofs = {name: convert(*CASES[name][:2], **CASES[name][2]).proof for name in ("AoS 3", "AoS 5", "f16")}
    assert proofs["AoS 3"] == (
        "3 shuffles at least: a lane wants 3 elements of other lanes; the selects take no longer, so the clocks are "
        "minimal, too"
    )
    assert proofs["AoS 5"].endswith(
        "the selects are open: 5 shuffles take 11 selects at least, by the entropy of the ways of whole words"
    )
    assert proofs["f16"] == "0 shuffles at least: each lane has what it wants; no select is needed"


def loads_turns(cells: list[list[int | None]], lines: list[list[int | None]], bits: int) -> tuple[int, int]:
    """Return the turns of the loads as every thread that loads does it, and how many turns are said for all."""
    warps = len(cells) // 32
    source = distribution(lambda n, lane, warp=0: cells[32 * warp + lane][n], registers=len(cells[0]), warps=warps)
    target = distribution(lambda n, lane, warp=0: lines[32 * warp + lane][n], registers=len(lines[0]), warps=warps)
    plan = convert(source, target, bits=bits, via="shared").shared
    assert plan is not None and plan.gives(source, target)
    turns = 0
    for moves in (plan.stores, plan.loads):
        size = moves.width * bits // 8
        lanes = min(32, 128 // size)
        for address, on in zip(moves.addresses.tolist(), moves.on.tolist(), strict=True):
            for first in range(0, len(address), lanes):
                places = [address[t] * bits // 8 for t in range(first, first + lanes) if on[t]]
                words = {(at + k) // 4 for at in places for k in range(size)}
                turns += max((sum(word % 32 == bank for word in words) for bank in range(32)), default=0)
    return turns, plan.passes


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_threads_that_want_nothing_take_no_turns(bits: int) -> None:
    """What they load is what another one of their phase loads; where nobody wants anything, nobody loads."""
    for seed in range(4):
        rng = random.Random(seed)
        cells: list[int | None] = [n if n < 40 else None for n in rng.sample(range(64), 64)]
        wanted = [rng.randrange(40) if rng.random() < 0.6 else None for _ in range(64)]
        turns, said = loads_turns(
            [[cells[n], cells[n + 32]] for n in range(32)], [[wanted[n], wanted[n + 32]] for n in range(32)], bits
        )
        assert turns == said
    turns, said = loads_turns([[n] for n in range(64)], [[n + 32 if n < 16 else None] for n in range(64)], bits)
    assert turns == said == 2


def test_tables_of_addresses_hold_what_is_large() -> None:
    """An address may be more than 16 bits hold."""
    far = distribution(lambda n, lane: 101 * lane * lane + n, registers=1)
    text = convert(far, distribution(lambda n, lane: 101 * (31 - lane) ** 2), bits=8, via="shared").cuda("f")
    tables = re.findall(r"__constant__ ([a-z ]+) f_\w+\[32\] = \{([^}]*)\}", text)
    most = [(kind, max(map(int, values.split(", ")))) for kind, values in tables]
    assert most and all(value >= 1 << 16 for _, value in most)
    assert {kind for kind, _ in most} == {"unsigned"}


def test_warps_that_exchange_differently_are_told_from_elements_that_leave_their_warp() -> None:
    """Neither has shuffles."""
    source = distribution(lambda n, lane, warp: 32 * warp + lane, warps=2)
    part = distribution(lambda n, lane, warp: 32 * warp + (lane ^ 1) if warp else None, warps=2)
    across = distribution(lambda n, lane, warp: 32 * (1 - warp) + lane, warps=2)
    with pytest.raises(SwizzleError, match="warps exchange differently"):
        convert(source, part, bits=32, via="shuffles")
    with pytest.raises(SwizzleError, match="from one warp to another"):
        convert(source, across, bits=32, via="shuffles")


def test_a_tile_has_what_shared_memory_holds() -> None:
    """What is larger in any layout is refused; registers do."""
    source = distribution(lambda n, lane: 80 * lane * lane + n, registers=2)
    target = distribution(lambda n, lane: 80 * (lane ^ 5) ** 2 + 1 - n, registers=2)
    with pytest.raises(SwizzleError, match="a tile of 307528 bytes"):
        convert(source, target, bits=32, via="shared")
    assert convert(source, target, bits=32).shuffles == 2
    mixed = random.Random(1).sample(range(64), 64)
    target = distribution(lambda n, lane: 80 * (mixed[2 * lane + n] // 2) ** 2 + mixed[2 * lane + n] % 2, registers=2)
    assert convert(source, target, bits=32).via == "shuffles"


def test_what_only_a_doubled_mix_needed_is_left_out() -> None:
    """Of a mix two lanes are read, in which an earlier one has the same: two shuffles are then nobody's."""
    builder, lanes = Builder(1, 1), np.arange(LANES)
    low = (lanes < 5)[:, None]

    def mixed(first: int, second: int) -> int:
        return builder.mix(first, second, np.where(low, builder.value(first), builder.value(second)))

    up, farther = builder.shuffle(0, (lanes + 1) % LANES), builder.shuffle(0, (lanes + 2) % LANES)
    down = mixed(builder.shuffle(0, (7 - lanes) % LANES), builder.shuffle(0, (16 - lanes) % LANES))
    read = builder.shuffle(mixed(up, farther), np.where(lanes % 2, 3, 7))
    network = builder.network([down, read])
    assert [type(node) for node in network.nodes] == [Input, LaneExchange, LaneExchange, Mix, LaneExchange]
    assert network.gives(np.stack([builder.value(down), builder.value(read)]))
