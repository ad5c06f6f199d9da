"""The results as a file, a page in docs/ and its charts: written when there are measurements, and only then."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.kept import write_whole
from swizzle.sweeps.charts import line_chart

Row = Mapping[str, Any]
WHY = Path(__file__).resolve().parent / "why.json"
HEAD = """---
orphan: true
---

# Kernels on a GPU

Written by `make gpu`; how it measures: [bench/README.md](../bench/README.md). Times are medians in milliseconds, by the
device's own events, the cache emptied before each run. 'Floor' is the least time by the ceilings that were measured in
the same run: every array moved once at the bandwidth of a copy, or the operations of the schoolbook way at the rate of
a kernel that does nothing else, whichever takes longer. A percentage is the floor's share of a time.
"""


def kept_file(device: str, day: datetime.date) -> str:
    """Return the name of a results file: gpu-<device>-<date>.json."""
    name = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
    return f"gpu-{name}-{day.isoformat()}.json"


def write_results(rows: Sequence[Row], device: Mapping[str, Any], cases: int, results: Path, docs: Path) -> list[Path]:
    """Write the results file, the page and the charts; return where they are."""
    assert rows, "a page without measurements"
    file = results / kept_file(device["name"], datetime.date.today())
    content = {"device": dict(device), "cases": list(rows)}
    write_whole(file, json.dumps(content, indent=1) + "\n")
    return [file, *write_page(rows, device, cases, file.name, docs)]


def write_page(rows: Sequence[Row], device: Mapping[str, Any], cases: int, file: str, docs: Path) -> list[Path]:
    """Write the page and its charts, from rows that a file holds."""
    pictures = charts(measured(rows))
    written = {docs / "images" / name: text for name, text in pictures.items()}
    written[docs / "gpu-benchmarks.md"] = page(rows, device, cases, file, list(pictures), why())
    for path, text in written.items():
        write_whole(path, text)
    return list(written)


def measured(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of cases that came to an end; another has the reason instead of contenders."""
    return [row for row in rows if "failed" not in row]


def why() -> dict[str, str]:
    """Return what is known of a row that was lost, by the name of its case."""
    found: dict[str, str] = json.loads(WHY.read_text(encoding="utf-8"))
    return found


def page(
    rows: Sequence[Row],
    device: Mapping[str, Any],
    cases: int,
    file: str,
    pictures: Sequence[str],
    reasons: Mapping[str, str],
) -> str:
    """Return docs/gpu-benchmarks.md."""
    rows, failed = measured(rows), [row for row in rows if "failed" in row]
    driver = f"{device['driver'] // 1000}.{device['driver'] % 1000 // 10}"
    lines = [HEAD, f"{device['name']}, {device['arch']}, driver for CUDA {driver}; all figures: {file}.", ""]
    if len(rows) < cases:
        lines += [f"{len(rows)} of the {cases} cases were measured.", ""]
    if failed:
        lines += ["Not measured:", "", *(f"- {row['name']}: {row['failed']}" for row in failed), ""]
    if rows:
        lines += ["## Ceilings", "", *ceilings(rows), ""]
    for group in dict.fromkeys(row["group"] for row in rows):
        own = [row for row in rows if row["group"] == group]
        lines += [f"## {group}", "", *table(own, reasons), ""]
        lines += [f"![Share of the floor, by contender]({'images/' + chart_name(group)})", ""]
        if absent := missing(own):
            lines += ["Not compared, or not all of it:", "", *absent, ""]
    assert {chart_name(row["group"]) for row in rows} == set(pictures)
    return "\n".join(lines).rstrip() + "\n"


def ceilings(rows: Sequence[Row]) -> list[str]:
    """Return the table of what the device did at best, over all runs that the rows come from."""
    lines = ["| ceiling | least | most |", "|---|---|---|"]
    for name in rows[0]["roofline"]:
        values = [row["roofline"][name] for row in rows]
        unit, scale = ("GB/s", 1e9) if name.endswith("bytes/s") else ("G/s", 1e9)
        what = name.removesuffix(", bytes/s").removesuffix("/s")
        lines.append(f"| {what} | {min(values) / scale:.0f} {unit} | {max(values) / scale:.0f} {unit} |")
    return lines


def best(row: Row, *, ours: bool) -> Row | None:
    """Return the fastest contender that was measured."""
    timed = [c for c in row["contenders"] if c["ours"] is ours and c["status"] == "measured"]
    return min(timed, key=lambda c: float(c["ms"])) if timed else None


def table(rows: Sequence[Row], reasons: Mapping[str, str]) -> list[str]:
    """Return the table of a group: who won, by how much, how near the floor, and why where we lost."""
    names = f"{rows[0]['group']} | floor | set by | ours | time | of floor | G {rows[0]['unit']}/s"
    names += " | best rival | time | ours against it | why"
    lines = [f"| {names} |", "|---" * (names.count("|") + 1) + "|"]
    for row in rows:
        own, rival = best(row, ours=True), best(row, ours=False)
        cells = [row["at"], f"{row['floor_ms']:.3f}", row["bound"]]
        speed = f"{row['items'] / own['ms'] / 1e6:.3g}" if own else ""
        cells += [f"{own['name']} ({own['variant']})", _time(own), share(row, own)] if own else ["none", "", ""]
        cells.append(speed)
        cells += [f"{rival['name']} ({rival['variant']})", _time(rival)] if rival else ["none", ""]
        cells += [verdict(own, rival), _why(row, own, rival, reasons)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def _time(contender: Row) -> str:
    """Return a median and, in brackets, the middle eight tenths of the runs."""
    return f"{contender['ms']:.3f} ({contender['p10_ms']:.3f} to {contender['p90_ms']:.3f})"


def share(row: Row, contender: Row) -> str:
    return f"{row['floor_ms'] / contender['ms']:.0%}"


def verdict(own: Row | None, rival: Row | None) -> str:
    """Return who is faster, by what factor; runs that overlap are a draw."""
    if own is None or rival is None:
        return "nothing to compare" if own is None else "no rival was there"
    factor = rival["ms"] / own["ms"]
    if own["p10_ms"] <= rival["p90_ms"] and rival["p10_ms"] <= own["p90_ms"]:
        return f"draw, {factor:.2f}"
    return f"{'win' if factor > 1 else 'lose'}, {factor:.2f}"


def _why(row: Row, own: Row | None, rival: Row | None, reasons: Mapping[str, str]) -> str:
    if row["name"] in reasons:
        return reasons[row["name"]]
    return "not explained yet" if verdict(own, rival).startswith("lose") else ""


def missing(rows: Sequence[Row]) -> list[str]:
    """Return a line for every contender of which not all was measured: it, or some of its variants, were not there or
    were wrong; with the reason and the sizes."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for row in rows:
        for contender in row["contenders"]:
            if contender["status"] != "measured" or contender["reason"]:
                status = "in part" if contender["status"] == "measured" else contender["status"]
                key = contender["name"], status, contender["reason"]
                found.setdefault(key, []).append(row["at"])
    return [
        f"- {name} at {', '.join(map(str, sizes))}: {status}: {reason}"
        for (name, status, reason), sizes in found.items()
    ]


def chart_name(group: str) -> str:
    return f"gpu-{re.sub(r'[^a-z0-9]+', '-', group.lower()).strip('-')}.svg"


def charts(rows: Sequence[Row]) -> dict[str, str]:
    """Return a chart for each group: the share of the floor that each contender reaches, by file name."""
    found = {}
    for group in dict.fromkeys(row["group"] for row in rows):
        own = [row for row in rows if row["group"] == group]
        lines: dict[str, dict[int, float]] = {}
        for row in own:
            for c in row["contenders"]:
                if c["status"] == "measured":
                    lines.setdefault(c["name"], {})[row["at"]] = row["floor_ms"] / c["ms"]
        label = group.partition(", ")[2] or "words of a structure"
        ticks = [row["at"] for row in own]
        found[chart_name(group)] = line_chart(group.partition(",")[0], label, ticks, lines, share=True)
    return found
