"""The page to explore: one HTML document with its style, its script and its data inside, and nothing else.

The data is what the picture knows, as numbers in tables: the page draws the panel that is looked at, when it is
looked at. It is embedded as JSON with every `<`, `>` and `&` escaped, so that nothing that a sketch contains can end
the element it stands in; a content security policy allows the page's own script and style by their hashes, and no
connection to anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import linecache
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from swizzle.answers.emit.calling import source_of
from swizzle.answers.show.panels import Labels, LaneSource, Panel, Row, Strip, Trace, clipped, geometry, panels
from swizzle.answers.show.scene import HoleTable, Scene, labels_for
from swizzle.answers.show.svg import tiles_svg
from swizzle.solving.solution.solution import Solution
from symbolic.errors import SwizzleError
from symbolic.ir.program import Program
from symbolic.ir.walk import statements
from symbolic.machine.accesses import WarpAccess

HERE = Path(__file__).parent
LARGEST = 1_800_000
LONGEST_TERM = 400
MOST_WARPS = 32
SCRIPTS = ("facts", "draw", "look", "hands")
KINDS = ("load", "shuffle", "compute", "store", "accumulate", "result")


def page_of(picture: Scene) -> str:
    """Return the whole document; of a kernel too long for it, the first and the last panels.

    As many other warps of the block are in it as there is room for.
    """
    style = (HERE / "page.css").read_text(encoding="utf-8")
    parts = ((HERE / f"page_{part}.js").read_text(encoding="utf-8") for part in SCRIPTS)
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    data = f'{{"page":{_json(_common(picture))},"warps":[{",".join(_warps(picture))}]}}'
    fields = {"policy": policy, "title": html.escape(picture.title), "style": style, "data": data, "script": script}
    fields["tiles"] = tiles_svg(picture)
    text = (HERE / "page.html").read_text(encoding="utf-8")
    before, *rest = text.split("{{")
    return before + "".join(fields[name] + after for name, after in (part.split("}}", 1) for part in rest))


def _warps(picture: Scene) -> list[str]:
    """Return the data of each warp that the page has, the chosen one first."""
    chosen, kept = picture.trace.warp, len(picture.panels)
    first = _json(_Warp(picture, picture.trace, picture.panels, picture.labels).everything(0))
    if len(first) > LARGEST:
        while len(first) > LARGEST and kept > 2:
            kept = kept * 2 // 3
            tail = max(1, kept // 4)
            some = (*picture.panels[: kept - tail], *picture.panels[-tail:])
            left_out = len(picture.panels) - kept
            first = _json(_Warp(picture, picture.trace, some, picture.labels).everything(left_out))
        return [first]
    found, room = [first], LARGEST - len(first)
    for number in range(min(picture.block.warps, MOST_WARPS)):
        if number != chosen:
            other = picture.block.warp(number)
            laid = panels(other)
            found.append(_json(_Warp(picture, other, laid, labels_for(other, laid)).everything(0)))
            room -= len(found[-1])
            if room < 0:
                return found[:-1]
    return found


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(data: dict[str, Any]) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _common(picture: Scene) -> dict[str, Any]:
    """Return what a page says whichever warp it shows."""
    first, lines = sketch_lines(picture.program)
    cuda, origins = cuda_lines(picture.solution)
    return {
        "title": picture.title,
        "name": picture.program.name,
        "warpSize": picture.program.warp_size,
        "byLane": picture.colour == "lane",
        "holes": _holes(picture.holes),
        "sketch": {"first": first, "lines": lines},
        "cuda": {"lines": cuda, "origins": origins},
    }


class _Warp:
    """One warp's tables. Arrays over the lanes are kept once each, in `sets`; terms are numbered as they come."""

    def __init__(self, picture: Scene, trace: Trace, panels: Sequence[Panel], labels: Labels) -> None:
        self.picture, self.trace, self.panels, self.labels = picture, trace, panels, labels
        self.sets: dict[tuple[int, ...], int] = {}
        self.terms: dict[int, int] = {}

    def everything(self, left_out: int) -> dict[str, Any]:
        trace = self.trace
        look = geometry(tuple(self.panels), self.labels, trace.lanes)
        panels = [self._panel(panel) for panel in self.panels]
        rows = {row: self._row(trace.rows[row]) for panel in self.panels for row in panel.rows}
        return {
            "warp": trace.warp,
            "where": self.picture.where_is(trace.warp),
            "lanes": trace.lanes,
            "first": trace.first,
            "look": {"title": look.title, "cell": look.cell},
            "leftOut": left_out,
            "panels": panels,
            "rows": rows,
            "terms": self._terms(),
            "sets": list(map(list, self.sets)),
        }

    def _set(self, values: Iterable[Any]) -> int:
        key = tuple(int(value) for value in values)
        return self.sets.setdefault(key, len(self.sets))

    def _term_set(self, terms: Iterable[int]) -> int:
        return self._set(self.terms.setdefault(term, len(self.terms)) if term >= 0 else -1 for term in terms)

    def _terms(self) -> dict[str, list[Any]]:
        labels = self.labels
        tones = [labels.tone(term) for term in self.terms]
        return {
            "label": ["\n".join(labels.lines(term)) for term in self.terms],
            "full": [clipped(labels.full(term), LONGEST_TERM) for term in self.terms],
            "hue": [-1 if tone is None else tone.hue for tone in tones],
            "pale": [int(tone is not None and tone.pale) for tone in tones],
        }

    def _panel(self, panel: Panel) -> dict[str, Any]:
        return {
            "title": panel.title,
            "line": panel.place.seen_from(self.picture.program.place.file).line,
            "strips": [self._strip(strip) for strip in panel.strips],
            "accesses": list(panel.accesses),
            "rows": list(panel.rows),
        }

    def _strip(self, strip: Strip) -> dict[str, Any]:
        found: dict[str, Any] = {"title": clipped(strip.title), "row": strip.row, "terms": self._term_set(strip.terms)}
        if strip.again:
            found["again"] = 1
        if strip.starts:
            found["starts"] = 1
        if strip.writers:
            found["writers"] = self._set(strip.writers)
        for name, marks in (("read", strip.read), ("written", strip.written)):
            if marks:
                found[name] = self._set(sorted(marks))
        if strip.asked:
            found["asked"] = self._set(strip.asked)
        if strip.cells:
            found["targets"] = [self.labels.place(strip.array, cell) if cell >= 0 else "" for cell in strip.cells]
            wrong = [lane for lane, cell in enumerate(strip.cells) if (strip.array, cell) in self.trace.wrong]
            if wrong:
                found["wrong"] = self._set(wrong)
        return found

    def _row(self, row: Row) -> dict[str, Any]:
        found: dict[str, Any] = {
            "kind": KINDS.index(row.kind),
            "title": row.title,
            "line": row.place.seen_from(self.picture.program.place.file).line,
            "terms": self._term_set(np.where(row.on, row.terms, -1).tolist()),
        }
        if row.sources:
            found["sources"] = [self._source(source) for source in row.sources]
        if row.holes:
            found["holes"] = list(row.holes)
        if row.access is not None and row.access.memory != "local":
            found["access"] = self._access(row.access)
        return found

    def _source(self, source: LaneSource) -> list[int]:
        """Return [row, -1] for one row at the own lane; else [row or -1 - set of rows, set of lanes]."""
        on = source.row >= 0
        lanes = np.where(on, source.thread - self.trace.first, -1)
        rows = set(source.row[on].tolist())
        everywhere = bool(on.all()) and len(rows) == 1
        if everywhere and (lanes == np.arange(len(lanes))).all():
            return [rows.pop(), -1]
        return [rows.pop() if everywhere else -1 - self._set(source.row), self._set(lanes)]

    def _access(self, access: WarpAccess) -> dict[str, Any]:
        return {
            "array": access.array,
            "memory": access.memory,
            "writes": int(access.writes),
            "shape": list(access.shape),
            "size": access.size,
            "width": access.width,
            "cells": self._set(access.cells),
            "summary": access.summary(),
            "clashes": sorted(access.clashes),
        }


def _holes(tables: Sequence[HoleTable]) -> list[dict[str, Any]]:
    return [
        {
            "name": table.name,
            "line": table.place.line,
            "size": table.size,
            "formula": table.formula,
            "words": table.words,
            "argument": table.argument,
            "columns": list(table.columns),
            "rows": [[name, list(values)] for name, values in table.rows],
            "more": table.more,
            "drawn": table.drawn,
        }
        for table in tables
    ]


def sketch_lines(program: Program) -> tuple[int, list[str]]:
    """Return the number of the kernel's first line, and its lines; none where its text is not at hand."""
    linecache.checkcache(program.place.file)
    lines = [line.rstrip("\n") for line in linecache.getlines(program.place.file)]
    own = [statement.place.seen_from(program.place.file).line for statement in statements(program.body)]
    first, last = min([program.place.line, *own]), max([program.place.line, *own])
    while (
        first > 1
        and first <= len(lines)
        and lines[first - 2].strip()
        and not lines[first - 2].startswith(("#", "def "))
    ):
        first -= 1
    while last < len(lines) and lines[last].startswith((" ", "\t", ")")):
        last += 1
    return first, lines[first - 1 : last]


def cuda_lines(solution: Solution) -> tuple[list[str], list[int]]:
    """Return the lines of the `.cu` file, and for each the sketch's line that it comes from, 0 for none."""
    try:
        source = source_of(solution)
    except SwizzleError as error:
        return [f"// not printed: {error.found}"], [0]
    lines = source.text.splitlines()
    file = solution.program.place.file
    return lines, [place.seen_from(file).line if place else 0 for place in source.origins]
