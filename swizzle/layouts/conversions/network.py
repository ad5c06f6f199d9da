"""A program of shuffles, mixes and transpositions over the registers of one warp, as it is built and run on tokens.

A token is where an element was at the beginning: (lane * words + word) * per + place, where a word of 32 bits has `per`
places. A node is a register: its value says for each lane and place which token it holds, or -1 where that is of no
matter. A `Mix` puts a word together out of places of two words, which ones depends on the lane: SEL where words are
taken whole, PRMT otherwise. Nodes of one value are one node. A `Transposition` is `movmatrix`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from symbolic.bottom_up import reached
from symbolic.ir.program import LANES

Tokens = npt.NDArray[np.int64]
ANY = -1


class Input(Struct, frozen=True):
    """Register `word`, as it was."""

    word: int


class LaneExchange(Struct, frozen=True):
    """A shuffle: each lane reads `source` of lane `lanes[lane]`."""

    source: int
    lanes: tuple[int, ...]


class Mix(Struct, frozen=True):
    """Out of two words: place p of a lane is place `picks[lane][p]` of the first, or, from `per` on, of the second."""

    first: int
    second: int
    picks: tuple[tuple[int, ...], ...]

    @property
    def per(self) -> int:
        return len(self.picks[0])

    @property
    def takes_words(self) -> bool:
        """Whether each lane takes one of the two words whole (SEL); otherwise it is a byte permute (PRMT)."""
        whole = tuple(range(self.per)), tuple(range(self.per, 2 * self.per))
        return all(row in whole for row in self.picks)


class Transposition(Struct, frozen=True):
    """An 8x8 matrix of 16-bit elements, of which four lanes hold a row, transposed (PTX: movmatrix)."""

    source: int


NetworkNode: TypeAlias = Input | LaneExchange | Mix | Transposition


class ExchangeNetwork(Struct, frozen=True):
    """Nodes in order, each of earlier ones, and which of them are the words that the other distribution has."""

    words: int
    per: int
    nodes: tuple[NetworkNode, ...]
    outputs: tuple[int, ...]

    @property
    def shuffles(self) -> int:
        return sum(isinstance(node, LaneExchange) for node in self.nodes)

    @property
    def selects(self) -> int:
        """SEL and PRMT together: both take half a clock."""
        return sum(isinstance(node, Mix) for node in self.nodes)

    @property
    def transpositions(self) -> int:
        return sum(isinstance(node, Transposition) for node in self.nodes)

    @property
    def instructions(self) -> int:
        return self.shuffles + self.selects + self.transpositions

    @property
    def clocks(self) -> float:
        """By the bound of pipes: a shuffle takes one clock of a warp, a select half a clock of another pipe.

        A transposition is counted as a shuffle.
        """
        return max(float(self.shuffles + self.transpositions), self.selects / 2)

    def run(self) -> list[Tokens]:
        """Return the value of each node, by moving tokens: the definition of what a network does."""
        values: list[Tokens] = []
        for node in self.nodes:
            match node:
                case Input(word):
                    values.append(start(self.words, self.per)[word])
                case LaneExchange(source, lanes):
                    values.append(values[source][list(lanes)])
                case Mix(first, second, picks):
                    both = np.concatenate([values[first], values[second]], axis=1)
                    values.append(np.take_along_axis(both, np.array(picks), axis=1))
                case Transposition(source):
                    values.append(transposed(values[source]))
        return values

    def gives(self, wanted: Tokens) -> bool:
        """Say whether the outputs are the tokens that are wanted, (words, lanes, per); ANY for what does not matter."""
        if len(self.outputs) != len(wanted):
            return False
        values = self.run()
        return all(((want == ANY) | (values[n] == want)).all() for n, want in zip(self.outputs, wanted, strict=True))


def transposed(value: Tokens) -> Tokens:
    """Return what `movmatrix` makes of a register of two elements a lane."""
    found: Tokens = value.reshape(8, 8).T.reshape(LANES, 2)
    return found


def start(words: int, per: int) -> Tokens:
    """Return the tokens of the registers at the beginning, (words, lanes, per)."""
    lane = np.arange(LANES)[:, None]
    return np.stack([(lane * words + word) * per + np.arange(per) for word in range(words)])


class Builder:
    """Makes networks. Values may have ANY in them: nothing may be read there."""

    def __init__(self, words: int, per: int) -> None:
        self.words, self.per = words, per
        self.nodes: list[tuple[int, int, tuple[int, ...] | None]] = []  # sources, -1 where there is none; lanes
        self.values = np.empty((0, LANES, per), np.int64)
        for word, value in enumerate(start(words, per)):
            self._add((word, -1, None), value)

    def _add(self, node: tuple[int, int, tuple[int, ...] | None], value: Tokens) -> int:
        if len(self.nodes) == len(self.values):
            spare = np.full((max(16, len(self.values)), LANES, self.per), ANY, np.int64)
            self.values = np.concatenate([self.values, spare])
        self.values[len(self.nodes)] = value
        self.nodes.append(node)
        return len(self.nodes) - 1

    def value(self, node: int) -> Tokens:
        found: Tokens = self.values[node]
        return found

    def mark(self) -> int:
        return len(self.nodes)

    def forget(self, mark: int) -> None:
        """Take back all nodes since a mark."""
        del self.nodes[mark:]

    def find(self, want: Tokens) -> int | None:
        """Return a node that already holds what is wanted, in its places."""
        some = self.values[: len(self.nodes)]
        fits = ((some == want) | (want == ANY)).all(axis=(1, 2))
        at = int(fits.argmax())
        return at if fits[at] else None

    def shuffle(self, source: int, lanes: Sequence[int]) -> int:
        """Let each lane read a node of another lane."""
        value = self.values[source][list(lanes)]
        known = self.find(value)
        return self._add((source, -1, tuple(lanes)), value) if known is None else known

    def mix(self, first: int, second: int, want: Tokens) -> int:
        """Put together what is wanted out of two nodes, which have it."""
        known = self.find(want)
        return self._add((first, second, None), want) if known is None else known

    def network(self, outputs: Sequence[int]) -> ExchangeNetwork:
        """Return what the outputs need, with all that is of no matter chosen."""
        return _finished(self, list(outputs))


def _finished(builder: Builder, outputs: list[int]) -> ExchangeNetwork:
    """Settle mixes from the first to the last: where a lane's places do not matter, a lane takes a word whole, and a
    mix that never needs its second word is none."""
    needed = _needed(builder, outputs)
    numbers: dict[int, int] = {}
    nodes: list[NetworkNode] = []
    per = builder.per
    kept = np.empty((len(builder.nodes), LANES, per), np.int64)  # the value of each of the nodes
    for n, (first, second, lanes) in enumerate(builder.nodes):
        if n < builder.words:
            kept[n], numbers[n] = builder.values[n], n
            nodes.append(Input(n))
            continue
        if n not in needed:
            continue
        want = np.where(needed[n], builder.values[n], ANY)
        fits = ((kept[: len(nodes)] == want) | (want == ANY)).all(axis=(1, 2))
        if fits.any():
            numbers[n] = int(fits.argmax())
            continue
        if lanes is not None:
            node: NetworkNode = LaneExchange(numbers[first], lanes)
            value = kept[numbers[first]][list(lanes)]
        else:
            one, two = kept[numbers[first]], kept[numbers[second]]
            picks = _picks(one, two, want, per)
            node = Mix(numbers[first], numbers[second], picks)
            value = np.take_along_axis(np.concatenate([one, two], axis=1), np.array(picks), axis=1)
        numbers[n] = len(nodes)
        kept[len(nodes)] = value
        nodes.append(node)
    return _without_dead(ExchangeNetwork(builder.words, per, tuple(nodes), tuple(numbers[n] for n in outputs)))


def _needed(builder: Builder, outputs: Sequence[int]) -> dict[int, npt.NDArray[np.bool_]]:
    """Return, of each node that an output needs, in which lanes and places it is needed."""
    needed: dict[int, npt.NDArray[np.bool_]] = {}
    for n in outputs:
        needed[n] = builder.values[n] != ANY
    for n in range(len(builder.nodes) - 1, builder.words - 1, -1):
        if n not in needed:
            continue
        first, second, lanes = builder.nodes[n]
        if lanes is not None:
            mask = needed.setdefault(first, np.zeros((LANES, builder.per), np.bool_))
            np.logical_or.at(mask, np.array(lanes), needed[n])
            continue
        want = np.where(needed[n], builder.values[n], ANY)
        left = want[:, :, None] != ANY
        for source in (first, second):
            here = (builder.values[source][:, None, :] == want[:, :, None]) & left
            mask = needed.setdefault(source, np.zeros((LANES, builder.per), np.bool_))
            mask |= here.any(axis=1)
            left &= ~here.any(axis=2, keepdims=True)
        assert not left.any(), "a mix has what is wanted of it"
    return needed


def _picks(first: Tokens, second: Tokens, want: Tokens, per: int) -> tuple[tuple[int, ...], ...]:
    """Choose for each lane the places of two words; whole words, and few sorts of choices, where it does not matter."""
    whole = tuple(range(per)), tuple(range(per, 2 * per))
    fits = np.stack([((word == want) | (want == ANY)).all(axis=1) for word in (first, second)], axis=1)
    rows: list[tuple[int, ...] | None] = []
    for lane, (one, two) in enumerate(fits.tolist()):
        if one or two:
            rows.append(None if one and two else whole[0 if one else 1])
            continue
        both = [*first[lane].tolist(), *second[lane].tolist()]
        row = [both.index(token) if token != ANY else ANY for token in want[lane].tolist()]
        free = [p for p in range(2 * per) if p not in row]
        rows.append(tuple(free.pop(0) if p == ANY else p for p in row))
    known = [row for row in rows if row is not None]
    chosen = _completed(rows, known, whole)
    picks = np.array(chosen)
    found = np.take_along_axis(np.concatenate([first, second], axis=1), picks, axis=1)
    suits = ((found == want) | (want == ANY)).all(axis=1)  # what others take may be in another order
    return tuple(row if fine else whole[0] for row, fine in zip(chosen, suits.tolist(), strict=True))


def _completed(
    rows: Sequence[tuple[int, ...] | None], known: Sequence[tuple[int, ...]], whole: tuple[tuple[int, ...], ...]
) -> list[tuple[int, ...]]:
    """Fill in lanes that may take either word, so that an affine function of the lane decides, if there is one."""
    kinds = sorted(set(known))
    if len(kinds) == 2:
        bits = sum(1 << lane for lane, row in enumerate(rows) if row == kinds[1])
        care = sum(1 << lane for lane, row in enumerate(rows) if row is not None)
        for mask in PARITIES:
            if (mask ^ bits) & care == 0:
                return [kinds[mask >> lane & 1] for lane in range(LANES)]
    usual = max(kinds, key=known.count) if kinds else whole[0]
    return [usual if row is None else row for row in rows]


def _parities() -> tuple[int, ...]:
    """All affine functions of the lane's bits as masks of lanes, the simplest first."""
    linear = sorted(range(1, LANES), key=lambda m: (m.bit_count(), m))
    plain = [sum(((lane & m).bit_count() & 1) << lane for lane in range(LANES)) for m in linear]
    return tuple(mask for each in plain for mask in (each, each ^ (1 << LANES) - 1))


PARITIES = _parities()


def sources_of(node: NetworkNode) -> tuple[int, ...]:
    """Return the nodes that a node reads."""
    match node:
        case Input():
            return ()
        case Mix(first, second):
            return first, second
        case _:
            return (node.source,)


def _without_dead(network: ExchangeNetwork) -> ExchangeNetwork:
    """Leave out what no output needs, except inputs."""
    used = set(reached(network.outputs, lambda n: sources_of(network.nodes[n])))
    numbers: dict[int, int] = {}
    nodes: list[NetworkNode] = []
    for n, node in enumerate(network.nodes):
        if n not in used and not isinstance(node, Input):
            continue
        numbers[n] = len(nodes)
        match node:
            case LaneExchange(source, lanes):
                node = LaneExchange(numbers[source], lanes)
            case Mix(first, second, picks):
                node = Mix(numbers[first], numbers[second], picks)
        nodes.append(node)
    return ExchangeNetwork(network.words, network.per, tuple(nodes), tuple(numbers[n] for n in network.outputs))
