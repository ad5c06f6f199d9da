"""Shapes and texts of an SVG document, in the order in which they are drawn."""

from __future__ import annotations

from xml.sax.saxutils import escape

INK = "#1f2430"
SANS = "system-ui, 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


class Canvas:
    """Collects elements."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        fill: str = INK,
        size: float = 10,
        bold: bool = False,
        anchor: str = "start",
        family: str = "",
    ) -> None:
        more = f' font-size="{size:g}"' if size != 10 else ""
        more += f' fill="{fill}"' if fill != INK else ""
        more += ' font-weight="600"' if bold else ""
        more += f' text-anchor="{anchor}"' if anchor != "start" else ""
        more += f' font-family="{SANS}"' if bold or family else ""
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}"{more}>{escape(text)}</text>')

    def rect(self, x: float, y: float, width: float, height: float, fill: str, edge: str = "", more: str = "") -> None:
        stroke = f' stroke="{edge}"' if edge else ""
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
            f'fill="{fill}"{stroke}{" " + more if more else ""}/>'
        )

    def arrow(self, a: float, b: float, top: float, bottom: float, colour: str) -> None:
        bend = (bottom - top) * 0.45
        points = [(a, top), (a, top + bend), (b, bottom - bend), (b, bottom - 4)]
        start, *curve = (f"{number(x)} {number(y)}" for x, y in points)
        path = f"M{start}C{' '.join(curve)}"
        self.parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.3"/>')
        tip = f"M{number(b - 3)} {number(bottom - 5)}l3 5l3 -5z"
        self.parts.append(f'<path d="{tip}" fill="{colour}"/>')


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
