"""Networks that nobody drew: all of a size with a depth and a number of operations (paper, section 4).

Whom an element takes is decided by how far it reaches, so a step is a set of elements. The search goes from step to
step. It leaves a set out if too few operations remain for the elements that are unfinished, or if even all elements
working in every step that is left would not finish; and what failed once with as many operations is not tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from swizzle.scans.network import IDLE, Network, Step, mistake

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
