"""The results as docs/benchmarks.md and its charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks import AT_MOST, BENCHMARKS, BY_STRUCT, BY_WARP, COMPARISON, LONG, STRUCT_SIZES, TABLE, WARP_SIZES

from swizzle.sweeps.charts import line_chart

Row = Mapping[str, Any]
ALONE = ("3", "3, all")
"""Questions that the page has of kernels in the paper only; the results file has all."""
HEAD = """# Benchmarks

`make bench` writes this page; [bench/README.md](../bench/README.md) says how it measures. Every run is a whole process.
Times are medians in seconds, and memory is the largest resident set. `bench/results/synthesis.json` has all rows,
those of Space 3 alone of kernels that are not in the paper, too, and the parts of each time.

- 'Space' is the question. 'first': solve as usual, up to the first answer with its proof. A number: search that space
  alone. 'all': list all solutions. 'no light': without trying simple constants first (`--no-light`).
- 'Warm' is the same question again, answered from the cache.
"""


def page(results: Mapping[str, Any], anchors: Mapping[str, Any]) -> str:
    """Return docs/benchmarks.md."""
    on, rows = results["machine"], {row["name"]: row for row in results["benchmarks"]}
    packages = ", ".join(f"{name} {number}" for name, number in on["packages"].items())
    lines = [HEAD, f"{on['cpu']}, {on['cores']} cores, Python {on['python']}, {packages}.", ""]
    lines += [f"To compare machines: ten million additions in a Python loop took {on['loop_s']:.2f} s on this one.", ""]
    if len(rows) < len(BENCHMARKS):
        lines += [f"{len(rows)} of the {len(BENCHMARKS)} rows were measured.", ""]
    shown = [b for b in TABLE if b.name in rows and (b.question not in ALONE or b.kernel in anchors["rows"])]
    measured = [rows[b.name] for b in shown]
    compared = [rows[b.name] for b in COMPARISON if b.name in rows]
    lines += ["## The paper's kernels at warp size 32", "", *table(measured, anchors), "", f"{anchors['about']}", ""]
    if compared:
        lines += [
            "## Without the paper's template, or without canonical terms (Table 2)",
            "",
            *table(compared, anchors),
            "",
        ]
    lines += [
        "## Growth",
        "",
        f"Time to the first answer with its proof. Where a line ends, the next size did not finish in {LONG} s.",
        "",
    ]
    lines += ["![Seconds over the warp size](images/growth-warp.svg)", ""]
    lines += ["![Seconds over the struct size](images/growth-struct.svg)"]
    return "\n".join(lines) + "\n"


def table(rows: Sequence[Row], anchors: Mapping[str, Any]) -> list[str]:
    """Return a table of some rows."""
    names = "kernel space answer accumulates wall warm MiB paper measured"
    lines = [f"| {' | '.join(names.split())} |", "|---" * len(names.split()) + "|"]
    for row in rows:
        known = anchors["rows"].get(row["kernel"], {})
        answer = row["status"] + (", proved minimal" if row["optimal"] else "")
        question = row["question"].split(",")[0]
        cells = [
            row["kernel"],
            row["question"],
            answer,
            (row["cost"] or {}).get("accumulates", ""),
            f"{row['wall_s']:.2f}",
            "" if row["warm_s"] is None else f"{row['warm_s']:.2f}",
            f"{row['peak_mib']:.0f}",
            known.get("paper", {}).get(question, ""),
            known.get("measured", {}).get(question, ""),
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def charts(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the charts by file name."""
    rows = {row["kernel"]: row for row in results["benchmarks"] if row["question"] == AT_MOST}

    def line(name: Callable[[int], str], ticks: Sequence[int]) -> dict[int, float]:
        known = {t: rows[name(t)] for t in ticks if name(t) in rows}
        return {t: row["wall_s"] for t, row in known.items() if row["status"] in ("sat", "unsat")}

    warp = {k: line(lambda t, k=k: f"{k} warp_size={t}", WARP_SIZES) for k in BY_WARP}  # type: ignore[misc]
    struct = {k: line(lambda t, k=k: f"{k} struct_size={t}", STRUCT_SIZES) for k in BY_STRUCT}  # type: ignore[misc]
    return {
        "growth-warp.svg": line_chart("Time to the first answer, proved", "warp size", WARP_SIZES, warp, log_x=True),
        "growth-struct.svg": line_chart("Time to the first answer, proved", "struct size", STRUCT_SIZES, struct),
    }
