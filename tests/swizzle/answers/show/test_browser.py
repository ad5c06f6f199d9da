"""The page in a real browser: steps, themes, looking at a cell, by mouse and by keyboard, with a silent console."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from swizzle.answers.show.picture import picture_of
from swizzle.language.parameters import Parameters
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Solution
from tests.swizzle.answers.show.browser import Browser, browser
from tests.swizzle.answers.show.kernels import BUTTERFLY, CONVOLUTION, LARGE_PRODUCT, TRANSPOSE, picture

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as session:
        yield session


@pytest.fixture
def page(chromium: Browser, tmp_path: Path) -> Iterator[Browser]:
    """A browser at the page of the small convolution; its console stays silent to the end."""
    file = tmp_path / "conv.swz"
    file.write_text(CONVOLUTION, encoding="utf-8")
    (sketch,) = read_swz(CONVOLUTION, str(file), Parameters({}))
    chromium.prefer("light")
    chromium.open(picture_of(solve(sketch).best, sketch.spec).save(tmp_path / "conv.html"))
    yield chromium
    assert chromium.log() == []


def opened(session: Browser, text: str, folder: Path) -> Browser:
    session.open(picture(text).save(folder / "page.html"))
    return session


def cell(strip: int, lane: int) -> str:
    return f'#figure .cell[data-at="{strip}"][data-lane="{lane}"]'


def lit(session: Browser) -> list[list[int]]:
    """Return [strip, lane] of the cells that belong to the value looked at."""
    script = "return [...document.querySelectorAll('#figure .cell.lit')].map(c => [+c.dataset.at, +c.dataset.lane])"
    return [list(map(int, pair)) for pair in session.run(script)]


def lines(session: Browser, code: str, mark: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map(line => line.textContent.trim())"
    return list(session.run(script, f"#{code} li.{mark}"))


def line_with(session: Browser, code: str, text: str) -> str:
    """Return the selector of the first line of a text that has these words."""
    script = "return [...document.querySelectorAll(arguments[0])].findIndex(l => l.textContent.includes(arguments[1]))"
    return f"#{code} li:nth-child({session.run(script, f'#{code} li', text) + 1})"


def test_stepping(page: Browser) -> None:
    """Arrow keys, buttons and the slider step, and stop at both ends."""
    assert page.text("#step").startswith("line ") and "warp_load" in page.text("#step")
    assert page.run("return document.querySelector('#previous').disabled")
    page.press("right")
    assert page.text("#step") == "k = 0" and page.text("#count") == "step 2 of 5"
    page.click("#next")
    assert page.text("#step") == "k = 1"
    page.press("left", "left", "left", "left")
    assert page.text("#count") == "step 1 of 5"
    page.press(*["right"] * 7)
    assert page.text("#count") == "step 5 of 5"
    assert page.run("return document.querySelector('#next').disabled")
    page.run("const s = document.querySelector('#slider'); s.value = 2; s.dispatchEvent(new Event('input'))")
    assert page.text("#step") == "k = 1"


def test_looking_at_a_cell_follows_its_value(page: Browser) -> None:
    """In iteration 1 lane 3 receives x[4] of lane 0's second register, and accumulates it; nothing else is lit."""
    page.press("right", "right")
    titles = page.run("return [...document.querySelectorAll('#figure .title')].map(t => t.textContent)")
    assert titles[:4] == ["inp[0]", "inp[1]", "mine = inp[part1]", "v = shfl_sync(mine, xform1)"]
    page.hover(cell(3, 3))
    shown = page.text("#inspector")
    assert "lane 3" in shown and "receives" in shown and "x[4]" in shown
    assert "lane 0 mine = inp[part1]" in shown and "lane 3 y[i] = out.value" in shown
    assert lit(page) == [[1, 0], [2, 0], [3, 3], [5, 3]]
    assert page.run("return document.querySelectorAll('#figure .arrow.lit').length") == 1
    page.hover("#title")
    assert lit(page) == [] and "Point at a cell" in page.text("#inspector")


def test_the_keyboard_alone(page: Browser) -> None:
    """Tab reaches the grid, arrows rove in it, Enter holds, n steps on, Escape leaves; one cell is a tab stop."""
    page.press("right", "right")
    page.run("document.querySelector('#next').focus()")
    page.press("tab")
    focus = "const c = document.activeElement; return [c.getAttribute('role'), +c.dataset.at, +c.dataset.lane]"
    assert page.run(focus) == ["gridcell", 0, 0]
    page.press("down", "down", "down", "right", "right", "right")
    assert page.run(focus) == ["gridcell", 3, 3] and "x[4]" in page.text("#inspector")
    assert page.text("#step") == "k = 1", "the arrows move in the grid and do not step"
    label = page.run("return document.activeElement.getAttribute('aria-label')")
    assert label == "lane 3, v = shfl_sync(mine, xform1): x[4]"
    assert page.run("return document.querySelectorAll('#figure [tabindex=\"0\"]').length") == 1
    outline = page.run("return getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth")
    assert outline == "3px", "the focus is seen"
    page.press("enter")
    page.hover(cell(0, 0))
    assert "x[4]" in page.text("#inspector"), "held on to"
    page.press("n")
    assert page.text("#step") == "k = 2" and page.run(focus) == ["gridcell", 3, 3]
    page.press("home")
    assert page.run(focus) == ["gridcell", 3, 0]
    page.press("escape", "right")
    assert page.text("#step").startswith("line"), "out of the grid, arrows step again"


def test_every_focusable_thing_shows_its_focus(page: Browser) -> None:
    """Walking through the page by Tab, whatever has the focus is outlined."""
    seen = []
    for _ in range(9):
        page.press("tab")
        script = """const e = document.activeElement, r = e.querySelector && e.querySelector('rect');
        const s = getComputedStyle(e); return [e.id || e.className.baseVal || e.tagName, s.outlineStyle !== 'none' ||
        (r && getComputedStyle(r).strokeWidth === '3px')]"""
        seen.append(page.run(script))
    assert {"colour", "theme", "slider", "next"} <= {name for name, _ in seen}
    assert all(shown for _, shown in seen if _ != "BODY"), seen


def test_themes(page: Browser) -> None:
    """The page follows the system until the button says otherwise."""
    back = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(back)
    page.prefer("dark")
    dark = page.run(back)
    assert dark != light and page.text("#theme") == "Theme: auto"
    page.click("#theme")
    assert (page.text("#theme"), page.run(back)) == ("Theme: light", light)
    page.click("#theme")
    assert (page.text("#theme"), page.run(back)) == ("Theme: dark", dark)
    page.prefer("light")
    assert page.run(back) == dark
    page.click("#theme")
    assert (page.text("#theme"), page.run(back)) == ("Theme: auto", light)


def test_texts_can_be_read_in_both_themes(page: Browser) -> None:
    """Cell labels stand out from every cell's colour: a contrast of 4.5 to 1, as WCAG asks."""
    script = """
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const light = (colour) => {
      canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
    };
    return [...document.querySelectorAll('#figure .cell:not(.empty)')].map(c => {
      const [a, b] = [c.querySelector('rect'), c.querySelector('text')].map(e => light(getComputedStyle(e).fill));
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    });"""
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        page.press("right")
        contrasts = page.run(script)
        assert len(contrasts) > 8 and min(contrasts) >= 4.5


def test_sketch_cuda_and_panel_are_linked(page: Browser) -> None:
    """A line of the sketch lights its CUDA lines and its strips, and the other way round; a click goes to its step."""
    assert lines(page, "sketch", "here") == ["warp_load(x, inp, offset=i - lane)"]
    assert any("inp[r] =" in line for line in lines(page, "cuda", "here"))
    page.press("right")
    page.hover(line_with(page, "sketch", "shfl"))
    (cuda,) = lines(page, "cuda", "now")
    assert "__shfl_sync" in cuda
    assert {strip for strip, _ in lit(page)} == {3}
    assert page.run("return [...document.querySelectorAll('.hole.now b')].map(b => b.textContent)") == ["xform1"]
    page.click(line_with(page, "cuda", "y[begin + i] ="))
    assert page.text("#count") == "step 5 of 5"
    assert lines(page, "sketch", "here") == ["y[i] = out.value"]


def test_a_way_through_another_warp(chromium: Browser, tmp_path: Path) -> None:
    """What came through shared memory from another warp says so; the banks that it used light up."""
    page = opened(chromium, TRANSPOSE, tmp_path)
    page.hover(cell(2, 1))
    assert "warp 1, lane 0 tile[r, c] = x[r, c] · x[1, 0]" in page.text("#inspector")
    assert "warp 1, lane 0 x[r, c] · x[1, 0]" in page.text("#inspector")
    assert page.run("return document.querySelectorAll('.word.lit').length") == 2
    assert "no bank conflict" in page.text("#memory")
    page.click("#inspector ul button")
    assert page.text("#where").startswith("block 0 of 1, warp 1 of 4")
    assert page.run("return document.activeElement.getAttribute('aria-label')").startswith("lane 0, tile[r, c]")
    assert "warp 0, lane 1 y[" in page.text("#inspector"), "where it goes is in the other warp"
    page.run("const w = document.querySelector('#warp'); w.value = '3'; w.dispatchEvent(new Event('change'))")
    assert page.text("#where").startswith("block 0 of 1, warp 3 of 4")
    assert page.log() == []


def test_a_large_kernel(chromium: Browser, tmp_path: Path) -> None:
    """Only the panel that is looked at is drawn; following a value through 36 steps works."""
    page = opened(chromium, LARGE_PRODUCT, tmp_path)
    assert page.run("return document.querySelectorAll('#figure .cell').length") < 400
    page.press(*["right"] * 20)
    assert page.text("#step") == "k = 18"
    page.hover(cell(0, 31))
    assert "a[13]" in page.text("#inspector") and "lane 31 y[j * 32 + lane]" in page.text("#inspector")
    page.click("#inspector ul:last-of-type li:last-child button")
    assert page.text("#step") == "j = 1"
    assert page.log() == []


@pytest.mark.parametrize("kernel", [CONVOLUTION, TRANSPOSE], ids=["shuffles", "tile"])
def test_a_telephone_scrolls_downward_only(chromium: Browser, tmp_path: Path, kernel: str) -> None:
    """What is wider than the window, a figure or a tile, scrolls by itself."""
    chromium.narrow(390)
    page = opened(chromium, kernel, tmp_path)
    assert page.run("return [document.documentElement.scrollWidth, innerWidth]") == [390, 390]
    chromium.narrow(None)


def test_colours_by_lane(chromium: Browser, tmp_path: Path) -> None:
    """Coloured by first lane, what came from one lane has one colour."""
    page = opened(chromium, BUTTERFLY, tmp_path)
    page.click("#colour")
    page.press("right")
    script = "return [...document.querySelectorAll(arguments[0])].map(c => c.style.getPropertyValue('--hue'))"
    offered, received = (page.run(script, f'#figure .cell[data-at="{at}"]') for at in (0, 1))
    assert len(set(offered)) == 8 and received == [offered[lane ^ 1] for lane in range(8)]
    page.open(picture(BUTTERFLY, colour="lane").save(tmp_path / "lane.html"))
    assert page.text("#colour") == "Colour: first lane"
    assert page.log() == []


def test_two_solutions_in_one_notebook_do_not_clash(chromium: Browser, tmp_path: Path) -> None:
    """Two frames on one page, each with its own state."""
    both = picture(CONVOLUTION)._repr_html_() + picture(BUTTERFLY)._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>notebook</title>{both}", encoding="utf-8")
    chromium.open(tmp_path / "notebook.html")
    titles = []
    for frame in (0, 1):
        chromium.enter_frame(frame)
        titles.append((chromium.text("#title"), chromium.text("#count")))
        chromium.run("document.querySelector('#next').click()")
        titles.append((chromium.text("#title"), chromium.text("#count")))
        chromium.enter_frame(None)
    assert titles == [
        ("What conv moves", "step 1 of 5"), ("What conv moves", "step 2 of 5"),
        ("What butterfly moves", "step 1 of 5"), ("What butterfly moves", "step 2 of 5"),
    ]  # fmt: skip
    assert chromium.log() == []


def test_a_hostile_comment_does_nothing(chromium: Browser, tmp_path: Path) -> None:
    """A script in a comment of the sketch is shown, and not run."""
    evil = "</script><script>document.title = 'taken'</script><img src=x onerror=document.title='taken'>"
    text = BUTTERFLY.replace("    v = x[lane]\n", f"    v = x[lane]  # {evil}\n")
    file = tmp_path / "evil.swz"
    file.write_text(text, encoding="utf-8")
    (sketch,) = read_swz(text, str(file), Parameters({}))
    chromium.open(picture_of(Solution(sketch.program, (), {})).save(tmp_path / "evil.html"))
    assert evil in chromium.text("#sketch")
    assert chromium.run("return [document.title, document.querySelectorAll('script, img').length]") == [
        "What butterfly moves",
        2,
    ]
    assert chromium.log() == []
