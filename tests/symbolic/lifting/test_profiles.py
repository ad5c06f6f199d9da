"""The profiler: which lines of lifted functions make the most terms and unions."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from symbolic import integer, lifted, profiled


@lifted
def inner(x: Any, k: Any) -> Any:
    """Make many terms."""
    total = 0
    for i in range(20):
        total = total * (x + i) + k  # the worst
    return total


@lifted
def outer(x: Any) -> Any:
    """Make few terms by itself, and a union."""
    n = 1 if x < 3 else [x]  # a union
    y = inner(x, 7)
    return y, n


def test_the_worst_line_comes_first() -> None:
    """What a call makes is the callee's; the table and the picture have every line that ran."""
    with profiled() as profile:
        outer(integer("profiled x"))
    rows = profile.worst()
    assert rows[0].text.endswith("# the worst") and rows[0].runs == 20 and rows[0].terms >= 40
    (union,) = [row for row in rows if row.text.endswith("# a union")]
    assert union.unions == 1 and union.terms < 5
    (call,) = [row for row in rows if row.text == "y = inner(x, 7)"]
    assert call.terms == 0 and all(row.seconds >= 0 for row in rows)
    assert str(profile).splitlines()[1].split()[:3] == [str(rows[0].terms), str(rows[0].unions), "20"]
    assert len(ElementTree.fromstring(profile.svg())) == 3 * len(rows)


def test_nothing_is_counted_outside() -> None:
    """Functions that run before and behind the block are not seen."""
    with profiled() as profile:
        pass
    outer(integer("profiled y"))
    assert profile.worst() == [] and len(str(profile).splitlines()) == 1
