"""The page and its charts, from made-up samples in a folder of their own: nothing here was measured."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench.gpu import page

MADE_UP = {"name": "Made-up device (NVL)", "arch": "sm_90", "driver": 12080}
ROOFLINE = {"copy kernel, bytes/s": 2e12, "copy call, bytes/s": 3e12, "multiply-adds/s": 3e13}


def contender(
    name: str, ms: float | None, *, ours: bool = False, spread: float = 0.0, reason: str = ""
) -> dict[str, Any]:
    if ms is None:
        return {"name": name, "ours": ours, "status": "missing", "reason": reason}
    timed = {"ms": ms, "p10_ms": ms - spread, "p90_ms": ms + spread, "runs": 5, "variant": "v"}
    return {"name": name, "ours": ours, "status": "measured", "reason": reason, **timed}


def row(at: int, *contenders: dict[str, Any], group: str = "2D convolution, filter side") -> dict[str, Any]:
    return {
        "name": f"{group}, {at}",
        "group": group,
        "at": at,
        "roofline": ROOFLINE,
        "floor_ms": 0.9,
        "bound": "bytes",
        "items": 5_000_000,
        "unit": "pixels",
        "contenders": list(contenders),
    }


ROWS = [
    row(3, contender("direct", 2.0), contender("ours: packed", 1.0, ours=True), contender("NPP", None, reason="none")),
    row(5, contender("direct", 1.0), contender("ours: packed", 2.0, ours=True), contender("NPP", None, reason="none")),
    row(7, contender("direct", 1.0), contender("ours: packed", 2.0, ours=True)),
    row(9, contender("direct", 1.0, spread=0.2), contender("ours: packed", 1.3, ours=True, spread=0.2)),
    row(1, contender("direct", 1.0), contender("ours: crc", None, ours=True, reason="no solution"), group="AoS"),
]


def test_who_won_and_why_not(tmp_path: Path) -> None:
    """Wins, losses with and without a reason, draws where runs overlap, rows without one of ours, absent rivals."""
    text = page.page(
        ROWS, MADE_UP, 6, "f.json", list(page.charts(ROWS)), {"2D convolution, filter side, 5": "Reasons."}
    )
    assert "Made-up device (NVL), sm_90, driver for CUDA 12.8; all figures: f.json." in text
    assert "5 of the 6 cases were measured." in text
    assert "| copy call | 3000 GB/s | 3000 GB/s |" in text and "| multiply-adds | 30000 G/s | 30000 G/s |" in text
    lines = {line.split(" | ")[0]: line for line in text.splitlines() if line.startswith("| ") and line[2].isdigit()}
    packed = "ours: packed (v) | 1.000 (1.000 to 1.000) | 90% | 5"
    assert lines["| 3"] == f"| 3 | 0.900 | bytes | {packed} | direct (v) | 2.000 (2.000 to 2.000) | win, 2.00 |  |"
    assert lines["| 5"].endswith("| lose, 0.50 | Reasons. |")
    assert lines["| 7"].endswith("| lose, 0.50 | not explained yet |")
    assert lines["| 9"].endswith("| draw, 0.77 |  |")
    assert lines["| 1"].endswith("| none |  |  |  | direct (v) | 1.000 (1.000 to 1.000) | nothing to compare |  |")
    assert "- NPP at 3, 5: missing: none" in text and "- ours: crc at 1: missing: no solution" in text


def test_what_was_not_measured_is_said() -> None:
    """A case that failed, and variants that were left out beside those that were measured."""
    part = contender("ours: packed", 1.0, ours=True, reason="columns 8: error: x[9] is out of bounds")
    failed = {"name": "AoS, 4", "group": "AoS", "at": 4, "failed": "Refused: cuMemAlloc_v2: no memory (2)"}
    rows = [row(3, contender("direct", 2.0), part), failed]
    text = page.page(rows, MADE_UP, 6, "f.json", list(page.charts(page.measured(rows))), {})
    assert "1 of the 6 cases were measured." in text
    assert "Not measured:\n\n- AoS, 4: Refused: cuMemAlloc_v2: no memory (2)\n" in text
    assert "Not compared, or not all of it:\n\n- ours: packed at 3: in part: columns 8: error: x[9]" in text


def test_files_are_written_together(tmp_path: Path) -> None:
    """The results' name has device and day; every chart of the page is there, drawn to scale from nought."""
    written = page.write_results(ROWS, MADE_UP, 6, tmp_path / "results", tmp_path / "docs")
    today = datetime.date.today().isoformat()
    assert written[0].name == f"gpu-made-up-device-nvl-{today}.json"
    assert json.loads(written[0].read_text())["cases"] == ROWS
    text = (tmp_path / "docs" / "gpu-benchmarks.md").read_text()
    for picture in ("gpu-2d-convolution-filter-side.svg", "gpu-aos.svg"):
        assert f"(images/{picture})" in text
        root = ElementTree.parse(tmp_path / "docs" / "images" / picture).getroot()
        assert next(t.text for t in root.iter() if t.tag.endswith("text") and (t.text or "").endswith("%")) == "0 %"
    with pytest.raises(AssertionError, match="without measurements"):
        page.write_results([], MADE_UP, 6, tmp_path / "results", tmp_path / "docs")


def test_reasons_belong_to_cases() -> None:
    """Every name in why.json is a case's."""
    from bench.gpu.__main__ import all_cases
    from bench.gpu.contenders import Setup
    from bench.gpu.solved import Store

    assert set(page.why()) <= {case.name for case in all_cases(Setup(Store(Path("nowhere")), {}))}
