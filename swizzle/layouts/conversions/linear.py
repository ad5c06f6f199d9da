"""Conversions that are affine over bits: of the place in a word, the word, and the lane.

Such a conversion moves some bits of the register's number into the lane's, and as many back; what is left is a
permutation of lanes. It is done in steps:

- *Ships*: a bit of the register and a bit of the lane change places.
- One *layer*: every word is shuffled once, with selects before and after. Packets of elements that go to the same lane
  are put together first; which ones is linear algebra: y = x + F(lane) numbers what a lane sends, so that a packet has
  one y (but for bits that stay within a word) and the lanes that packets go to are all different.

Which bits are shipped and which are left to the layer is tried; so is the pairing of bits in the layer.

In a ship of two words, a lane sends the one that it does not keep: one shuffle and three selects. To send both takes
two shuffles and two selects. Two such bits at once, of words, take five shuffles and ten selects for four words
(`QUAD`, found by a solver).

The numbers of words need not be powers of two: words come in pairs. Structures of six words are structures of three
pairs, and a ship that brings the two halves of each pair to lanes of their own leaves two conversions of three words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice, permutations, product
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from swizzle.layouts.conversions.muxes import place_tokens, put_together
from swizzle.layouts.conversions.network import ANY, Builder, ExchangeNetwork, LaneExchange, Mix, Tokens
from symbolic.ir.program import LANES

QUAD: tuple[tuple[int, int, int], ...] = (
    (3, -1, 2), (0, 2, 0b1001), (5, -1, 2), (1, 4, 0b0110), (7, -1, 1), (0, 6, 0b0110), (1, 4, 0b1001), (2, 6, 0b1001),
    (8, 9, 0b1010), (12, -1, 3), (8, 9, 0b0101), (10, 11, 0b1010), (15, -1, 3), (10, 16, 0b0101), (11, 16, 0b1010),
)  # fmt: skip
"""4 words of 4 lanes transposed, nodes 4 to 18: (source, -1, flip) is a shuffle that reads lane ^ flip; (first, second,
lanes) a select, which takes the second in those lanes."""
QUAD_OUTPUTS = (14, 17, 18, 13)


def ship(
    builder: Builder,
    nodes: Sequence[int],
    after: Sequence[Tokens],
    step: int,
    lane_bit: int,
    both: int,
    within: bool = False,
) -> tuple[list[int], list[int], int]:
    """Exchange a bit of the register with a bit of the lane; `after` is what words hold then.

    Words `step` apart form a pair; `within` is for a bit of the place in a word, of which two words go in one.
    Returns the words that the results can be made of, the results, and how many pairs are still to send both of theirs.
    """
    partner = [lane ^ 1 << lane_bit for lane in range(LANES)]
    found = list(nodes)
    sources = list(nodes)
    for low in range(len(nodes)):
        if low // step % 2:
            continue
        pairs = (low, low + step) if low + step < len(nodes) else (low,)
        if len(pairs) == 1 or both > 0:
            both -= len(pairs) == 2
            received = [builder.shuffle(nodes[w], partner) for w in pairs]
            news = received if within else received[::-1]
        else:
            sent = _sent(builder, [nodes[w] for w in pairs], [after[w] for w in pairs], partner)
            news = [builder.shuffle(sent, partner)] * 2
            received = news[:1]
        sources += received
        for w, new in zip(pairs, news, strict=True):
            found[w] = builder.mix(nodes[w], new, after[w])
    return sources, found, both


def _sent(builder: Builder, nodes: Sequence[int], after: Sequence[Tokens], partner: Sequence[int]) -> int:
    """Put together the elements of two words that the partner wants: its results, without what it has itself."""
    wanted = np.full((LANES, builder.per), ANY, np.int64)
    mine = np.concatenate([builder.value(n) for n in nodes], axis=1)
    theirs = np.concatenate(after, axis=1)[list(partner)]
    places = np.tile(np.arange(builder.per), len(nodes))
    for lane in range(LANES):
        goes = np.isin(mine[lane], theirs[lane]) & (mine[lane] != ANY)
        place_tokens(wanted[lane], zip(mine[lane][goes].tolist(), places[goes].tolist(), strict=True))
    return builder.mix(nodes[0], nodes[1], wanted)


def ship_two(builder: Builder, nodes: Sequence[int], one: tuple[int, int], two: tuple[int, int]) -> list[int]:
    """Exchange two bits of words with two bits of lanes at once; each pair is (step, bit of the lane)."""
    steps = [step for step, _ in (one, two)]
    flips = [1 << lane_bit for _, lane_bit in (one, two)]
    inner = np.array([(lane & flips[0] > 0) + 2 * (lane & flips[1] > 0) for lane in range(LANES)])
    found = list(nodes)
    for low in range(len(nodes)):
        if low & (steps[0] | steps[1]):
            continue
        places = [low | (steps[0] if q & 1 else 0) | (steps[1] if q & 2 else 0) for q in range(4)]
        made = [nodes[place] for place in places]
        for first, second, code in QUAD:
            if second < 0:
                flip = (flips[0] if code & 1 else 0) | (flips[1] if code & 2 else 0)
                made.append(builder.shuffle(made[first], [lane ^ flip for lane in range(LANES)]))
            else:
                takes = (code >> inner & 1 == 1)[:, None]
                want = np.where(takes, builder.value(made[second]), builder.value(made[first]))
                made.append(builder.mix(made[first], made[second], want))
        for place, n in zip(places, QUAD_OUTPUTS, strict=True):
            found[place] = made[n]
    return found


# ---- ships beside any conversions -----------------------------------------------------------------------------------

_MOST_WORDS = 16  # with more, shared memory is faster
_MOST_TRIED = 4

FindNetwork: TypeAlias = Callable[[Tokens, int], ExchangeNetwork | None]
"""Finds a network for words that are wanted, (outputs, lanes, 1), of so many words."""


def shipped(wanted: Tokens, words: int, solve: FindNetwork) -> Iterator[ExchangeNetwork]:
    """Yield networks of a ship, first or last, where what is left falls apart into conversions of fewer words."""
    if words % 2 or words > _MOST_WORDS or len(wanted) != words or wanted.shape[2] > 1:
        return
    numbers = np.arange(LANES)[None, :] * words + np.arange(words)[:, None]  # what lies where, at the beginning
    steps = [step for step in range(1, words // 2 + 1) if words % (2 * step) == 0]
    tried = 0
    for step, lane_bit, last in product(steps, range(5), (False, True)):
        rest = wanted[..., 0]
        if last:
            rest = _shipped(rest, step, lane_bit)
        else:
            place = np.empty(words * LANES, np.int64)
            place[_shipped(numbers, step, lane_bit)] = numbers
            rest = np.where(rest == ANY, ANY, place[rest])
        parts = _parts(rest, words)
        if len(parts) == 1 or tried == _MOST_TRIED:
            continue
        tried += 1
        made = [(part, solve(_renumbered(rest, words, *part)[..., None], len(part[0]))) for part in parts]
        yield from _composed(wanted, words, (step, lane_bit, last), made)


WordsApart: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Words, and the outputs that want nothing else."""


def _shipped(words: Tokens, step: int, lane_bit: int) -> Tokens:
    """Exchange a bit of the word with a bit of the lane, in (words, lanes)."""
    word, lane = np.arange(len(words))[:, None], np.arange(LANES)[None, :]
    differ = (word // step ^ lane >> lane_bit) & 1
    found: Tokens = words[word + differ * step * (1 - 2 * (word // step & 1)), lane ^ differ << lane_bit]
    return found


def _parts(wanted: Tokens, words: int) -> list[WordsApart]:
    """Return what falls apart: words, and the outputs that are made of them."""
    groups: list[tuple[set[int], list[int]]] = []
    for output, row in enumerate(wanted):
        used, outputs = {*(row[row != ANY] % words).tolist()}, [output]
        for group in [group for group in groups if group[0] & used]:
            groups.remove(group)
            used, outputs = used | group[0], group[1] + outputs
        groups.append((used, outputs))
    idle = [output for used, outputs in groups if not used for output in outputs]
    parts = [(tuple(sorted(used)), tuple(outputs)) for used, outputs in groups if used]
    return [(parts[0][0], parts[0][1] + tuple(idle)), *parts[1:]]


def _renumbered(wanted: Tokens, words: int, used: Sequence[int], outputs: Sequence[int]) -> Tokens:
    """Return what the outputs of a part want, as words of the part."""
    number = np.zeros(words, np.int64)
    number[list(used)] = np.arange(len(used))
    some = wanted[list(outputs)]
    found: Tokens = np.where(some == ANY, ANY, some // words * len(used) + number[some % words])
    return found


def _composed(
    wanted: Tokens,
    words: int,
    exchange: tuple[int, int, bool],
    parts: Sequence[tuple[WordsApart, ExchangeNetwork | None]],
) -> Iterator[ExchangeNetwork]:
    """Yield the ship and the parts in a row; both words of a pair are sent as often as balances the pipes."""
    step, lane_bit, last = exchange
    known = [(part, network) for part, network in parts if network is not None]
    if len(known) < len(parts):
        return
    shuffles, selects = (sum(getattr(network, what) for _, network in known) for what in ("shuffles", "selects"))
    pairs = words // 2
    balanced = (selects + 3 * pairs - 2 * (shuffles + pairs)) // 3
    for both in sorted({min(pairs, max(0, balanced + more)) for more in (0, 1)}):
        builder = Builder(words, 1)
        nodes = list(range(words))
        if not last:
            after = _shipped(builder.values[:words, :, 0], step, lane_bit)[..., None]
            _, nodes, _ = ship(builder, nodes, list(after), step, lane_bit, both)
        outputs = list(nodes)
        for (used, made), network in known:
            for output, node in zip(made, _replayed(builder, network, [nodes[word] for word in used]), strict=True):
                outputs[output] = node
        if last:
            _, outputs, _ = ship(builder, outputs, list(wanted), step, lane_bit, both)
        yield builder.network(outputs)


def _replayed(builder: Builder, network: ExchangeNetwork, inputs: Sequence[int]) -> list[int]:
    """Do what a network of whole words does on other nodes."""
    nodes = list(inputs)
    for node in network.nodes[network.words :]:
        match node:
            case LaneExchange(source, lanes):
                nodes.append(builder.shuffle(nodes[source], lanes))
            case Mix(first, second, picks):
                takes = np.array(picks) > 0
                want = np.where(takes, builder.value(nodes[second]), builder.value(nodes[first]))
                nodes.append(builder.mix(nodes[first], nodes[second], want))
    return [nodes[n] for n in network.outputs]


_TRIED = (12, 12, 12, 4, 4, 4, 2)  # plans that are built, by the bits that count words
_LAYERS = 3
_MOST_PAIRINGS = 24


class PositionBits(Struct, frozen=True):
    """How many bits the place in a word has, and the number of the word. A token is a position: place, word, lane."""

    place: int
    word: int

    @property
    def register(self) -> int:
        return self.place + self.word

    def words_of(self, by_position: Tokens) -> list[Tokens]:
        """Return tokens by position as words, each (lanes, per)."""
        return list(by_position.reshape(LANES, 1 << self.word, 1 << self.place).transpose(1, 0, 2))


def bits_of(wanted: Tokens) -> tuple[PositionBits, Tokens] | None:
    """Return the bits and the wanted tokens by position, where the conversion is affine and one to one; else None."""
    words, _, per = wanted.shape
    if words & (words - 1) or per & (per - 1) or (wanted == ANY).any():
        return None
    bits = PositionBits(per.bit_length() - 1, words.bit_length() - 1)
    flat: Tokens = wanted.transpose(1, 0, 2).reshape(-1)
    position = np.arange(len(flat))
    if len(flat) != flat.max() + 1:
        return None
    guess = np.full(len(flat), flat[0])
    for j in range((len(flat) - 1).bit_length()):
        guess = guess ^ np.where(position >> j & 1, flat[1 << j] ^ flat[0], 0)
    if (guess != flat).any() or len(np.unique(flat)) != len(flat):
        return None
    return bits, flat


class _Plan(Struct, frozen=True):
    """Which bits are shipped, two at a time or not, and the layer; with a guess of the shuffles and selects."""

    shipped: tuple[tuple[int, int], ...]
    quad: bool
    layer: _Layer | None
    shuffles: float
    selects: float

    @property
    def clocks(self) -> float:
        """A guess, if ships send both words of as many pairs as makes shuffles and selects take equally long."""
        if self.shipped and self.selects > 2 * self.shuffles:
            return (self.shuffles + self.selects) / 3
        return max(self.shuffles, self.selects / 2)


def plans(wanted: Tokens, fewest: str = "clocks") -> Iterator[ExchangeNetwork]:
    """Yield networks for a conversion that is affine over bits, the most promising; nothing for others."""
    found = bits_of(wanted)
    if found is None:
        return
    bits, goal = found
    pairs = _pairs(bits, goal)
    some = [plan for shipped in _subsets(len(pairs)) for plan in _guesses(bits, goal, [pairs[k] for k in shipped])]
    if fewest == "clocks":
        some.sort(key=lambda plan: (plan.clocks, plan.shuffles + plan.selects))
    else:
        some.sort(key=lambda plan: (plan.shuffles, plan.selects))
    best: tuple[tuple[float, int], _Plan, ExchangeNetwork] | None = None
    for plan in some[: _TRIED[min(bits.word, len(_TRIED) - 1)]]:
        network = _made(bits, goal, plan, 0)
        if network is None:
            continue
        yield network
        balanced = max(network.clocks - max(0, network.selects - 2 * network.shuffles) / 6, network.shuffles)
        rank = (balanced if plan.shipped else network.clocks, network.shuffles)
        if best is None or rank < best[0]:
            best = rank, plan, network
    if best is None or fewest != "clocks":
        return
    _, plan, network = best
    most = len(plan.shipped) << bits.word - 1 if bits.word else 0
    both = min((network.selects - 2 * network.shuffles) // 3, most)
    for number in (both, both + 1):
        if number > 0 and (more := _made(bits, goal, plan, number)) is not None:
            yield more


def _guesses(bits: PositionBits, goal: Tokens, shipped: Sequence[tuple[int, int]]) -> Iterator[_Plan]:
    half = max(0.5, (1 << bits.word) / 2)
    words = sum(i >= bits.place for i, _ in shipped)
    for layer, packets, selects in _layers(bits, goal, shipped):
        for quad in (False, True) if words > 1 else (False,):
            fours = words // 2 if quad else 0
            singles = len(shipped) - 2 * fours
            shuffles = packets + singles * half + fours * 2.5 * half
            yield _Plan(tuple(shipped), quad, layer, shuffles, selects + singles * 3 * half + fours * 5 * half)


def _subsets(count: int) -> list[tuple[int, ...]]:
    if count > 3:  # which of many bits are shipped hardly matters, how many does
        return [tuple(range(k)) for k in range(count + 1)]
    return [some for k in range(count + 1) for some in combinations(range(count), k)]


# ---- linear algebra over two elements -------------------------------------------------------------------------------


def _rank(vectors: Sequence[int]) -> int:
    basis: list[int] = []
    for v in vectors:
        for b in basis:
            v = min(v, v ^ b)
        if v:
            basis.append(v)
    return len(basis)


class _Map(Struct, frozen=True):
    """Where the bits of a position go: `lane[i]` and `register[i]` are what bit i adds to either."""

    lane: tuple[int, ...]
    register: tuple[int, ...]

    def crossing(self, bits: PositionBits) -> tuple[int, ...]:
        """What each bit of the register adds to the lane."""
        return self.lane[: bits.register]

    def lanes(self, bits: PositionBits) -> tuple[int, ...]:
        """What each bit of the lane adds to the lane."""
        return self.lane[bits.register :]


def _map(bits: PositionBits, now: Tokens, goal: Tokens) -> _Map:
    """Return where positions go, by bits: `now` and `goal` are tokens by position."""
    where = np.empty_like(goal)
    where[goal] = np.arange(len(goal))
    to = where[now]
    columns = [int(to[1 << i] ^ to[0]) for i in range(bits.register + 5)]
    return _Map(tuple(c >> bits.register for c in columns), tuple(c & (1 << bits.register) - 1 for c in columns))


def _exchanged(now: Tokens, i: int, j: int) -> Tokens:
    """Let bits i and j of positions change places."""
    p = np.arange(len(now))
    differ = (p >> i ^ p >> j) & 1
    found: Tokens = now[p ^ (differ << i | differ << j)]
    return found


def _pairs(bits: PositionBits, goal: Tokens) -> list[tuple[int, int]]:
    """Pair bits of the register with bits of the lane, so that after their exchange no bit of a register is of a lane.

    Pairs after which lanes stay where they are come first, then bits of words.
    """
    now, found = np.arange(len(goal)), list[tuple[int, int]]()
    while True:
        before = _map(bits, now, goal)
        crossing = _rank(before.crossing(bits))
        if not crossing:
            return found
        best: tuple[tuple[int, bool], tuple[int, int], Tokens] | None = None
        for i in range(bits.register):
            for j in range(bits.register, bits.register + 5):
                after = _exchanged(now, i, j)
                there = _map(bits, after, goal)
                if _rank(there.crossing(bits)) >= crossing:
                    continue
                moved = _rank([c ^ 1 << k for k, c in enumerate(there.lanes(bits))])
                if best is None or (moved, i < bits.place) < best[0]:
                    best = (moved, i < bits.place), (i, j), after
        if best is None:
            return found
        found.append(best[1])
        now = best[2]


class _Layer(Struct, frozen=True):
    """Packets: `within` are vectors of the register's number that stay in one packet; `turns` pairs (vector, bit of the
    lane): which packet an element is part of is its register's number plus the vectors of the lane's bits."""

    within: tuple[int, ...]
    turns: tuple[tuple[int, int], ...]

    def packets(self, bits: PositionBits) -> Tokens:
        """Return the packet of each position."""
        position = np.arange(1 << bits.register + 5)
        y = position & (1 << bits.register) - 1
        for vector, lane_bit in self.turns:
            y = y ^ np.where(position >> bits.register + lane_bit & 1, vector, 0)
        basis: list[int] = []
        for v in self.within:
            for b in basis:
                v = min(v, v ^ b)
            basis.append(v)
        for b in basis:
            y = np.minimum(y, y ^ b)
        return y


def _layers(
    bits: PositionBits, goal: Tokens, shipped: Sequence[tuple[int, int]]
) -> list[tuple[_Layer | None, int, int]]:
    """Return layers worth building after some ships, None where none is needed; with shuffles and selects."""
    now = np.arange(len(goal))
    for i, j in shipped:
        now = _exchanged(now, i, j)
    there = _map(bits, now, goal)
    crossing, lanes = there.crossing(bits), there.lanes(bits)
    if not any(crossing) and lanes == tuple(1 << k for k in range(5)):
        return [(None, 0, 0)]
    missing = 5 - _rank(lanes)
    units = [1 << i for i in range(bits.register)]
    still = [unit for unit, to in zip(units, crossing, strict=True) if not to]
    turns = list(islice(_turns(crossing, lanes, missing), _MOST_PAIRINGS))
    within = [some for k in range(min(bits.place, len(still)), -1, -1) for some in combinations(still, k)]
    where = np.empty_like(goal)
    where[goal] = np.arange(len(goal))
    to = where[now]
    rated = []
    for number, layer in enumerate(_Layer(w, t) for w in within for t in turns):
        packets, selects = _rating(bits, layer, to)
        rated.append((max(float(packets), selects / 2), selects, number, packets, layer))
    return [
        (layer, packets, selects)
        for _, selects, _, packets, layer in sorted(rated, key=lambda each: each[:3])[:_LAYERS]
    ]


def _turns(crossing: Sequence[int], lanes: Sequence[int], missing: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield pairings of register's bits with lane's bits that make the way between lanes one to one."""
    movers = [i for i, to in enumerate(crossing) if to]
    for lane_bits in combinations(range(5), missing):
        for some in permutations(movers, missing):
            sums = list(lanes)
            for i, j in zip(some, lane_bits, strict=True):
                sums[j] ^= crossing[i]
            if _rank(sums) == 5:
                yield tuple((1 << i, j) for i, j in zip(some, lane_bits, strict=True))


def _rating(bits: PositionBits, layer: _Layer, to: Tokens) -> tuple[int, int]:
    """Guess the shuffles and the selects of a layer: a select for each doubling of the words that another needs."""
    packet = layer.packets(bits)
    position = np.arange(len(to))
    packets = 1 << bits.register - len(layer.within)
    selects = 0
    words = [p >> bits.place & (1 << bits.word) - 1 for p in (position, to)]
    for here, there in ((packet, words[0]), (words[1], packet)):
        pairs = np.unique(here << 16 | there) >> 16
        selects += sum((count - 1).bit_length() for count in np.unique(pairs, return_counts=True)[1].tolist())
    return packets, selects


# ---- building -------------------------------------------------------------------------------------------------------


def _made(bits: PositionBits, goal: Tokens, plan: _Plan, both: int) -> ExchangeNetwork | None:
    """Return the network of a plan. Of `both` pairs of words, both are sent, where one could be."""
    builder = Builder(1 << bits.word, 1 << bits.place)
    nodes, now = list(range(1 << bits.word)), np.arange(len(goal))
    rest, layer = list(plan.shipped), plan.layer
    whole = [pair for pair in rest if pair[0] >= bits.place]
    if plan.quad:
        while len(whole) > 1:
            one, two, *whole = whole
            rest = [pair for pair in rest if pair not in (one, two)]
            nodes = ship_two(builder, nodes, *((1 << i - bits.place, j - bits.register) for i, j in (one, two)))
            now = _exchanged(_exchanged(now, *one), *two)
    sources = nodes
    for i, j in rest:
        now = _exchanged(now, i, j)
        step, within = 1 << max(0, i - bits.place), i < bits.place
        sources, nodes, both = ship(builder, nodes, bits.words_of(now), step, j - bits.register, both, within)
    if layer is not None:
        received = _shuffled(builder, bits, nodes, now, goal, layer)
        if received is None:
            return None
        sources = nodes = received
    wants = bits.words_of(goal)
    mark = builder.mark()
    outputs = put_together(builder, wants, nodes, True)
    if sources is not nodes:  # the last ship may put its words where they belong at once
        networks = []
        for some in (sources, nodes):
            builder.forget(mark)
            made = put_together(builder, wants, some, True)
            if made is not None:
                networks.append(builder.network(made))
        return min(networks, key=lambda n: (n.clocks, n.shuffles + n.selects)) if networks else None
    return None if outputs is None else builder.network(outputs)


def _shuffled(
    builder: Builder, bits: PositionBits, nodes: Sequence[int], now: Tokens, goal: Tokens, layer: _Layer
) -> list[int] | None:
    """Put packets together and shuffle them; return what lanes receive."""
    packet = layer.packets(bits)
    where = np.empty_like(goal)
    where[goal] = np.arange(len(goal))
    to = where[now] >> bits.register
    home = np.arange(len(now)) >> bits.register
    wants, ways = [], []
    for each in np.unique(packet).tolist():
        at = np.flatnonzero(packet == each)  # by lanes, as positions are
        count = len(at) // LANES
        want = np.full((LANES, builder.per), ANY, np.int64)
        want[:, :count] = now[at].reshape(LANES, count)
        goes = to[at].reshape(LANES, count)
        assert (home[at].reshape(LANES, count) == np.arange(LANES)[:, None]).all()
        if (goes != goes[:, :1]).any() or len(np.unique(goes[:, 0])) < LANES:
            return None
        wants.append(want)
        ways.append(np.argsort(goes[:, 0]).tolist())
    made = put_together(builder, wants, nodes, False)
    return None if made is None else [builder.shuffle(n, way) for n, way in zip(made, ways, strict=True)]
