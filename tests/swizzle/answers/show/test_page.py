"""The page: one document, its data whole and harmless, its policy true; what it draws is tried in test_browser.py."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swizzle.answers.show import page
from swizzle.answers.show.picture import Picture, picture_of
from swizzle.language.parameters import Parameters
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.solution.solution import Solution
from tests.slow_cases import slow_unless
from tests.swizzle.answers.show.kernels import (
    ALL,
    BUTTERFLY,
    CONVOLUTION,
    LARGE_CONVOLUTION,
    LARGE_PRODUCT,
    TRANSPOSE,
    picture,
    solved,
)


class Document(HTMLParser):
    """Every element of a page with its attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem:
            self.texts.setdefault(self.cdata_elem, []).append(data)


def data_of(text: str) -> Any:
    """Return what a page knows of its chosen warp."""
    whole = json.loads(Document(text).texts["script"][0])
    return {**whole["page"], **whole["warps"][0]}


@pytest.mark.parametrize("name", ALL)
def test_the_data_says_what_the_trace_says(name: str) -> None:
    """Every row, read back from the page: who has what from whom, and where it went."""
    drawn = picture(ALL[name])
    data = data_of(drawn.html)
    assert len(data["panels"]) == len(drawn.panels) and not data["leftOut"]
    assert len(data["rows"]) == len(drawn.trace.rows)
    for row in drawn.trace.rows:
        shown = data["rows"][str(row.number)]
        terms = [-1 if t < 0 else data["terms"]["full"][t] for t in data["sets"][shown["terms"]]]
        full = drawn.labels.full
        assert terms == [full(int(t)) if on else -1 for t, on in zip(row.terms, row.on, strict=True)]
        for (rows, lanes), source in zip(shown.get("sources", ()), row.sources, strict=True):
            for lane in np.flatnonzero(source.row >= 0).tolist():
                assert (rows if rows >= 0 else data["sets"][-1 - rows][lane]) == source.row[lane]
                assert (lane if lanes < 0 else data["sets"][lanes][lane]) == source.thread[lane] - drawn.trace.first


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_fetched(name: str) -> None:
    """No element names anything outside, and the policy forbids what a script might try."""
    text = picture(ALL[name]).html
    found = Document(text)
    assert not [a for _, a in found.elements if {"src", "href", "action", "srcdoc", "onclick", "onload"} & set(a)]
    assert "url(" not in text and "@import" not in text
    policy = next(a["content"] or "" for tag, a in found.elements if tag == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none';")
    for part in (found.texts["style"][0], found.texts["script"][1]):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def from_file(tmp_path: Path, text: str) -> Picture:
    """Draw a sketch that lies in a file, so that its own text is shown beside it."""
    file = tmp_path / "kernel.swz"
    file.write_text(text, encoding="utf-8")
    (sketch,) = read_swz(text, str(file), Parameters({}))
    return picture_of(Solution(sketch.program, (), {}), sketch.spec)


@pytest.mark.parametrize(
    "evil", ["</script><script>alert(1)</script>", "<!--<script>", "{{data}} {{script}}", "\u2028&amp;]]>"]
)
def test_a_strangers_sketch_cannot_leave_its_place(tmp_path: Path, evil: str) -> None:
    """Whatever a comment of the sketch holds is shown as text: the page's elements stay the page's own."""
    text = BUTTERFLY.replace("    v = x[lane]\n", f"    v = x[lane]  # {evil}\n")
    plain, found = from_file(tmp_path, BUTTERFLY).html, from_file(tmp_path, text).html
    assert [tag for tag, _ in Document(found).elements] == [tag for tag, _ in Document(plain).elements]
    assert any(evil in line for line in data_of(found)["sketch"]["lines"])
    assert Document(found).texts["script"][1] == Document(plain).texts["script"][1]


def test_the_texts_beside_the_picture(tmp_path: Path) -> None:
    """The sketch is shown from its decorator to its last line; each CUDA line knows the line that it comes from."""
    data = data_of(from_file(tmp_path, BUTTERFLY).html)
    first, lines = data["sketch"]["first"], data["sketch"]["lines"]
    assert lines[0].startswith("@sketch(") and lines[-1] == "    y[lane] = v"
    shuffle = next(at for at, line in enumerate(data["cuda"]["lines"]) if "__shfl_xor_sync" in line)
    assert lines[data["cuda"]["origins"][shuffle] - first].strip().startswith("v += cuda.shfl_xor_sync")
    assert len(data["cuda"]["origins"]) == len(data["cuda"]["lines"])


def test_a_kernel_that_is_not_printed_is_still_drawn() -> None:
    """A text that is not at hand leaves its column empty."""
    assert data_of(picture(BUTTERFLY).html)["sketch"]["lines"] == []


def warps_of(text: str) -> list[int]:
    return [warp["warp"] for warp in json.loads(Document(text).texts["script"][0])["warps"]]


def test_the_other_warps_are_there_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chosen warp comes first, then the others of its block, as many as there is room for."""
    drawn = picture(TRANSPOSE, warp=2)
    assert warps_of(page.page_of(drawn)) == [2, 0, 1, 3]
    monkeypatch.setattr(page, "LARGEST", 6000)
    some = warps_of(page.page_of(drawn))
    assert some == [2, 0, 1, 3][: len(some)] and 1 <= len(some) < 4


def test_a_page_too_large_leaves_out_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first and the last panels stay, and the page says how many are missing."""
    drawn = picture(CONVOLUTION)
    monkeypatch.setattr(page, "LARGEST", 4000)
    data = data_of(page.page_of(drawn))
    assert data["leftOut"] == len(drawn.panels) - len(data["panels"]) > 0
    assert data["panels"][0]["title"] == drawn.panels[0].title
    assert data["panels"][-1]["title"] == drawn.panels[-1].title


@pytest.mark.parametrize(
    "text", slow_unless([LARGE_CONVOLUTION, LARGE_PRODUCT], LARGE_CONVOLUTION.__eq__), ids=["convolution", "product"]
)
def test_large_kernels_stay_usable(text: str) -> None:
    """At warp size 32 kernels like the paper's largest fit below 2 MB with all their steps."""
    drawn = picture(text)
    assert drawn.trace.lanes == 32 and not drawn.trace.wrong
    assert len(drawn.html) < 2_000_000 and not data_of(drawn.html)["leftOut"]
    assert len(drawn.svg) < 2_000_000


def test_in_a_notebook(tmp_path: Path) -> None:
    """A solution and a picture show themselves in frames of their own, so that several do not clash."""
    _, solution = solved(CONVOLUTION)
    shown = solution._repr_html_()
    (frame,) = Document(shown).elements
    assert frame[0] == "iframe" and frame[1]["sandbox"] == "allow-scripts"
    assert frame[1]["srcdoc"] == solution.show().html
    assert re.search(r"block 0 of 2, warp 1 of 2", repr(solution.show(warp=1)))
    assert solution.show().save(tmp_path / "a.svg").read_text(encoding="utf-8") == solution.show().svg
    assert solution.show().save(str(tmp_path / "a.html")).read_text(encoding="utf-8") == solution.show().html
