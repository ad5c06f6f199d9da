"""The figure: valid, the same each time, readable (no text meets another), and true to the trace."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from swizzle import load, solve
from swizzle.answers.show.panels import CHARACTER
from swizzle.answers.show.picture import picture_of
from swizzle.answers.show.svg import FIRST_PANELS, LAST_PANELS, bank_tiles, colour_of
from swizzle.language.parameters import Parameters
from swizzle.sketches.swz_file import read_swz
from tests.swizzle.answers.show.kernels import ALL, BUTTERFLY, CONVOLUTION, TRANSPOSE, picture

NAMES = {"s": "http://www.w3.org/2000/svg"}
GOLDEN = Path(__file__).parents[3] / "golden" / "butterfly.svg"


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)


@pytest.mark.parametrize("name", ALL)
def test_no_two_texts_meet(name: str) -> None:
    """Texts on one line keep clear of each other, and within the figure, as wide as a fixed-width font draws them."""
    keep_clear(picture(ALL[name]).svg)


def test_a_long_title_stands_above_the_lanes() -> None:
    """A step of a file's own line has that line as its title; few lanes leave little room beside it."""
    file = Path(__file__).parents[4] / "case_studies" / "conv1d.py"
    (sketch,) = load(file, None, {"warp_size": 4, "warps": 1, "grid": 1})
    drawn = picture_of(solve(sketch).best, sketch.spec)
    assert "warp_load(x, inp, offset=i - lane" in drawn.svg
    keep_clear(drawn.svg)


def keep_clear(svg: str) -> None:
    root = parsed(svg)
    lines: dict[float, list[tuple[float, float, str]]] = {}
    for text in root.iterfind(".//s:text", NAMES):
        size = float(text.get("font-size", "10"))
        width = len(text.text or "") * CHARACTER * size / 10 * (0.97 if size == 10 else 1)
        x = float(text.attrib["x"]) - (width / 2 if text.get("text-anchor") == "middle" else 0)
        lines.setdefault(float(text.attrib["y"]), []).append((x, x + width, text.text or ""))
    assert len(lines) > 5
    for some in lines.values():
        some.sort()
        for (_, end, left), (start, _, right) in pairwise(some):
            assert end <= start + 0.5, (left, right)


@pytest.mark.parametrize("name", ALL)
def test_the_figure_is_described(name: str) -> None:
    """The document names itself for those who do not see it; each step and hole is a group with a title."""
    drawn = picture(ALL[name])
    root = parsed(drawn.svg)
    assert root.get("role") == "img"
    for part in (root.get("aria-labelledby") or "").split():
        assert root.find(f"*[@id='{part}']", NAMES) is not None
    titles = [title.text for title in root.iterfind("s:g/s:title", NAMES)]
    tiles = [tile.title for tile in bank_tiles(drawn.block)]
    assert titles == [panel.title for panel in drawn.panels] + [table.name for table in drawn.holes] + tiles


SWIZZLED = """
@spec
def transposed(x):
    return [[x[c, r] for c in range(8)] for r in range(4)]

@sketch(spec=transposed, block=8, warp_size=8, x=f32[8, 4], y=f32.out[4, 8])
def k(x, y):
    tile = cuda.shared.array((8, 32), f32)
    t = cuda.laneid
    for c in range(4):
        tile[t, {place}] = x[t, c]
    cuda.syncwarp()
    for c in range(4):
        y[c, t] = tile[t, {place}]
"""


@pytest.mark.parametrize(
    ("place", "bank"),
    [("c", lambda r, c: c), ("c + 4 * t", lambda r, c: c + 4 * r), ("c ^ t", lambda r, c: c ^ r)],
)
def test_the_banks_of_a_tile(place: str, bank: Callable[[int, int], int]) -> None:
    """Each element of the input has the colour of the bank in which it is kept; the plain tile stands beside it."""
    (sketch,) = read_swz(SWIZZLED.format(place=place), "k.swz", Parameters())
    drawn = picture_of(solve(sketch).best, sketch.spec)
    (tile,) = bank_tiles(drawn.block)
    assert tile.title == "tile: the bank of each element of x" and tile.first == (0, 0)
    assert tile.banks.tolist() == [[bank(r, c) for c in range(4)] for r in range(8)]
    assert tile.plain.tolist() == [[4 * r + c for c in range(4)] for r in range(8)]
    (group,) = (g for g in parsed(drawn.svg).iterfind("s:g", NAMES) if g[0].text == tile.title)
    colours = [rect.get("fill") for rect in group.iterfind("s:rect", NAMES)]
    every = [*tile.banks.reshape(-1).tolist(), *([] if (tile.banks == tile.plain).all() else range(32))]
    assert colours == [colour_of(each) for each in every]
    assert f"<title>{tile.title}</title>" in drawn.html


def test_the_same_picture_is_the_same_text() -> None:
    """Drawing again, from the sketch on, changes no byte; a golden file pins the text."""
    again = picture(BUTTERFLY).svg
    assert again == picture(BUTTERFLY).svg
    assert again == GOLDEN.read_text(encoding="utf-8")


def test_arrows_go_from_the_lane_that_is_asked() -> None:
    """Each arrow of an iteration begins over the lane that the shuffle reads, and ends over the lane that reads."""
    drawn = picture(CONVOLUTION)
    root = parsed(drawn.svg)
    for k, panel in enumerate(root.findall("s:g", NAMES)[1:4]):
        heads = [float(t.attrib["x"]) for t in panel.iterfind("s:text", NAMES) if t.get("font-size") == "8.5"]
        curves = [p.attrib["d"] for p in panel.iterfind("s:path", NAMES) if "C" in p.attrib["d"]]
        ends = [re.findall(r"[\d.]+", curve) for curve in curves]
        lanes = [(heads.index(float(e[0])), heads.index(float(e[-2]))) for e in ends]
        assert lanes == [((i + k) % 4, i) for i in range(4)]


def test_colours_by_lane() -> None:
    """Coloured by lane, a value keeps the colour of the lane that loaded it; by element, that of the element."""
    fills = []
    for colour in ("element", "lane"):
        group = parsed(picture(CONVOLUTION, colour=colour).svg).findall("s:g", NAMES)[2]
        rects = [rect for rect in group.iterfind("s:rect", NAMES) if rect.get("stroke") in ("#ffffff", "#1f2430")]
        fills.append([[rect.attrib["fill"] for rect in rects[row * 4 : row * 4 + 4]] for row in range(4)])
    by_element, by_lane = fills
    first, second, offered, received = by_lane
    assert first == second == offered and len(set(first)) == 4
    assert received == [offered[(i + 1) % 4] for i in range(4)]
    assert by_element[0] != by_element[1] and len({*by_element[0], *by_element[1]}) == 8


def test_a_long_kernel_shows_its_beginning_and_its_end() -> None:
    """More panels than fit a page are left out, and said to be."""
    text = CONVOLUTION.replace("range(3)", "range(20)").replace("f32[18]", "f32[35]").replace("const[3]", "const[20]")
    text = text.replace("array(2", "array(6").replace("?sw_part(2, lane, k)", "(k + 3 - lane) // 4")
    text = text.replace("?sw_xform(lane, 4, k)", "lane + k").replace("?sw_xform(k, 3, lane)", "k")
    drawn = picture(text)
    shown = [t.text for t in parsed(drawn.svg).iterfind("s:g/s:title", NAMES)]
    panels = len(shown) - len(drawn.holes)
    assert len(drawn.panels) == 22 and panels == FIRST_PANELS + LAST_PANELS
    assert f"{22 - panels} panels left out" in drawn.svg


def test_conflicts_and_wrong_outputs_are_marked() -> None:
    """The same red stands for a bank conflict and for an output that is not what the specification says."""
    conflict = TRANSPOSE.replace("(4, 9)", "(4, 32)")
    wrong = TRANSPOSE.replace("tile[t % 4, t // 4]", "tile[t // 8, t % 8]")
    marks = [picture(text).svg.count('stroke="#c81e1e"') for text in (TRANSPOSE, conflict, wrong)]
    assert marks[0] == 0 and marks[1] == 8 and marks[2] == 7


def test_what_a_sketch_says_is_text_not_markup() -> None:
    """Names cannot hold markup, but titles hold operators."""
    text = BUTTERFLY.replace("v = x[lane]", "v = x[lane] if lane < 9 and lane > -1 else 0")
    assert "&lt; 9 and lane &gt; -1" in picture(text).svg
    parsed(picture(text).svg)
