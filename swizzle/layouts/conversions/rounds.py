"""Conversions of any sort: in each round every lane offers one word and reads one.

A *packet* is what one lane sends to another in one round. Rounds are a colouring of packets: those of one round differ
in the lanes that they go to, and in the lanes that they come from (unless they are the same packet). Simple rules are
tried first, such as the number of the register that a word ends in, turned by more from lane to lane: arrays of
structures are such. They make shuffles with a formula and few selects. Any colouring will do, though, and by Koenig's
theorem there is one with no more rounds than a lane has packets, if no packet goes to two lanes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from swizzle.layouts.conversions.muxes import put_together
from swizzle.layouts.conversions.network import ANY, Builder, ExchangeNetwork, Tokens
from symbolic.ir.program import LANES

_TRIED = 6
MOST_PACKETS = 32 * 64


class _Packet(Struct, frozen=True):
    """Tokens that go from a lane to a lane: from which word the first is, which word it goes into, and how many packets
    of this lane go into its words before that."""

    source: int
    target: int
    tokens: tuple[int, ...]
    word: int
    into: int
    rank: int


def schedules(wanted: Tokens, words: int) -> Iterator[ExchangeNetwork]:
    """Yield networks of rounds: by rules, and by a colouring. `words` is how many a lane has at the beginning."""
    for own in (True, False) if wanted.shape[2] > 1 else (True,):
        packets = _packets(wanted, words, own)
        if packets and len(packets) <= MOST_PACKETS:
            yield from _in_rounds(wanted, words, packets)


def _in_rounds(wanted: Tokens, words: int, packets: Sequence[_Packet]) -> Iterator[ExchangeNetwork]:
    rounds = max(max(p.into for p in packets), max(p.word for p in packets)) + 1
    tried = 0
    seen: set[tuple[int, ...]] = set()
    for colours in [*_rules(packets, rounds), _coloured(packets)]:
        if colours is None or tried == _TRIED or colours in seen or not _proper(packets, colours):
            continue
        seen.add(colours)
        tried += 1
        network = _scheduled(wanted, words, packets, colours)
        if network is not None:
            yield network


def _packets(wanted: Tokens, words: int, own: bool) -> list[_Packet]:
    """Group what lanes want by the lanes that they come from and go to, in parts of a word; whole words one by one.

    With `own`, what stays in its lane is there, too, as a rule may move it with the rest.
    """
    per = wanted.shape[2]
    groups: dict[tuple[int, int], dict[int, tuple[int, int]]] = defaultdict(dict)  # tokens, where they go first
    for lane in range(LANES):
        for at, token in enumerate(wanted[:, lane].reshape(-1).tolist()):
            if token != ANY:
                source = token // (per * words)
                # A word that is wanted twice moves twice, unless only a part of it is wanted.
                groups[source, lane].setdefault(token if per > 1 else token * len(wanted) + at, (token, at))
    parts = []
    for (source, target), some in groups.items():
        if source == target and not own:
            continue
        tokens = sorted(some.values(), key=lambda each: each[0])
        parts += [(source, target, tokens[k : k + per]) for k in range(0, len(tokens), per)]
    parts.sort(key=lambda part: (part[1], min(at for _, at in part[2])))
    before: Counter[int] = Counter()
    found = []
    for source, target, part in parts:
        token, at = part[0]
        sent = tuple(t for t, _ in part)
        found.append(_Packet(source, target, sent, token // per % words, at // per, before[target]))
        before[target] += 1
    return found


def _rules(packets: Sequence[_Packet], rounds: int) -> Iterator[tuple[int, ...]]:
    """Yield colourings by rules: the register that a word comes from or goes to, turned or flipped by the lane."""
    ends = [
        np.array([(p.into, p.target) for p in packets]).T,
        np.array([(p.rank, p.target) for p in packets]).T,
        np.array([(p.word, p.source) for p in packets]).T,
    ]
    for register, _ in ends:
        yield tuple(register.tolist())
    for block in [d for d in range(rounds, 1, -1) if rounds % d == 0]:
        for register, lane in ends:
            for times in range(1, block + 1):
                for over in (32, 1, 2, 4, 8, 16):
                    turned = (register % block + lane * times // over) % block
                    yield tuple((register // block * block + turned).tolist())
                    if block & block - 1 == 0 and times == 1:
                        flipped = register % block ^ lane // over % block
                        yield tuple((register // block * block + flipped).tolist())


def _proper(packets: Sequence[_Packet], colours: Sequence[int]) -> bool:
    """Say whether in each round a lane sends one packet at most, though to several lanes, and receives one at most."""
    sent: dict[tuple[int, int], tuple[int, ...]] = {}
    received: set[tuple[int, int]] = set()
    for packet, colour in zip(packets, colours, strict=True):
        if sent.setdefault((packet.source, colour), packet.tokens) != packet.tokens:
            return False
        if (packet.target, colour) in received:
            return False
        received.add((packet.target, colour))
    return True


def _coloured(packets: Sequence[_Packet]) -> tuple[int, ...]:
    """Return a colouring of any packets: the fewest colours where no packet goes to two lanes, otherwise greedily."""
    moving = [k for k, p in enumerate(packets) if p.source != p.target]
    if len({(packets[k].source, packets[k].tokens) for k in moving}) < len(moving):
        return _greedy(packets)
    degree = Counter([(0, packets[k].source) for k in moving] + [(1, packets[k].target) for k in moving])
    most = max(degree.values(), default=0)
    at: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)  # of a side's lane, the packet of each colour
    for k in moving:
        ends = (0, packets[k].source), (1, packets[k].target)
        a, b = (next(c for c in range(most) if c not in at[end]) for end in ends)
        if a != b:  # along the path from the target whose colours alternate between a and b, exchange them
            path, end, colour = [], ends[1], a
            while colour in at[end]:
                edge = at[end][colour]
                path.append((edge, colour))
                end = (1 - end[0], packets[edge].target if end[0] == 0 else packets[edge].source)
                colour = a + b - colour
            for edge, colour in path:
                del at[0, packets[edge].source][colour], at[1, packets[edge].target][colour]
            for edge, colour in path:
                at[0, packets[edge].source][a + b - colour] = at[1, packets[edge].target][a + b - colour] = edge
        at[ends[0]][a] = at[ends[1]][a] = k
    colours = [-1] * len(packets)
    for (side, _), edges in at.items():
        for colour, edge in edges.items():
            if side == 0:
                colours[edge] = colour
    for k, packet in enumerate(packets):  # what stays in its lane needs no round
        if packet.source == packet.target:
            colours[k] = most + packet.rank
    return tuple(colours)


def _greedy(packets: Sequence[_Packet]) -> tuple[int, ...]:
    sent: dict[tuple[int, int], tuple[int, ...]] = {}
    received: set[tuple[int, int]] = set()
    colours = []
    for packet in packets:
        colour = 0
        while (packet.target, colour) in received or sent.get((packet.source, colour), packet.tokens) != packet.tokens:
            colour += 1
        sent[packet.source, colour] = packet.tokens
        received.add((packet.target, colour))
        colours.append(colour)
    return tuple(colours)


def _scheduled(
    wanted: Tokens, words: int, packets: Sequence[_Packet], colours: Sequence[int]
) -> ExchangeNetwork | None:
    per = wanted.shape[2]
    builder = Builder(words, per)
    own = list(range(words))
    rounds: dict[int, list[_Packet]] = defaultdict(list)
    for packet, colour in zip(packets, colours, strict=True):
        rounds[colour].append(packet)
    some = [part for _, part in sorted(rounds.items()) if any(p.source != p.target for p in part)]
    wants, ways = [], []
    for part in some:
        want = np.full((LANES, per), ANY, np.int64)
        way: list[int | None] = [None] * LANES
        for packet in part:
            want[packet.source, : len(packet.tokens)] = packet.tokens
            way[packet.target] = packet.source
        wants.append(want)
        ways.append(completed(way))
    offered = put_together(builder, wants, own, False)
    if offered is None:
        return None
    received = [builder.shuffle(node, way) for node, way in zip(offered, ways, strict=True)]
    mark, networks = builder.mark(), []
    for sources in ([received] if received else []) + [[*received, *own]]:
        outputs = put_together(builder, list(wanted), sources, True)
        if outputs is not None:
            networks.append(builder.network(outputs))
        builder.forget(mark)
    return min(networks, key=lambda network: network.selects, default=None)


def completed(way: Sequence[int | None]) -> tuple[int, ...]:
    """Fill in lanes that may read any lane, so that a formula gives the lane, if there is one."""
    known = [(lane, other) for lane, other in enumerate(way) if other is not None]
    for flip in sorted({lane ^ other for lane, other in known}):
        if all(lane ^ flip == other for lane, other in known):
            return tuple(lane ^ flip for lane in range(LANES))
    for times in range(LANES):
        offset = (known[0][1] - times * known[0][0]) % LANES if known else 0
        if all((times * lane + offset) % LANES == other for lane, other in known):
            return tuple((times * lane + offset) % LANES for lane in range(LANES))
    return tuple(lane if other is None else other for lane, other in enumerate(way))
