"""A network drawn as the literature draws it: a column for an element, time downward, a dot where it takes another.

Where an element drops its own words, its line is cut and the dot is hollow: it has what it takes, or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

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
