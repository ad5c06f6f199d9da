"""Which lines of lifted functions make the most terms and unions: what a query will be about, before it is asked."""

from __future__ import annotations

import linecache
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape

from msgspec import Struct, field

from symbolic.errors import Place
from symbolic.lifting.merging import UNIONS
from symbolic.solve.floor_division import manager


class LineProfile(Struct):
    """What a line has made by itself, without the functions that it calls."""

    file: str
    line: int
    runs: int = 0
    terms: int = 0
    unions: int = 0
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """The line."""
        return linecache.getline(self.file, self.line).strip()


class Profile(Struct):
    """What was made while `with profiled()` ran; its text is a table, and `svg()` a picture of it."""

    lines: dict[tuple[str, int], LineProfile] = field(default_factory=dict)
    _inside: list[list[float]] = field(default_factory=lambda: [[0, 0, 0.0]])

    @contextmanager
    def at(self, place: Place) -> Iterator[None]:
        """Count what is made inside for a line, but for what is counted for others by then."""
        start = _made()
        self._inside.append([0, 0, 0.0])
        try:
            yield
        finally:
            inner, grown = self._inside.pop(), [now - then for now, then in zip(_made(), start, strict=True)]
            self._inside[-1] = [a + b for a, b in zip(self._inside[-1], grown, strict=True)]
            row = self.lines.setdefault((place.file, place.line), LineProfile(place.file, place.line))
            terms, unions, seconds = (a - b for a, b in zip(grown, inner, strict=True))
            row.runs += 1
            row.terms += int(terms)
            row.unions += int(unions)
            row.seconds += seconds

    def worst(self) -> list[LineProfile]:
        """Return the lines, those that made the most terms and unions first."""
        return sorted(self.lines.values(), key=lambda row: (-row.terms - row.unions, row.file, row.line))

    def __str__(self) -> str:
        rows = [("terms", "unions", "runs", "seconds", "line")]
        for row in self.worst():
            place = f"{row.file.rsplit('/', 1)[-1]}:{row.line}: {row.text}"
            rows.append((str(row.terms), str(row.unions), str(row.runs), f"{row.seconds:.3f}", place))
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        return "\n".join(
            "  ".join([*(cell.rjust(width) for cell, width in zip(row[:4], widths, strict=True)), row[4]])
            for row in rows
        )

    def svg(self) -> str:
        """Return a picture: a bar for each line, as long as what it made."""
        rows = self.worst()
        most = max([row.terms + row.unions for row in rows], default=0) or 1
        parts: list[str] = []
        for i, row in enumerate(rows):
            terms, unions = (300 * count / most for count in (row.terms, row.unions))
            about = f"{row.terms} terms, {row.unions} unions, line {row.line}: {escape(row.text)}"
            for left, width, colour in ((0.0, terms, "#4477aa"), (terms, unions, "#ee6677")):
                box = f'x="{left:.1f}" y="{20 * i + 2}" width="{width:.1f}" height="16"'
                parts.append(f'<rect {box} fill="{colour}"/>')
            parts.append(f'<text x="310" y="{20 * i + 14}">{about}</text>')
        look = f'width="900" height="{20 * len(rows)}" font-family="monospace" font-size="12"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {look}>{"".join(parts)}</svg>'

    _repr_svg_ = svg


def _made() -> tuple[int, int, float]:
    terms = len(manager().formulae) if "pysmt.environment" in sys.modules else 0
    return terms, UNIONS.made, time.process_time()


_current: ContextVar[Profile | None] = ContextVar("profile", default=None)


def current_profile() -> Profile | None:
    """Return where what is made is counted; None where nobody counts it."""
    return _current.get()


@contextmanager
def profiled() -> Iterator[Profile]:
    """Count which lines of the lifted functions that run inside make how many terms and unions, and take how long.

    A term that was there before is not made again: profile a function's first run.
    """
    profile = Profile()
    token = _current.set(profile)
    try:
        yield profile
    finally:
        _current.reset(token)
