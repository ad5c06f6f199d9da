"""A scan network at one size: which element takes which at each step, and whether that is a scan.

All elements work in place and at once. An element that takes another puts the other's words before its own, or behind
them in a backward scan: `a[i] = a[s] . a[i]`. So what it holds is a range of the input as long as the two are
neighbours. The network is a scan if that is always so, and each element holds everything up to itself in the end. As
nothing is known of the operator but that it is associative, this is a proof for every such operator.

This is the paper's picture of a network (scan synthesis, section 3.2): a row for a step, a dot where an element takes
another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from swizzle.scans.mistakes import mistake
from swizzle.scans.picture import svg

Step = tuple[int, ...]
"""For each element the one that it takes, or IDLE."""
IDLE: Final = -1
MOST: Final = 4096
"""Elements of an example."""
Ends = npt.NDArray[np.int64]
"""How far each element's words reach: down to there, or up to there in a backward scan."""


class Network:
    """Steps of a scan in place, each with the element that every element takes, or IDLE."""

    def __init__(self, size: int, steps: Sequence[Step]) -> None:
        self.size, self.steps = size, tuple(steps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and (self.size, self.steps) == (other.size, other.steps)

    def __hash__(self) -> int:
        return hash((self.size, self.steps))

    def __repr__(self) -> str:
        what = "backward " if self.backward else ""
        return f"<{what}network of {self.size}: {self.depth} steps, {self.operations} operations>"

    def __str__(self) -> str:
        width = len(str(self.size - 1))
        return "\n".join(
            " ".join(("." if source == IDLE else str(source)).rjust(width) for source in step) for step in self.steps
        )

    def svg(self) -> str:
        """Return the network as a figure."""
        return svg(self.size, self.steps, repr(self).strip("<>"))

    def _repr_svg_(self) -> str:
        return self.svg()

    @cached_property
    def backward(self) -> bool:
        """Whether elements take those behind them, so that element i ends with everything from i on."""
        return any(source > i for step in self.steps for i, source in enumerate(step))

    @property
    def depth(self) -> int:
        """How many steps there are."""
        return len(self.steps)

    @property
    def operations(self) -> int:
        """How often the operator is applied."""
        return sum(source != IDLE for step in self.steps for source in step)

    @property
    def fan_out(self) -> int:
        """How many elements take the same one in a step, at most."""
        return max((step.count(source) for step in self.steps for source in set(step) - {IDLE}), default=0)

    @property
    def apart(self) -> bool:
        """Whether no element is taken in a step in which it changes: then a step needs one barrier, not two."""
        return not any(source != IDLE and step[source] != IDLE for step in self.steps for source in step)

    @cached_property
    def wrong(self) -> str:
        """Why this is no scan, in words with the first element that goes wrong; empty of a scan."""
        return self._run()[1]

    def ends(self) -> list[Ends]:
        """Return how far each element reaches before each step, and in the end; of a scan only."""
        assert not self.wrong, self.wrong
        return self._run()[0]

    def mirrored(self) -> Network:
        """Return the network seen from the other side: of a forward scan a backward one."""
        last = self.size - 1
        turned = (tuple(IDLE if s == IDLE else last - s for s in reversed(step)) for step in self.steps)
        return Network(self.size, tuple(turned))

    def _run(self) -> tuple[list[Ends], str]:
        backward, size = self.backward, self.size
        own, found = np.arange(size), []
        reach = own.copy()

        def held(i: int) -> str:
            low, high = sorted((i, int(reach[i])))
            return f"x{low}" if low == high else f"x{low} ... x{high}"

        for number, step in enumerate(self.steps, 1):
            found.append(reach.copy())
            sources = np.array(step)
            on = sources != IDLE
            neighbour = reach + 1 if backward else reach - 1
            bad = np.nonzero(on & (sources != neighbour))[0]
            if len(bad):
                i = int(bad[0])
                source, wanted = step[i], int(neighbour[i])
                whose = f"{held(source)} of element {source}, which is not next to {held(i)} of its own"
                if (source > i) != backward:
                    way = ("behind", "backward") if source > i else ("before", "forward")
                    whose = f"element {source}, which is {way[0]} it as in a {way[1]} scan, and other elements do not"
                elif not 0 <= wanted < size:
                    whose = f"{held(source)} of element {source}, and has everything already"
                return found, f"step {number}: element {i} takes {whose}"
            reach = np.where(on, reach[np.where(on, sources, 0)], reach)
        found.append(reach)
        unfinished = np.nonzero(reach != (size - 1 if backward else 0))[0]
        if len(unfinished):
            i = int(unfinished[0])
            whole = f"x{i} ... x{size - 1}" if backward else f"x0 ... x{i}"
            return found, f"in the end element {i} holds {held(i)}, not {whole}"
        return found, ""


def network(rows: str | Iterable[Any]) -> Network:
    """Return the network of an example at one size, which has to be a scan.

    `rows` is a text with a line for each step and a word for each element: the number of the element that it takes, or
    `.` where it takes none. Or it is a list of steps, each a list of as many sources, with None or -1 for none, or a
    dict from elements to sources; with dicts alone, the last element that is named ends the network. Raises
    SwizzleError for what is no network, or no scan, with the first element that goes wrong.

    >>> print(network(". 0 . 2\\n. . . 1\\n. . 1 ."))
    . 0 . 2
    . . . 1
    . . 1 .
    """
    steps = _steps(rows)
    size = len(steps[0])
    for number, step in enumerate(steps, 1):
        if len(step) != size:
            mistake(
                f"step {number} of the network has {len(step)} elements, and step 1 has {size}",
                "one size: a row for each step, in it a number or `.` for each element",
                fix="write every row with as many entries",
            )
        for i, source in enumerate(step):
            if source != IDLE and (not 0 <= source < size or source == i):
                what = "itself" if source == i else f"element {source}"
                mistake(
                    f"step {number} of the network: element {i} takes {what}",
                    f"another element, from 0 to {size - 1}, or `.` for none",
                    fix="write the number of an element of the step before",
                )
    made = Network(size, steps)
    if made.wrong:
        mistake(
            f"the network is no scan: {made.wrong}",
            "elements that take their neighbours' words until each holds everything up to itself",
            "an element that holds xl ... xi takes the one that ends with x(l-1): element l-1",
        )
    return made


def _steps(rows: Any) -> list[Step]:
    if isinstance(rows, str):
        lines = [line.split() for line in rows.splitlines() if line.strip()]
        found = [[_cell(word, number, i) for i, word in enumerate(words)] for number, words in enumerate(lines, 1)]
    elif isinstance(rows, Iterable):
        some = list(rows)
        if some and all(isinstance(step, Mapping) for step in some):
            ends = [each for step in some for edge in step.items() for each in edge]
            if not all(isinstance(each, int) and 0 <= each < MOST for each in ends):
                mistake(
                    "a step of the network is not a dict of elements",
                    "{1: 0, 3: 2}: element 1 takes element 0",
                    fix="write {element: the one that it takes} for each step",
                )
            size = max(ends, default=0) + 1
            some = [[step.get(i) for i in range(size)] for step in some]
        found = [[_cell(s, number, i) for i, s in enumerate(step)] for number, step in enumerate(some, 1)]
    else:
        mistake(
            f"the network is {rows!r}",
            "a text with a row for each step, or a list of steps",
            fix="write it as a text, a line for each step",
        )
    if not found or len(found[0]) < 2 or len(found[0]) > MOST:
        mistake(
            "the network is empty, or too large",
            f"a step or more, of 2 to {MOST} elements",
            fix="write a row for each step; loops for larger sizes are found from a small one",
        )
    return [tuple(step) for step in found]


def _cell(what: Any, number: int, i: int) -> int:
    if what is None or what in (".", "-", IDLE):
        return IDLE
    if isinstance(what, int | np.integer) and not isinstance(what, bool):
        return int(what)
    if isinstance(what, str) and re.fullmatch("[0-9]{1,6}", what):
        return int(what)
    mistake(
        f"step {number} of the network has {what!r} for element {i}",
        "the number of the element that it takes, or `.` for none",
        fix="write a number, or `.`",
    )
