"""The picture of a derivation: each step's expression with the part that it has changed in colour, and beside the steps
who computes what the last expression says, as boxes within each other: the grid's maps, and the memories of results.

The same derivation always gives the same text. It needs no style sheet, script or network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from xml.sax.saxutils import escape

from msgspec import Struct

from symbolic.patterns.lengths import length_text
from symbolic.patterns.terms import MAPS, MEMORIES, PARALLEL, Lambda, Map, PatternNode, Reduce, Term, ToMemory, children
from symbolic.patterns.text import pattern_text
from symbolic.patterns.types import ArrayOf, Typing, ValueType
from symbolic.rewriting.derivation import PatternDerivation

INK: Final = "#1f2430"
QUIET: Final = "#6b7280"
CHANGED: Final = "#b3261e"
MONO: Final = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
FILLS: Final = {
    "block": "#e8eefc", "global": "#e8eefc", "warp": "#e3f4ea", "local": "#fdf3dc", "lane": "#fdf3dc",
    "seq": "#ffffff", "memory": "#f3e8fb",
}  # fmt: skip
COLUMNS: Final = 110
"""Characters of a line of a step."""
CHARACTER, LINE, MARGIN, TITLE = 6.6, 15, 16, 18


class HardwareBox(Struct, frozen=True):
    """Who computes a part of an expression, or where its result is kept, and what is inside."""

    kind: str
    title: str
    inside: tuple[HardwareBox, ...]

    @property
    def height(self) -> float:
        """How high the box is."""
        return TITLE + 8 + sum(each.height + 6 for each in self.inside)

    @property
    def depth(self) -> int:
        """How many boxes are within each other."""
        return 1 + max((each.depth for each in self.inside), default=0)


def boxes(term: Term, names: Mapping[str, ValueType]) -> tuple[HardwareBox, ...]:
    """Return the boxes of an expression, what is computed first above: maps whose kind is decided, sequential
    reductions, and memories."""
    typing = Typing()

    def length_of(array: Term, names: Mapping[str, ValueType]) -> str:
        kind = typing.type_of(array, names)
        return length_text(kind.length) if isinstance(kind, ArrayOf) else ""

    def visit(node: PatternNode, names: Mapping[str, ValueType]) -> Iterator[HardwareBox]:
        inside: list[HardwareBox] = []
        for place, each in enumerate(children(node)):
            known = names if isinstance(node, Lambda) else typing.inner_names(node, place, names)
            if isinstance(each, Lambda):
                inside += visit(each, known)
            else:
                yield from visit(each, known)
        match node:
            case Map() if node.kind != "map":
                axis = f" along {node.axis}" if node.kind in PARALLEL and node.axis != "x" else ""
                title = f"{MAPS[node.kind]}{axis}: {length_of(node.array, names)}"
                yield HardwareBox(node.kind, title, tuple(inside))
            case Reduce() if node.kind == "seq":
                yield HardwareBox("seq", f"reduce_seq: {length_of(node.array, names)}", tuple(inside))
            case ToMemory():
                yield HardwareBox("memory", MEMORIES[node.memory], ())
            case _:
                yield from inside

    return tuple(visit(term, names))


def derivation_svg(made: PatternDerivation, title: str) -> str:
    """Return a derivation's picture."""
    parts: list[str] = []
    y = MARGIN + 14.0
    parts.append(_text(MARGIN, y, title, bold=True))
    y += 10
    steps = [("", pattern_text(made.start, made.inputs).splitlines()[-1], "")]
    for step, after in zip(made.steps, made.expressions[1:], strict=True):
        said = ", ".join(
            [step.rule, *([f"at {step.at}"] if step.at else []), *(f"{k} = {v}" for k, v in step.arguments.items())]
        )
        marked = pattern_text(after, made.inputs, step.changed, step.kept).splitlines()[-1]
        steps.append((step.figure, marked, "; ".join([said, *step.facts])))
    for figure, text, said in steps:
        if said:
            y += 4
            parts.append(_text(MARGIN, y + LINE, figure, fill=CHANGED))
            for spans in _wrapped(said):
                y += LINE
                parts.append(_text(MARGIN + 80, y, "".join(part for _, part in spans), fill=QUIET))
        for spans in _wrapped(text):
            y += LINE
            colours = "".join(
                f'<tspan fill="{CHANGED if changed else INK}">{escape(part)}</tspan>' for changed, part in spans
            )
            parts.append(f'<text x="{MARGIN + 80}" y="{y:g}" xml:space="preserve">{colours}</text>')
    left = MARGIN * 3 + 80 + COLUMNS * CHARACTER
    found = boxes(made.now, made.inputs)
    width = 210 + 16 * max((each.depth for each in found), default=0)
    below = MARGIN + 20.0
    for box in found:
        parts += _box(box, left, below, width)
        below += box.height + 8
    height, wide = max(y, below) + MARGIN, left + width + MARGIN
    size = f'width="{wide:g}" height="{height:g}" viewBox="0 0 {wide:g} {height:g}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        f'font-family="{MONO}" font-size="11"><title>{escape(title)}</title>'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
    )
    return "\n".join([head, *parts, "</svg>", ""])


def _text(x: float, y: float, text: str, fill: str = INK, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}"{weight}>{escape(text)}</text>'


def _box(box: HardwareBox, x: float, y: float, width: float) -> Iterator[str]:
    yield (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{box.height:g}" rx="3" fill="{FILLS[box.kind]}" '
        f'stroke="{QUIET}"/>'
    )
    yield _text(x + 6, y + 13, box.title)
    below = y + TITLE
    for each in box.inside:
        yield from _box(each, x + 8, below, width - 16)
        below += each.height + 6


def _wrapped(text: str) -> list[list[tuple[bool, str]]]:
    """Return lines of a text whose marked part stands between brackets, each as parts that are changed or are not."""
    lines: list[list[tuple[bool, str]]] = [[]]
    room, changed = COLUMNS, False
    for word in text.split(" "):
        if word in ("[[", "]]"):
            changed = word == "[["
            continue
        if len(word) + 1 > room:
            lines.append([])
            room = COLUMNS
        lines[-1].append((changed, f"{word} "))
        room -= len(word) + 1
    return lines
