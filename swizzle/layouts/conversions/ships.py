"""Ships: a bit of the register and a bit of the lane change places.

Of two words, a lane sends the one that it does not keep: one shuffle and three selects. To send both takes two shuffles
and two selects. Two such bits at once, of words, take five shuffles and ten selects for four words (`QUAD`, found by a
solver).

The numbers of words need not be powers of two: words come in pairs. Structures of six words are structures of three
pairs, and a ship that brings the two halves of each pair to lanes of their own leaves two conversions of three words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

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
        late = []
        for token, place in zip(mine[lane][goes].tolist(), places[goes].tolist(), strict=True):
            if wanted[lane, place] == ANY:
                wanted[lane, place] = token
            else:
                late.append(token)
        for token in late:
            wanted[lane, int((wanted[lane] == ANY).argmax())] = token
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
_TRIED = 4

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
        if len(parts) == 1 or tried == _TRIED:
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
