"""A scan network at one size: which element takes which at each step, what each then holds, and whether that is a scan.

All elements work at once. An element that takes another puts the other's words before its own, `a[i] = a[s] . a[i]`, or
behind them. So what it holds is a range of the input as long as the two are neighbours, and which operand comes first
is decided by what they hold. An element may also drop its own words: then it is left with those that it takes, `a[i] =
a[s]`, or with none, the identity. The network is a scan if each element holds a range after every step, and everything
up to itself in the end; up to itself, without it, if the scan is exclusive. As nothing is known of the operator but
that it is associative, and of the identity but that it is one, this is a proof for every such operator.

This is the paper's picture of a network (scan synthesis, section 3.2): a row for a step, a dot where an element takes
another.

Where an element drops its own words, its line is cut and the dot is hollow: it has what it takes, or nothing.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from types import FrameType
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from symbolic.errors import Place, SwizzleError, is_ours


def users_line() -> Place | None:
    """Return the line outside of Swizzle that called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).rstrip()
    start = len(text) - len(text.lstrip()) + 1
    return Place(frame.f_code.co_filename, frame.f_lineno, start, max(len(text), start) + 1)


def mistake(found: str, expected: str, fix: str) -> NoReturn:
    """Raise the user's error."""
    raise SwizzleError(found, place=users_line(), expected=expected, fix=fix)


IDLE: Final = -1
"""Of an element that takes none."""
Ends = npt.NDArray[np.int64]
"""How far each element's words reach: down to there, or up to there."""
Mask = npt.NDArray[np.bool_]


class HeldRanges(NamedTuple):
    """For each element the first input that it holds and the one behind its last: the same, if it holds none."""

    low: Ends
    high: Ends

    @staticmethod
    def start(size: int) -> HeldRanges:
        """Return what elements hold before the first step: each its own input."""
        return HeldRanges(np.arange(size), np.arange(size) + 1)

    @staticmethod
    def whole(size: int, *, backward: bool, exclusive: bool) -> HeldRanges:
        """Return what elements hold behind a scan."""
        own = np.arange(size)
        return HeldRanges(own + exclusive, own * 0 + size) if backward else HeldRanges(own * 0, own + (not exclusive))

    def step(self, sources: Ends, gone: Mask, nothing: int = 0) -> tuple[HeldRanges, Mask, Mask]:
        """Return what elements hold behind a step, and where what is taken fits before one's own, and behind it.

        Who drops its words and takes none holds `nothing`: the inputs from there up to there.
        """
        on = sources != IDLE
        taken = np.where(on, sources, 0)
        own_low, own_high = (np.where(gone, nothing, each) for each in self)
        taken_low, taken_high = (np.where(on, each[taken], nothing) for each in self)
        alone, none = own_low == own_high, taken_low == taken_high
        low = np.where(alone, taken_low, np.where(none, own_low, np.minimum(own_low, taken_low)))
        high = np.where(alone, taken_high, np.where(none, own_high, np.maximum(own_high, taken_high)))
        return HeldRanges(low, high), alone | none | (taken_high == own_low), alone | none | (own_high == taken_low)

    def unlike(self, other: HeldRanges) -> Ends:
        """Return the elements that do not hold the same."""
        same = (self.low == other.low) & (self.high == other.high)
        return np.nonzero(~(same | (self.low == self.high) & (other.low == other.high)))[0]

    def said(self, i: int) -> str:
        """Return in words what an element holds."""
        first, last = int(self.low[i]), int(self.high[i]) - 1
        if last < first:
            return "nothing"
        return f"x{first}" if first == last else f"x{first} ... x{last}"


COLUMN, ROW, MARGIN, DOT = 22, 34, 18, 4.5
INK, WIRE, TAKEN = "#1f2430", "#c9ced6", "#2563a8"


def svg(size: int, steps: Sequence[Sequence[int]], dropped: Sequence[frozenset[int]], title: str) -> str:
    """Return a network as an SVG figure.

    Given are for each step the element that every element takes, -1 for none, and those that drop their own words.
    """
    depth = len(steps)
    width, height = 2 * MARGIN + COLUMN * (size - 1), 2.5 * MARGIN + ROW * depth

    def x(i: int) -> float:
        return MARGIN + COLUMN * i

    def y(step: int) -> float:
        return 1.5 * MARGIN + ROW * step

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:g}" viewBox="0 0 {width} {height:g}" '
        f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="10" fill="{INK}" text-anchor="middle">'
        f"<title>{escape(title)}</title>",
        *(f'<text x="{x(i):g}" y="{MARGIN - 4:g}">{i}</text>' for i in range(size)),
        *(f'<path d="M{x(i):g} {y(0):g}V{y(depth):g}" stroke="{WIRE}"/>' for i in range(size)),
    ]
    for at, (step, gone) in enumerate(zip(steps, dropped, strict=True)):
        edges = [(i, source) for i, source in enumerate(step) if source >= 0]
        parts += [f'<path d="M{x(i):g} {y(at):g}V{y(at + 1):g}" stroke="#fff" stroke-width="3"/>' for i in sorted(gone)]
        parts += [
            f'<path d="M{x(s):g} {y(at):g}L{x(i):g} {y(at + 1):g}" stroke="{TAKEN}" stroke-width="1.4"/>'
            for i, s in edges
        ]
        parts += [
            f'<circle cx="{x(i):g}" cy="{y(at + 1):g}" r="{DOT}" fill="{INK}"/>' for i, _ in edges if i not in gone
        ]
        parts += [
            f'<circle cx="{x(i):g}" cy="{y(at + 1):g}" r="{DOT}" fill="#fff" stroke="{INK}"/>' for i in sorted(gone)
        ]
    return "\n".join([*parts, "</svg>", ""])


Step = tuple[int, ...]
"""For each element the one that it takes, or IDLE."""
EMPTIED: Final = "e"
"""Of an element that is left with the identity, in a row."""
_Cell = tuple[int, bool]
"""The element that is taken, or IDLE; and whether its words replace one's own."""
MOST: Final = 4096
"""Elements of an example."""


class Network:
    """Steps of a scan, each with the element that every element takes, or IDLE, and those that drop their own words."""

    def __init__(self, size: int, steps: Sequence[Step], dropped: Sequence[frozenset[int]] = ()) -> None:
        self.size, self.steps = size, tuple(steps)
        self.dropped = tuple(dropped) or (frozenset(),) * len(self.steps)
        """For each step the elements that drop their own words, whether they take others or not."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and (self.size, self.steps, self.dropped) == (
            other.size,
            other.steps,
            other.dropped,
        )

    def __hash__(self) -> int:
        return hash((self.size, self.steps, self.dropped))

    def __repr__(self) -> str:
        what = ("exclusive " if self.exclusive else "") + ("backward " if self.backward else "")
        return f"<{what}network of {self.size}: {self.depth} steps, {self.operations} operations>"

    def __str__(self) -> str:
        rows = [[_word(each, i in gone) for i, each in enumerate(step)] for step, gone in self._rounds]
        width = max((len(word) for row in rows for word in row), default=1)
        return "\n".join(" ".join(word.rjust(width) for word in row) for row in rows)

    def svg(self) -> str:
        """Return the network as a figure."""
        return svg(self.size, self.steps, self.dropped, repr(self).strip("<>"))

    def _repr_svg_(self) -> str:
        return self.svg()

    @property
    def _rounds(self) -> Iterator[tuple[Step, frozenset[int]]]:
        return zip(self.steps, self.dropped, strict=True)

    @property
    def in_place(self) -> bool:
        """Whether no element ever drops its words; the network is inclusive then."""
        return not any(self.dropped)

    def only_in_place(self, what: str) -> Network:
        """Return the network; SwizzleError where an element drops its words."""
        if not self.in_place:
            at, gone = next((at, gone) for at, gone in enumerate(self.dropped, 1) if gone)
            mistake(
                f"in step {at} of the network element {min(gone)} drops its own words",
                f"for {what}, a scan in place: each element keeps what it has, and takes others",
                "take an inclusive scan; a kernel makes it exclusive: y[i] = a[i - 1] if i > 0 else the identity",
            )
        return self

    @property
    def backward(self) -> bool:
        """Whether element i ends with what is behind it, not before it."""
        return self._run.backward

    @property
    def exclusive(self) -> bool:
        """Whether element i ends without xi, and the first one, or the last one, with the identity."""
        return self._run.exclusive

    @property
    def depth(self) -> int:
        """How many steps there are."""
        return len(self.steps)

    @property
    def operations(self) -> int:
        """How often the operator is applied."""
        return sum(source != IDLE and i not in gone for step, gone in self._rounds for i, source in enumerate(step))

    @property
    def fan_out(self) -> int:
        """How many elements take the same one in a step, at most."""
        return max((step.count(source) for step in self.steps for source in set(step) - {IDLE}), default=0)

    @property
    def apart(self) -> bool:
        """Whether no element is taken in a step in which it changes: then a step needs one barrier, not two."""
        return not any(
            source != IDLE and (step[source] != IDLE or source in gone)
            for step, gone in self._rounds
            for source in step
        )

    @cached_property
    def wrong(self) -> str:
        """Why this is no scan, in words with the first element that goes wrong; empty of a scan."""
        return self._run.wrong

    def ends(self) -> list[Ends]:
        """Return how far each element reaches before each step, and in the end; of a scan in place only."""
        assert self.in_place and not self.wrong, self.wrong
        return self._run.ends

    def mirrored(self) -> Network:
        """Return the network seen from the other side: of a forward scan a backward one."""
        last = self.size - 1
        turned = (tuple(IDLE if s == IDLE else last - s for s in reversed(step)) for step in self.steps)
        return Network(self.size, tuple(turned), [frozenset(last - i for i in gone) for gone in self.dropped])

    @cached_property
    def _run(self) -> _Run:
        size, in_place, held = self.size, self.in_place, HeldRanges.start(self.size)
        backward = in_place and any(source > i for step in self.steps for i, source in enumerate(step))
        found = list[Ends]()
        for number, (step, gone) in enumerate(self._rounds, 1):
            found.append(held.high - 1 if backward else held.low)
            after, before, behind = held.step(np.array(step), np.isin(np.arange(size), list(gone)))
            fits = (behind if backward else before) if in_place else before | behind
            bad = np.nonzero(~fits)[0]
            if len(bad):
                i = int(bad[0])
                source = step[i]
                at_end = int(held.high[i]) == size if backward else int(held.low[i]) == 0
                theirs = f"{held.said(source)} of element {source}"
                whose = f"{theirs}, which is not next to {held.said(i)} of its own"
                if in_place and (source > i) != backward:
                    way = ("behind", "backward") if source > i else ("before", "forward")
                    whose = f"element {source}, which is {way[0]} it as in a {way[1]} scan, and other elements do not"
                elif in_place and at_end:
                    whose = f"{theirs}, and has everything already"
                return _Run(found, backward, False, f"step {number}: element {i} takes {whose}")
            held = after
        found.append(held.high - 1 if backward else held.low)
        exclusive = bool((held.low == held.high).any())
        whole = {way: HeldRanges.whole(size, backward=way, exclusive=exclusive) for way in (False, True)}
        if not in_place:
            backward = len(held.unlike(whole[True])) < len(held.unlike(whole[False]))
        wrong = held.unlike(whole[backward])
        if not len(wrong):
            return _Run(found, backward, exclusive, "")
        i = int(wrong[0])
        wanted = whole[backward].said(i)
        return _Run(found, backward, exclusive, f"in the end element {i} holds {held.said(i)}, not {wanted}")


class _Run(NamedTuple):
    """What running a network gives: how far elements of one in place reach, what it scans, and what goes wrong."""

    ends: list[Ends]
    backward: bool
    exclusive: bool
    wrong: str


def _word(source: int, gone: bool) -> str:
    """Return what an element does in a step, as it is written in a row."""
    if source == IDLE:
        return EMPTIED if gone else "."
    return f"={source}" if gone else str(source)


def network(rows: str | Iterable[Any]) -> Network:
    """Return the network of an example at one size, which has to be a scan.

    `rows` is a text with a line for each step and a word for each element: the number of the element that it takes, or
    `.` where it takes none; `=3` where element 3's words replace its own, and `e` where it is left with the identity.
    Or it is a list of steps, each a list of as many sources, with None or -1 for none, or a dict from elements to
    sources; with dicts alone, the last element that is named ends the network. Raises SwizzleError for what is no
    network, or no scan, with the first element that goes wrong.

    >>> print(network(". 0 . 2\\n. . . 1\\n. . 1 ."))
    . 0 . 2
    . . . 1
    . . 1 .
    """
    cells = _steps(rows)
    size = len(cells[0])
    steps = [tuple(source for source, _ in row) for row in cells]
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
    made = Network(size, steps, [frozenset(i for i, (_, gone) in enumerate(row) if gone) for row in cells])
    if made.wrong:
        mistake(
            f"the network is no scan: {made.wrong}",
            "elements that take their neighbours' words until each holds everything up to itself",
            "an element that holds xl ... xi takes one that ends with x(l-1)",
        )
    return made


def _steps(rows: Any) -> list[list[_Cell]]:
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
    return found


def _cell(what: Any, number: int, i: int) -> _Cell:
    if what is None or what in (".", "-", IDLE):
        return IDLE, False
    if isinstance(what, int | np.integer) and not isinstance(what, bool):
        return int(what), False
    if isinstance(what, str) and re.fullmatch("=?[0-9]{1,6}", what):
        return int(what.removeprefix("=")), what[0] == "="
    if what == EMPTIED:
        return IDLE, True
    mistake(
        f"step {number} of the network has {what!r} for element {i}",
        "the number of the element that it takes, or `.` for none; `=3` to be left with what 3 holds, `e` with nothing",
        fix="write a number, `.`, `=` and a number, or `e`",
    )
