"""The picture of a derivation: steps with what they have changed in colour, boxes of who computes what."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from swizzle.commands.process import execute
from swizzle.derive.patterns.picture import CHANGED, HardwareBox, boxes, derivation_svg
from tests.symbolic.rewriting import figures

SVG = "{http://www.w3.org/2000/svg}"


def titles(found: tuple[HardwareBox, ...]) -> list[object]:
    """Return the titles of boxes, each with those inside."""
    return [(box.title, titles(box.inside)) if box.inside else box.title for box in found]


def test_boxes_of_figure_9a() -> None:
    """What is computed first stands above: rounds in shared memory come behind the threads' own sums."""
    made = figures.figure_9a()
    assert titles(boxes(made.now, made.inputs)) == [
        ("map_block: n / 262144", [
            ("map_local: 128", ["reduce_seq: 2048"]), "toShared",
            ("map_local: 64", ["reduce_seq: 2"]),
            ("map_local: 1", ["map_seq: 1"]), "toGlobal",
        ]),
        "reduce_seq: n / 262144",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["figure_2", "figure_8", "tiled_product"])
def test_each_step_has_its_changed_part_in_colour(name: str) -> None:
    """The picture is one document, the same each time; every step but the first expression has a part in colour."""
    made = getattr(figures, name)()
    text = derivation_svg(made, "a < b")
    assert text == derivation_svg(made, "a < b")
    root = ElementTree.fromstring(text)
    assert root.findtext(f"{SVG}title") == "a < b"
    labels = [each.text for each in root.iter(f"{SVG}text") if each.get("fill") == CHANGED]
    assert labels == [step.figure for step in made.steps]
    coloured = "".join(each.text or "" for each in root.iter(f"{SVG}tspan") if each.get("fill") == CHANGED)
    assert "map_local" in coloured or name == "figure_8"
    width = float(root.get("width", "0"))
    assert all(float(each.get("x", "0")) + float(each.get("width", "0")) <= width for each in root.iter(f"{SVG}rect")
               if each.get("width") != "100%")  # fmt: skip


def test_show_draws_a_saved_derivation(tmp_path: Path) -> None:
    """Its steps are taken again; a file that is none is a mistake."""
    saved, picture = tmp_path / "asum.derivation.json", tmp_path / "asum.svg"
    saved.write_text(json.dumps(figures.figure_8().as_data()))
    out, err = io.StringIO(), io.StringIO()
    assert execute(["show", str(saved), "-o", str(picture)], out, err) == 0
    assert out.getvalue().startswith("asum: derived in 9 steps\n     reduce(add, 0) o map(abs) o x\n  1. [[ reduce")
    assert picture.read_text().startswith("<svg ")
    saved.write_text("{}")
    assert execute(["show", str(saved)], out, err) == 2
    assert "a derivation without 'inputs'" in err.getvalue()
