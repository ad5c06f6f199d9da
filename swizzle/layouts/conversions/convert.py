"""`convert`: the best way from one distribution of a tile to another, by shuffles or through shared memory.

Networks are made by constructions (`linear.py`, `rounds.py`). Each is run on tokens, for every lane and register,
before it counts as one. Of all the one that takes the fewest clocks is returned, or the fewest shuffles.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from math import inf
from typing import Final, Literal

import numpy as np

from swizzle.layouts.access import Access, is_int, mistake
from swizzle.layouts.conversions.bounds import SelectBound, ShuffleBound, bound_of, ways_of
from swizzle.layouts.conversions.conversion import Conversion, distributions_of, free_permutation, permuted
from swizzle.layouts.conversions.linear import plans, shipped
from swizzle.layouts.conversions.network import (
    ANY,
    ExchangeNetwork,
    Input,
    LaneExchange,
    Mix,
    NetworkNode,
    Tokens,
    Transposition,
    sources_of,
    start,
    transposed,
)
from swizzle.layouts.conversions.rounds import schedules
from swizzle.layouts.conversions.shared import SharedPlan, through_shared
from swizzle.layouts.distribution import Cells, Distribution
from symbolic.errors import SwizzleError
from symbolic.ir.program import LANES

MOST_SHARED: Final = 227 << 10


def convert(
    src: Distribution | Access | str,
    dst: Distribution | Access | str,
    *,
    bits: int = 16,
    via: Literal["auto", "shuffles", "shared"] = "auto",
    arch: int = 90,
    fewest: Literal["clocks", "shuffles", "instructions"] = "clocks",
    shape: tuple[int, ...] | None = None,
    free: int | None = None,
) -> Conversion:
    """Return how the threads of a block get from the distribution `src` of a tile to `dst`, elements of `bits` bits.

    A distribution is one of `layouts.distribution(...)`, bits as text ("c0 r3 | c1 c2 r0 r1 r2"), or an access such as
    `layouts.mma("A", "m16n8k16")`, for what lanes hold after it; of an access, `shape` is the tile's.
    `via` "shuffles" stays in registers, "shared" goes through shared memory, "auto" takes what needs fewer clocks.
    `fewest` "shuffles" asks for the fewest shuffles instead, however many selects that takes; "instructions" asks for
    the fewest of both, and may transpose matrices of 8x8 16-bit elements by `movmatrix`, from sm_75 on.
    `free` is an axis whose index the target may permute, such as k of an operand, if the other operand's k is permuted
    alike.
    `arch` is the architecture as a number, from 70. Raises SwizzleError at the caller's line.
    """
    if bits not in (8, 16, 32, 64):
        mistake(f"an element has {bits!r} bits", "8, 16, 32 or 64 bits", "bits=16 for f16 and bf16")
    if via not in ("auto", "shuffles", "shared"):
        mistake(f"via is {via!r}", "'auto', 'shuffles' or 'shared'", fix="leave it out for 'auto'")
    if fewest not in ("clocks", "shuffles", "instructions"):
        mistake(f"fewest is {fewest!r}", "'clocks', 'shuffles' or 'instructions'", fix="leave it out for 'clocks'")
    if not is_int(arch) or not 70 <= arch <= 129:
        mistake(f"the architecture is {arch!r}", "a number from 70, as in sm_90", "arch=90")
    source, target = distributions_of(src, dst, shape, bits)
    permutation: tuple[int, ...] = ()
    if free is not None:
        permutation = free_permutation(source, target, free, bits)
        target = permuted(target, free, permutation)
    known = _in_one_warp(source, target)
    if known is None:
        if via == "shuffles":
            stay = all(np.isin(each, held).all() for each, held in _wanted_and_held(source, target))
            mistake(
                "warps exchange differently" if stay else "elements go from one warp to another",
                "lanes that want the same of each other in all warps" if stay else "a conversion within warps",
                'via="shared" or via="auto"',
            )
        plan = through_shared(source, target, bits, keep=True, repack=True, at_most=MOST_SHARED)
        return Conversion(source, target, bits, None, plan, ShuffleBound(0, ""), permutation)
    return _within_warps(source, target, known, bits, via, arch, fewest, permutation)


def _within_warps(
    source: Distribution, target: Distribution, known: Cells, bits: int, via: str, arch: int, fewest: str,
    permutation: tuple[int, ...],
) -> Conversion:  # fmt: skip
    """Return the best of what was found in registers and through shared memory, where elements stay in their warp."""
    least = bound_of(source.cells[0], target.cells[0], max(1, 32 // bits))
    if bits == 64:
        least = ShuffleBound(2 * least.shuffles, f"{least.reason}, two words each")
    network: ExchangeNetwork | None = None
    shared: SharedPlan | None = None
    if via != "shared":
        network = _network(known, source.slots, bits, fewest)
        if fewest == "instructions" and bits == 16 and arch >= 75:
            network = _by_transpositions(known, source.slots, network)
            if network is not None and network.transpositions:
                least = bound_of(source.cells[0], target.cells[0], 2, transposing=True)
    if via == "shared" or (via == "auto" and network is not None and network.clocks > max(2, least.shuffles)):
        with suppress(SwizzleError) if network else nullcontext():  # the tile may be too large
            shared = through_shared(source, target, bits, keep=True, repack=True, at_most=MOST_SHARED)
        if network is not None and shared and (fewest != "clocks" or network.clocks <= shared.clocks):
            shared = None
    if network is None and shared is None:
        if via == "shuffles":
            mistake(
                f"lanes exchange {source.slots} elements each without any pattern",
                "fewer elements, or a permutation of bits",
                'via="shared" or via="auto"',
            )
        shared = through_shared(source, target, bits, keep=True, repack=True, at_most=MOST_SHARED)
    network = None if shared else network
    assert network is None or all(_lands(network, *each, bits) for each in zip(source.cells, target.cells, strict=True))
    fewer = _fewer(source, known, bits, network, least.shuffles, fewest) if network else None
    return Conversion(source, target, bits, network, shared, least, permutation, fewer)


def _wanted_and_held(source: Distribution, target: Distribution) -> Iterator[tuple[Cells, Cells]]:
    """Yield what each warp wants, and what it holds."""
    for before, after in zip(source.cells, target.cells, strict=True):
        yield after[after >= 0], before


def _in_one_warp(source: Distribution, target: Distribution) -> Cells | None:
    """Return what each lane of a warp wants, as numbers of slots of the source, if it is the same in all warps.

    An element that several slots hold is taken from the lane's own, if there is one.
    """
    slots = source.slots
    found: Cells | None = None
    for warp in range(source.warps):
        homes: dict[int, list[int]] = {}
        for number, cell in enumerate(source.cells[warp].reshape(-1).tolist()):
            if cell >= 0:
                homes.setdefault(cell, []).append(number)
        wants = np.full((LANES, target.slots), ANY, np.int64)
        for (lane, slot), cell in np.ndenumerate(target.cells[warp]):
            if cell >= 0:
                at = homes.get(int(cell))
                if at is None:
                    return None
                wants[lane, slot] = min(at, key=lambda n: (n // slots ^ lane, n % slots != slot, n))
        if found is not None and (wants != found).any():
            return None
        found = wants
    return found


def in_registers(source: Distribution, target: Distribution, bits: int, enough: float) -> ExchangeNetwork | None:
    """Return the network of the fewest clocks for elements that stay in their warp; None where none is found.

    Of a first one that takes more than `enough` clocks, no better one is looked for. Elements of 64 bits are moved as
    one, and count once.
    """
    known = _in_one_warp(source, target)
    bits = min(bits, 32)
    found = None if known is None else _network(known, source.slots, bits, "clocks", enough)
    pairs = zip(source.cells, target.cells, strict=True)
    assert found is None or all(_lands(found, *each, bits) for each in pairs)
    return found


def _network(after: Cells, slots: int, bits: int, fewest: str, enough: float = inf) -> ExchangeNetwork | None:
    """Return the best network that was found; each is run on tokens first."""
    return _best(*_tokens(after, slots, bits), fewest, enough)


def _best(wanted: Tokens, words: int, per: int, fewest: str, enough: float = inf) -> ExchangeNetwork | None:
    best: ExchangeNetwork | None = None
    for network in _candidates(wanted, words, per, fewest):
        if best is not None and _order(network, fewest) >= _order(best, fewest):
            continue
        assert network.gives(wanted), "a network does what it was made for"
        best = network
        if best.clocks > enough:
            break
    return best


def _tokens(after: Cells, slots: int, bits: int) -> tuple[Tokens, int, int]:
    """Return what is wanted of each word, lane and place as tokens, and how many words and places there are."""
    per, halves = max(1, 32 // bits), max(1, bits // 32)
    words = -(-slots // per) * halves
    lane, slot = after // slots, after % slots
    if halves == 2:
        token = (lane * slots + slot) * 2
        wanted = np.where(after == ANY, ANY, token)[..., None] + np.array([0, 1])
        wanted = np.where(after[..., None] == ANY, ANY, wanted).reshape(LANES, -1)
    else:
        wanted = np.where(after == ANY, ANY, lane * words * per + slot)
    spare = -wanted.shape[1] % per
    wanted = np.concatenate([wanted, np.full((LANES, spare), ANY, np.int64)], axis=1)
    return wanted.reshape(LANES, -1, per).transpose(1, 0, 2), words, per


def _fewer(
    source: Distribution, after: Cells, bits: int, network: ExchangeNetwork, least: int, fewest: str
) -> SelectBound | None:
    """Return what is known of selects where whole words are permuted and the shuffles' bound leaves something open."""
    if network.transpositions or not least or network.clocks <= least:
        return None
    held = source.cells[0][source.cells[0] >= 0]
    wanted, words, _ = _tokens(after, source.slots, bits)
    inner = _whole_words(wanted)
    ways = None if inner is None or len(np.unique(held)) < len(held) else ways_of(inner[..., 0], words)
    if ways is None:
        return None
    if fewest == "shuffles":
        return SelectBound(network.shuffles, ways.selects(network.shuffles))
    return ways.bound(least)


def _by_transpositions(after: Cells, slots: int, best: ExchangeNetwork | None) -> ExchangeNetwork | None:
    """Return a network of fewer instructions than the best without: all words are transposed, first or last."""
    wanted, words, per = _tokens(after, slots, 16)
    whole = words * LANES * per
    moved = np.empty(whole + 1, np.int64)
    moved[ANY] = ANY
    moved[np.stack([transposed(word) for word in start(words, per)])] = start(words, per)  # where each token is then
    before = moved[wanted]
    behind = np.stack([transposed(word) for word in wanted])
    for last, some in ((False, before), (True, behind)):
        for network in _candidates(some, words, per, "instructions"):
            found = _transposing(network, last)
            if best is None or found.instructions < best.instructions:
                assert found.gives(wanted), "a network does what it was made for"
                best = found
    return best


def _transposing(network: ExchangeNetwork, last: bool) -> ExchangeNetwork:
    """Return a network with its words transposed before it, or behind it; those that it does not need stay."""
    nodes = list(network.nodes)
    if last:
        some = {n: len(nodes) + k for k, n in enumerate(dict.fromkeys(network.outputs))}
        nodes += [Transposition(n) for n in some]
        return ExchangeNetwork(network.words, network.per, tuple(nodes), tuple(some[n] for n in network.outputs))
    words = network.words
    used = sorted(
        {n for node in nodes for n in sources_of(node) if n < words} | {n for n in network.outputs if n < words}
    )
    assert all(nodes[n] == Input(n) for n in range(words))
    at = {n: words + k for k, n in enumerate(used)} | {n: n + len(used) for n in range(words, len(nodes))}
    made: list[NetworkNode] = [*map(Input, range(words)), *map(Transposition, used)]
    for node in nodes[words:]:
        match node:
            case LaneExchange(source, lanes):
                made.append(LaneExchange(at[source], lanes))
            case Mix(first, second, picks):
                made.append(Mix(at[first], at[second], picks))
    return ExchangeNetwork(words, network.per, tuple(made), tuple(at[n] for n in network.outputs))


def _lands(network: ExchangeNetwork, source: Cells, target: Cells, bits: int) -> bool:
    """Say whether a network takes the cells of a warp to where the target has them: apart from tokens, on cells."""
    halves = max(1, bits // 32)
    held = np.full((LANES, network.words * network.per), ANY, np.int64)
    cells = (np.where(source < 0, ANY, source * halves)[..., None] + np.arange(halves)).reshape(LANES, -1)
    held[:, : cells.shape[1]] = cells
    values = network.run()
    for slot in range(target.shape[1] * halves):
        token = values[network.outputs[slot // network.per]][:, slot % network.per]
        want = target[:, slot // halves]
        if ((want >= 0) & (held.reshape(-1)[token] != want * halves + slot % halves)).any():
            return False
    return True


def _order(network: ExchangeNetwork, fewest: str) -> tuple[float, ...]:
    both = network.shuffles + network.selects
    if fewest == "instructions":
        return both, network.clocks
    return (network.clocks, both) if fewest == "clocks" else (network.shuffles, network.selects)


def _candidates(wanted: Tokens, words: int, per: int, fewest: str) -> Iterator[ExchangeNetwork]:
    """Yield networks; of whole words that move, the places within them are left out."""
    if fewest == "instructions":
        yield from _candidates(wanted, words, per, "clocks")
        yield from _candidates(wanted, words, per, "shuffles")
        return
    inner = _whole_words(wanted)
    if per > 1 and inner is not None:
        for network in _candidates(inner, words, 1, fewest):
            yield _packed(network, per)
        return
    one_to_one = False
    for network in plans(wanted, fewest) if len(wanted) == words else ():  # else tokens number other words
        one_to_one = True
        yield network
    if not one_to_one:
        yield from schedules(wanted, words)
        if fewest == "clocks":
            yield from shipped(wanted, words, _scheduled)


def _scheduled(wanted: Tokens, words: int) -> ExchangeNetwork | None:
    return min(schedules(wanted, words), key=lambda network: _order(network, "clocks"), default=None)


def _whole_words(wanted: Tokens) -> Tokens | None:
    """Return the words that are wanted, as tokens of one place; None where places of a word part."""
    per = wanted.shape[2]
    some = wanted.reshape(-1, per)
    whole = (some == some[:, :1] + np.arange(per)) & (some[:, :1] % per == 0) | (some == ANY).all(axis=1, keepdims=True)
    return np.where(wanted[..., :1] == ANY, ANY, wanted[..., :1] // per) if whole.all() else None


def _packed(network: ExchangeNetwork, per: int) -> ExchangeNetwork:
    """Return a network over words as one over words of several places."""
    nodes: list[NetworkNode] = []
    for node in network.nodes:
        if isinstance(node, Mix):
            picks = tuple(tuple(row[0] * per + p for p in range(per)) for row in node.picks)
            nodes.append(Mix(node.first, node.second, picks))
        else:
            nodes.append(node)
    return ExchangeNetwork(network.words, per, tuple(nodes), network.outputs)


# ---- an index that may be permuted ----------------------------------------------------------------------------------
