"""Networks that nobody drew, all of a size with a depth and a number of operations; and the scans and the recursions
within a network (paper, section 4).

Whom an element takes is decided by how far it reaches, so a step is a set of elements. The search goes from step to
step. It leaves a set out if too few operations remain for the elements that are unfinished, or if even all elements
working in every step that is left would not finish; and what failed once with as many operations is not tried again.

A *module* is a part of a network that is a scan by itself: elements at equal distances, over some steps, in which they
take each other only. In the paper's pictures these are the rectangles. Where modules of half the size are all that a
network does between its first and its last steps, the network is a recursion: some steps of all elements, scans of half
the size, some steps more. Those steps are made conditions, as those of loops are, and what is left open is which scan
stands in the modules: that network again, or another one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from swizzle.scans.algorithm import ELEMENT, SIZE, shown
from swizzle.scans.bank import Comparisons, IndexTerms, Mask
from swizzle.scans.network import IDLE, Network, Step, mistake
from symbolic.expressions.columns import on_columns
from symbolic.expressions.expression import ZERO, Expression, constant, floor_divide

MOST: Final = 16
"""Elements of a network that is looked for."""
Reach = tuple[int, ...]
"""How far each element reaches."""


def discover(
    size: int,
    depth: int,
    operations: int | None = None,
    *,
    fan_out: int | None = None,
    apart: bool = False,
    where: Callable[[Network], bool] | None = None,
) -> Iterator[Network]:
    """Yield the forward networks of a size that have so many steps and operations; of the fewest operations if None.

    `fan_out` is how many elements may take the same one in a step, `apart` that none is taken in a step in which it
    changes. `where` is any other property. Mirror a network for a backward scan. Raises SwizzleError for a size beyond
    16, and where no network is that shallow.
    """
    if not isinstance(size, int) or not 2 <= size <= MOST:
        mistake(
            f"the size is {size!r}",
            f"an int from 2 to {MOST}: there are too many networks beyond",
            fix="look at a smaller size: recursions of it give larger ones",
        )
    start = tuple(range(size))
    if not isinstance(depth, int) or not _finishes(start, depth):
        mistake(
            f"no network of {size} elements has {depth!r} steps",
            "as many steps as doublings reach the size",
            fix="allow more steps",
        )
    search = _Enumeration(depth, fan_out or size, apart)
    most = size * depth if operations is None else operations
    return _each(search, start, operations if operations is not None else size - 1, most, operations is None, where)


def _each(
    search: _Enumeration, start: Reach, least: int, most: int, first: bool, where: Callable[[Network], bool] | None
) -> Iterator[Network]:
    for budget in range(least, most + 1):
        some = False
        for steps in search.steps(start, search.depth, budget):
            made = Network(len(start), steps)
            if where is None or where(made):
                some = True
                yield made
        if some and first:
            return


class _Enumeration:
    """The networks of a depth, by operations that are left."""

    def __init__(self, depth: int, fan_out: int, apart: bool) -> None:
        self.depth, self.fan_out, self.apart = depth, fan_out, apart
        self._none: set[tuple[Reach, int, int]] = set()

    def steps(self, reach: Reach, left: int, budget: int) -> Iterator[tuple[Step, ...]]:
        """Yield the rest of a network that takes so many steps and operations exactly."""
        open_ = [i for i, end in enumerate(reach) if end > 0]
        if left == 0:
            if not open_ and budget == 0:
                yield ()
            return
        key = (reach, left, budget)
        if len(open_) > budget or key in self._none or not _finishes(reach, left):
            return
        found = False
        for chosen in self._sets(reach, open_, budget):
            after = list(reach)
            for i in chosen:
                after[i] = reach[reach[i] - 1]
            unfinished = sum(end > 0 for end in after)
            if unfinished > budget - len(chosen) or not chosen:
                continue
            step = [IDLE] * len(reach)
            for i in chosen:
                step[i] = reach[i] - 1
            for rest in self.steps(tuple(after), left - 1, budget - len(chosen)):
                found = True
                yield (tuple(step), *rest)
        if not found:
            self._none.add(key)

    def _sets(self, reach: Reach, open_: list[int], budget: int) -> Iterator[tuple[int, ...]]:
        """Yield the sets of elements that may work in a step."""

        def grow(at: int, chosen: tuple[int, ...], taken: dict[int, int]) -> Iterator[tuple[int, ...]]:
            if at == len(open_):
                yield chosen
                return
            i = open_[at]
            source = reach[i] - 1
            yield from grow(at + 1, chosen, taken)
            if len(chosen) < budget and taken.get(source, 0) < self.fan_out:
                if self.apart and (source in chosen or i in taken):
                    return
                yield from grow(at + 1, (*chosen, i), {**taken, source: taken.get(source, 0) + 1})

        yield from grow(0, (), {})


def _finishes(reach: Reach, steps: int) -> bool:
    """Tell whether all elements finish if all work in each of so many steps, which is the fastest there is."""
    for _ in range(steps):
        if not any(reach):
            return True
        reach = tuple(reach[end - 1] if end else 0 for end in reach)
    return not any(reach)


CANDIDATES: Final = 40
"""For a condition of a recursion."""
WHOLE: Final = 64
"""A recursion is tried up to this size."""


class Module(Struct, frozen=True):
    """A scan within a network: the elements `places`, over the steps from `first` on."""

    places: range
    first: int
    network: Network

    @property
    def last(self) -> int:
        """The first step behind it."""
        return self.first + self.network.depth

    def __repr__(self) -> str:
        where = f"elements {', '.join(map(str, self.places[:2]))}, ..., {self.places[-1]}"
        return f"<module of {len(self.places)}: {where}, steps {self.first + 1} to {self.last}>"


def modules(network: Network) -> list[Module]:
    """Return the scans of four elements or more within a forward network that are in no larger one."""
    network.only_in_place("modules")
    if network.backward or network.wrong:
        mistake("modules of a network that is backward, or no scan", "a forward scan", "network.mirrored()")
    found: list[Module] = []
    for places in _places(network.size):
        for first, last in _ranges(network.depth):
            inner = _inner(network, places, first, last)
            if inner is not None and inner.size * inner.depth < network.size * network.depth:
                found.append(Module(places, first, inner))
    found.sort(key=lambda each: (-len(each.places), each.network.depth, each.first, each.places.start))
    return [each for at, each in enumerate(found) if not any(_within(each, other) for other in found[:at])]


def _places(size: int) -> Iterator[range]:
    stride = 1
    while stride * 4 <= size * 2:
        for count in range(size // stride, 3, -1):
            if count & (count - 1) == 0:
                for start in range(size - stride * (count - 1)):
                    if stride > 1 or start % count == 0:
                        yield range(start, start + stride * count, stride)
        stride *= 2


def _ranges(depth: int) -> Iterator[tuple[int, int]]:
    for length in range(1, depth + 1):
        for first in range(depth - length + 1):
            yield first, first + length


def _inner(network: Network, places: range, first: int, last: int) -> Network | None:
    """Return what some elements do in some steps as a network, if it is a scan that begins and ends there."""
    steps = []
    for step in network.steps[first:last]:
        row = []
        for i in places:
            if step[i] != IDLE and step[i] not in places:
                return None
            row.append(IDLE if step[i] == IDLE else places.index(step[i]))
        steps.append(tuple(row))
    if not any(s != IDLE for s in steps[0]) or not any(s != IDLE for s in steps[-1]):
        return None
    made = Network(len(places), steps)
    return None if made.wrong else made


def _within(module: Module, other: Module) -> bool:
    """Tell whether a module's elements and steps are all in another one."""
    return set(module.places) <= set(other.places) and other.first <= module.first and module.last <= other.last


# ---- recursion -------------------------------------------------------------------------------------------------------


class Recursion(Struct, frozen=True):
    """Steps of all elements, scans of half the size on `halves`, steps of all elements.

    Each step is a condition over i and N. `halves` is 'left and right', 'odd' or 'odd and even'.
    """

    before: tuple[Expression, ...]
    halves: str
    after: tuple[Expression, ...]

    def around(self, inner: Network) -> Network:
        """Return the network of twice the size with a network in each module; SwizzleError if that is no scan."""
        made = self._around(inner)
        if made.wrong:
            mistake(
                f"the recursion around {inner!r} is no scan: {made.wrong}",
                "a forward scan in its modules",
                fix="take another inner network",
            )
        return made

    def _around(self, inner: Network) -> Network:
        size = 2 * inner.size
        steps: list[Step] = []
        reach = np.arange(size)

        def add(on: Mask) -> None:
            nonlocal reach
            taken = np.maximum(reach - 1, 0)
            steps.append(tuple(np.where(on & (reach > 0), reach - 1, IDLE).tolist()))
            reach = np.where(on & (reach > 0), reach[taken], reach)

        for when in self.before:
            add(self._values(when, size))
        begun = reach.copy()
        for step in inner.steps:
            row = [IDLE] * size
            for places in HALVES[self.halves](size):
                for at, source in enumerate(step):
                    if source != IDLE:
                        row[places[at]] = places[source]
            steps.append(tuple(row))
        for places in HALVES[self.halves](size):
            reach[list(places)] = begun[places[0]]
        for when in self.after:
            add(self._values(when, size))
        return Network(size, steps)

    def _values(self, when: Expression, size: int) -> Mask:
        return np.broadcast_to(on_columns(when, {"i": np.arange(size), "N": size}), (size,))

    def __repr__(self) -> str:
        lines = [f"if {shown(when)}: a[i] takes its neighbour" for when in self.before]
        lines += [f"a scan of N / 2 elements: {self.halves}"]
        lines += [f"if {shown(when)}: a[i] takes its neighbour" for when in self.after]
        return "\n".join(lines)


HALVES: Final[Mapping[str, Callable[[int], tuple[range, ...]]]] = {
    "left and right": lambda size: (range(size // 2), range(size // 2, size)),
    "odd": lambda size: (range(1, size, 2),),
    "odd and even": lambda size: (range(0, size, 2), range(1, size, 2)),
}
"""The modules of a recursion at a size."""


def recursions(network: Network) -> list[Recursion]:
    """Return the recursions that a forward network is made by: of twice any size, whatever scan stands in the modules.

    They are tried with the network's own modules and with others, up to a size.
    """
    network.only_in_place("recursions")
    if network.backward or network.wrong or network.size < 4 or network.size & (network.size - 1):
        mistake(f"recursions of {network!r}", "a forward scan of 4, 8, 16, ... elements", "network.mirrored()")
    found = []
    for name, halves in HALVES.items():
        for first, last in _ranges(network.depth):
            inner = [_inner(network, places, first, last) for places in halves(network.size)]
            own = inner[0]
            if own is None or any(each != own for each in inner) or _others(network, halves(network.size), first, last):
                continue
            conditions = [_conditions(network, at) for at in (*range(first), *range(last, network.depth))]
            for chosen in itertools.islice(itertools.product(*conditions), CANDIDATES * 10):
                made = Recursion(tuple(chosen[:first]), name, tuple(chosen[first:]))
                if made._around(own) == network and _holds(made, own):
                    found.append(made)
                    break
    return found


def _others(network: Network, halves: Sequence[range], first: int, last: int) -> bool:
    """Tell whether elements outside of the modules work in their steps."""
    within = {i for places in halves for i in places}
    return any(s != IDLE and i not in within for step in network.steps[first:last] for i, s in enumerate(step))


def _conditions(network: Network, at: int) -> list[Expression]:
    """Return conditions over i and N that a step may be, the lightest first."""
    sizes = [size for size in (4, 8, 16, 32) if size != network.size]
    every = [network.size, *sizes]
    i, n = np.concatenate([np.arange(size) for size in every]), np.repeat(every, every)
    halves = floor_divide(SIZE, constant(2))
    leaves = [(ZERO, 1, 0 * i), (ELEMENT, 1, i), (SIZE, 1, n), (constant(1), 1, 0 * i + 1), (constant(2), 1, 0 * i + 2)]
    bank = IndexTerms([*leaves, (halves, 2, n // 2)], [constant(2)], 5, bitwise=False)
    own = np.arange(len(i)) < network.size
    want = np.zeros(len(i), bool)
    want[: network.size] = np.array(network.steps[at]) != IDLE
    return [when for _, when, _ in itertools.islice(Comparisons(bank).matching(own, want), CANDIDATES)]


def _holds(recursion: Recursion, inner: Network) -> bool:
    """Tell whether a recursion makes scans around itself, and around a chain, up to a size."""
    for start in (inner, Network(2, ((IDLE, 0),)), _chain(4)):
        made = start
        while made.size < WHOLE:
            made = recursion._around(made)
            if made.wrong:
                return False
    return True


def _chain(size: int) -> Network:
    """Return the serial scan: a step for each element."""
    return Network(size, [tuple(i - 1 if i == at else IDLE for i in range(size)) for at in range(1, size)])
