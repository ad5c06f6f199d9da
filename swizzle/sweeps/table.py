"""What came of a sweep, to look at: rows by parameters, failures by reason, a figure, files for other programs."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any, Final

from swizzle.sweeps.charts import heat_map, line_chart
from swizzle.sweeps.journal import Record
from swizzle.sweeps.process import reason
from symbolic.errors import SwizzleError, printable

Row = dict[str, Any]
FAILED: Final = ("mistake", "timeout", "memory", "killed", "bug")
"""Statuses that are none of the command's own."""
SHOWN: Final = 200
"""As many rows at most are printed."""
REASONS: Final = 20
"""And as many reasons."""
PLAIN: Final = ("status", "seconds", "attempts", "reason")
_OWN: Final = ("do", "target", "key", *PLAIN)


def rows_of(records: Iterable[Record]) -> list[Row]:
    """Return a row for each job: what was asked, its status, its costs, seconds, attempts, and why it failed."""
    return [_row(record) for record in records]


def _row(record: Record) -> Row:
    job, answer = record.job, record.answer or {}
    costs = answer.get("cost") or {}
    if answer.get("best"):
        costs = {"of the best, s": (answer["best"].get("static") or {}).get("seconds")}
    values, options = job["set"], job.get("options", {})
    return {
        "do": job["do"], "target": record.asked,
        **{f"set {name}" if name in _OWN else name: value for name, value in values.items()},
        **{f"option {name}" if name in values else name: _plain(value) for name, value in options.items()},
        "status": record.status or "open", **{f"cost {name}": value for name, value in costs.items()},
        "seconds": record.seconds, "attempts": record.attempts or None, "reason": reason(answer) or None,
        "key": record.key,
    }  # fmt: skip


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else str(value)


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Return the columns, those of what was asked first."""
    names = dict.fromkeys(name for row in rows for name in row)
    costs = [name for name in names if name.startswith("cost ")]
    asked = [name for name in names if name not in (*PLAIN, *costs, "key")]
    return [*asked, "status", *costs, "seconds", "attempts", "reason", "key"]


def varied(rows: Sequence[Row]) -> list[str]:
    """Return the columns of what was asked in which rows differ."""
    columns = columns_of(rows)
    return [name for name in columns[: columns.index("status")] if len({row.get(name) for row in rows}) > 1]


def text_table(rows: Sequence[Row]) -> str:
    """Return a table of what differs between rows, and of what came of them."""
    if not rows:
        return "no jobs\n"
    costs = [name for name in columns_of(rows) if name.startswith("cost ")]
    more = ["attempts"] if any((row["attempts"] or 0) > 1 for row in rows) else []
    names = [*(varied(rows) or ["target"]), "status", *costs, "seconds", *more]
    cells = [names, *([_text(row.get(name)) for name in names] for row in rows[:SHOWN])]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    number = [isinstance(rows[0].get(name), int | float) for name in names]
    lines = [
        "  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in zip(line, widths, number, strict=True)).rstrip()
        for line in cells
    ]
    left = len(rows) - SHOWN
    return "\n".join([*lines, *([f"... and {left} more: --export csv has all of them"] if left > 0 else []), ""])


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else printable(str(value))


def failures(rows: Iterable[Row]) -> str:
    """Return how many jobs have no answer of their command, by reason, each with one of them."""
    counted: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row["status"] in FAILED:
            why = (row["status"], (row["reason"] or "").split("\n")[0])
            counted[why] += 1
            example.setdefault(why, row)
    lines = [f"{number:6}  {_text(status)}: {_text(why)} ({_named(example[status, why])})"
             for (status, why), number in counted.most_common(REASONS)]  # fmt: skip
    lines += (
        [f"... and {left} more reasons: --export csv has all of them"] if (left := len(counted) - REASONS) > 0 else []
    )
    return "".join(f"{line}\n" for line in lines)


def _named(row: Row) -> str:
    """Return what was asked, in a few words."""
    names = list(row)
    asked = [f"{name}={row[name]}" for name in names[2 : names.index("status")]]
    return _text(" ".join([row["do"], row["target"], *asked]))


def figure(rows: Sequence[Row]) -> str:
    """Return seconds over what differs: curves over one parameter, a map over two, as SVG; '' where nothing does."""
    names = varied(rows)
    numbers = [name for name in names if all(type(row.get(name)) is int for row in rows)]
    if not numbers:
        return ""
    across = max(numbers, key=lambda name: len({row[name] for row in rows}))
    others = [name for name in names if name != across]
    groups = list(dict.fromkeys(_group(row, others) for row in rows))
    title = f"seconds by {' and '.join([across, *others])}"
    done = [row for row in rows if row["status"] not in (*FAILED, "open")]
    if len(groups) <= 6 and len({row[across] for row in rows}) > 1:
        lines: dict[str, dict[int, float]] = {group or "seconds": {} for group in groups}
        for row in done:
            lines[_group(row, others) or "seconds"][row[across]] = max(row["seconds"], 1e-4)
        return line_chart(title, across, sorted({row[across] for row in rows}), lines)
    ticks = [str(value) for value in sorted({row[across] for row in rows})]
    return heat_map(
        title, groups, ticks,
        {(_group(r, others), str(r[across])): (r["seconds"], f"{r['status']}, {r['seconds']:.3f} s") for r in done},
        {(_group(r, others), str(r[across])): r["status"] for r in rows},
    )  # fmt: skip


def _group(row: Row, names: Iterable[str]) -> str:
    return " ".join(
        f"{name}={row[name]}" if isinstance(row.get(name), int) else str(row.get(name, "")) for name in names
    )


def html_table(rows: Sequence[Row]) -> str:
    """Return the table for a notebook."""
    names = columns_of(rows)[:-1] if rows else []
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_text(row.get(name)))}</td>' for name in names)}</tr>" for row in rows[:SHOWN]
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def csv_text(rows: Sequence[Row]) -> str:
    """Return the rows as CSV; what a row has no value for is empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns_of(rows), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def require_parquet() -> None:
    """Raise SwizzleError where no Parquet file can be written."""
    if find_spec("pyarrow") is None:
        raise SwizzleError(
            "Parquet needs a package that is not installed", expected="pyarrow",
            fix="pip install 'swizzle-inventor[parquet]', or --export csv",
        )  # fmt: skip


def parquet_bytes(rows: Sequence[Row]) -> bytes:
    """Return the rows as a Parquet file; raises SwizzleError where that cannot be written."""
    require_parquet()
    import pyarrow
    import pyarrow.parquet

    out = io.BytesIO()
    columns = {name: pyarrow.array(*of_one_type([row.get(name) for row in rows])) for name in columns_of(rows)}
    pyarrow.parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()


def of_one_type(values: Sequence[Any]) -> tuple[list[Any], str]:
    """Return the values of a column and their type: numbers, or texts where there are others."""
    kinds = {type(value) for value in values if value is not None}
    for name, some in (("bool", {bool}), ("int64", {int}), ("float64", {int, float})):
        if kinds and kinds <= some:
            return [*values], name
    return [None if value is None else str(value) for value in values], "string"
