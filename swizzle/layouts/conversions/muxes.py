"""Select networks: words put together, within each lane, out of words that the lane has.

`put_together` halves the words that are to be read by a bit of their number, puts each half's share together first, and
shares what two outputs can take from one word, as they want it in different lanes: that is how a butterfly comes about.
Where every lane wants the same words turned by a power of one permutation, a barrel shifter is tried as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from swizzle.layouts.conversions.network import ANY, Builder, Tokens
from symbolic.ir.program import LANES

Ints = npt.NDArray[np.int64]


def put_together(builder: Builder, wants: Sequence[Tokens], sources: Sequence[int], ordered: bool) -> list[int] | None:
    """Return a node for each want, (lanes, per) of tokens; None where a lane lacks what is wanted of it.

    Where `ordered` is False, a word only has to hold the tokens, in whichever places.
    """
    origin = _origins(builder, wants, sources)
    if origin is None:
        return None
    mark, best, least = builder.mark(), None, -1
    ways = [_halving, _turning] if len(wants) > 2 else [_halving]
    for way in ways:
        made = way(builder, wants, origin, sources, ordered)
        if made is not None and (best is None or builder.mark() - mark < least):
            best, least = way, builder.mark() - mark
        builder.forget(mark)
    return best(builder, wants, origin, sources, ordered) if best else None


def _origins(builder: Builder, wants: Sequence[Tokens], sources: Sequence[int]) -> list[Ints] | None:
    """Return, for each want, which source each of its tokens is taken from; ANY where nothing is wanted.

    A want that one source has alone is taken from it; a want of two from as few as possible, by counting.
    """
    values = [builder.value(source) for source in sources]
    found = []
    for want in wants:
        has = np.stack([(value[:, None, :] == want[:, :, None]).any(axis=2) for value in values])  # source, lane, place
        has &= want != ANY
        order = np.argsort(-has.sum(axis=(1, 2)), kind="stable")
        origin = np.full(want.shape, ANY, np.int64)
        for source in order:
            origin = np.where((origin == ANY) & has[source], source, origin)
        if ((origin == ANY) & (want != ANY)).any():
            return None
        found.append(origin)
    return found


def _halving(
    builder: Builder, wants: Sequence[Tokens], origin: Sequence[Ints], sources: Sequence[int], ordered: bool
) -> list[int]:
    """Put words together out of halves of the sources, by the bit of their number that leaves the fewest parts."""
    found = [_simple(builder, want, at, sources, ordered) for want, at in zip(wants, origin, strict=True)]
    left = [n for n, node in enumerate(found) if node is None]
    if not left:
        return [node for node in found if node is not None]
    bits = max(1, (len(sources) - 1).bit_length())
    best: tuple[int, list[tuple[list[Tokens], list[int]]]] | None = None
    for bit in range(bits):
        parts = []
        for side in (0, 1):
            shares = [np.where((origin[n] != ANY) & (origin[n] >> bit & 1 == side), wants[n], ANY) for n in left]
            parts.append(_merged(shares))
        size = sum(len(merged) for merged, _ in parts)
        if all(
            (at == ANY).all() or ((at[at != ANY] >> bit & 1) == (at[at != ANY][0] >> bit & 1)).all()
            for at in (origin[n] for n in left)
        ):
            continue  # this bit parts nothing
        if best is None or size < best[0]:
            best = size, parts
    assert best is not None, "a word of three sources is parted by a bit of their numbers"
    halves: list[list[int | None]] = []
    for merged, place in best[1]:
        present = [m for m in merged if (m != ANY).any()]
        where = _origins(builder, present, sources)
        assert where is not None
        nodes = _halving(builder, present, where, sources, False)
        by_part, rest = [], iter(nodes)
        for m in merged:
            by_part.append(next(rest) if (m != ANY).any() else None)
        halves.append([by_part[place[k]] for k in range(len(left))])
    for k, n in enumerate(left):
        low, high = halves[0][k], halves[1][k]
        if low is None or high is None:
            node = low if high is None else high
            assert node is not None
            found[n] = _arranged(builder, wants[n], node, node, ordered)
        else:
            found[n] = _arranged(builder, wants[n], low, high, ordered)
    return [node for node in found if node is not None]


def _simple(builder: Builder, want: Tokens, origin: Ints, sources: Sequence[int], ordered: bool) -> int | None:
    """Return a node for what at most two sources have."""
    used = np.unique(origin[origin != ANY]).tolist()
    if len(used) > 2:
        known = builder.find(want)
        return known
    if not used:
        return sources[0]
    return _arranged(builder, want, sources[used[0]], sources[used[-1]], ordered)


def _arranged(builder: Builder, want: Tokens, first: int, second: int, ordered: bool) -> int:
    """Mix two nodes; where order is free, every token keeps its place if it can."""
    if ordered or builder.per == 1:
        return builder.mix(first, second, want)
    one, two = builder.value(first), builder.value(second)
    for node, value in ((first, one), (second, two)):
        if ((value[:, None, :] == want[:, :, None]).any(axis=2) | (want == ANY)).all():
            return node
    placed = np.full_like(want, ANY)
    for lane in range(LANES):
        places = {t: p for value in (two, one) for p, t in enumerate(value[lane].tolist())}
        place_tokens(placed[lane], [(t, places[t]) for t in want[lane].tolist() if t != ANY])
    return builder.mix(first, second, placed)


def place_tokens(row: Tokens, tokens: Iterable[tuple[int, int]]) -> None:
    """Put tokens into the open places of a lane's word: each at its own if that is open, the others where it goes."""
    late = []
    for token, place in tokens:
        if row[place] == ANY:
            row[place] = token
        else:
            late.append(token)
    for token in late:
        row[int((row == ANY).argmax())] = token


def _merged(shares: Sequence[Tokens]) -> tuple[list[Tokens], list[int]]:
    """Join shares that one word can hold; prefer partners at one distance, which a butterfly has.

    Returns the words, and of each share the word that it is part of.
    """
    count = len(shares)
    stack = np.stack(shares)
    numbers = np.arange(count)
    for distance in range(1, count):
        low = numbers[numbers < numbers ^ distance]
        if 2 * len(low) == count and (low ^ distance < count).all():
            both, fits = _joined(stack[low], stack[low ^ distance])
            if fits.all():
                place = np.empty(count, np.int64)
                place[low] = place[low ^ distance] = np.arange(len(low))
                return list(both), place.tolist()
    words: list[Tokens] = []
    found = []
    for share in shares:
        for k, word in enumerate(words):
            both, fits = _joined(word[None], share[None])
            if fits[0]:
                words[k] = both[0]
                found.append(k)
                break
        else:
            words.append(share)
            found.append(len(words) - 1)
    return words, found


def _joined(one: Tokens, two: Tokens) -> tuple[Tokens, npt.NDArray[np.bool_]]:
    """Return words, (number, lanes, per), that have the tokens of both, in any places; and which of them can."""
    per = one.shape[2]
    if per == 1:
        clash = (one != ANY) & (two != ANY) & (one != two)
        return np.where(one != ANY, one, two), ~clash.any(axis=(1, 2))
    both = -np.sort(-np.concatenate([one, two], axis=2), axis=2)
    repeated = (both[..., 1:] == both[..., :-1]) & (both[..., 1:] != ANY)
    if repeated.any():
        both[..., 1:][repeated] = ANY
        both = -np.sort(-both, axis=2)
    return both[..., :per], (both[..., per:] == ANY).all(axis=(1, 2))


def _turning(
    builder: Builder, wants: Sequence[Tokens], origin: Sequence[Ints], sources: Sequence[int], ordered: bool
) -> list[int] | None:
    """Turn words by a power of one permutation, which the lane decides: a barrel shifter, bit by bit of the power."""
    if len(wants) != len(sources):
        return None
    values = np.stack([builder.value(source) for source in sources])
    for want, each in zip(wants, origin, strict=True):
        if (each != each[:, :1]).any() or (ordered and (want != values[each[:, 0], np.arange(LANES)]).any()):
            return None  # not whole words
    index = np.stack([each[:, 0] for each in origin])  # want, lane
    if (np.sort(index, axis=0) != np.arange(len(sources))[:, None]).any():
        return None
    first = np.argsort(index[:, 0])  # which want has a source, in lane 0
    relative = index[first]  # of each source of lane 0, the source that the lane has in its stead
    turns = {tuple(relative[:, lane].tolist()) for lane in range(LANES)}
    identity = tuple(range(len(sources)))
    for step in sorted(turns):
        powers = {identity: 0}
        at = step
        while at != identity:
            powers[at] = len(powers)
            at = tuple(step[k] for k in at)
        if turns <= powers.keys():
            break
    else:
        return None
    exponent = np.array([powers[tuple(relative[:, lane].tolist())] for lane in range(LANES)])
    nodes = list(sources)
    power = step
    for bit in range(int(exponent.max()).bit_length()):
        on = (exponent >> bit & 1 == 1)[:, None]
        nodes = [
            node if power[k] == k
            else builder.mix(node, nodes[power[k]], np.where(on, builder.value(nodes[power[k]]), builder.value(node)))
            for k, node in enumerate(nodes)
        ]  # fmt: skip
        power = tuple(power[k] for k in power)
    return [nodes[int(k)] for k in index[:, 0]]
