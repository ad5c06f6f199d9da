"""A solver that gives up proves nothing: whatever is asked of it, and wherever, no loop is proved that was not."""

from __future__ import annotations

import importlib
import pkgutil
import random
from pathlib import Path
from typing import Any

import pytest

import swizzle.operators
from swizzle import SwizzleError
from swizzle.operators import found_of
from swizzle.operators.samples import random_rows
from swizzle.operators.serial import Serial
from swizzle.sketches.loading import load_names
from symbolic.expressions import floats
from symbolic.expressions.formulas import Answered
from symbolic.solve.answer import Unknown
from symbolic.solve.solver import Solver
from tests.swizzle.operators.test_floats import INFINITIES, NAN, REACHED, ROUNDING, STATEMENTS, loop, read
from tests.swizzle.operators.test_operators import in_parts

MODULES = [each.name for each in pkgutil.walk_packages(swizzle.operators.__path__, "swizzle.operators.")]
SITES = [name for name in MODULES if {"decide", "answers"} & vars(importlib.import_module(name)).keys()]
REASONS = ("", "canceled", "max. resource limit exceeded", "(incomplete (theory arithmetic))", "memout")

WRONG = {
    "an overflow": ("length=10000", "s", "i32", "s = s + 1 if s + 2147483000 > 0 else s"),
    "a product that overflows": (
        "length=10000, where=lambda v: 0 <= v <= 5", "s", "i32", "s = s + v if s * 1000000 >= 0 else s"
    ),
    "a remainder of what overflows": ("length=1 << 20, where=lambda v: v >= 0", "s", "i64", "s = (s + v) % 1000"),
    "a sum that overflows": ("length=1 << 20, where=lambda v: 0 <= v < 4096", "n", "i32",
                             "s = s + v\n        n = max(n, s)"),
    "squares": ("", "s", "f32", "s = s * s + v"),
}  # fmt: skip
RIGHT = {
    "a maximum": ("", "s", "f32", "s = max(s, v)"),
    "a best run": ("length=1000, where=lambda v: -1000 <= v <= 1000", "n", "i32",
                   "s = max(s + v, 0)\n        n = max(n, s)"),
    "a remainder": ("length=1000, where=lambda v: 0 <= v < 1 << 40", "s", "i64", "s = (s * 31 + v) % 1000"),
    "what squares have": ("", "s, n", "f32", "s += v * v\n        n += 1 if s < 0 else 0"),
}  # fmt: skip


def gives_up(monkeypatch: pytest.MonkeyPatch, site: str) -> None:
    """Let a solver know nothing: in one module, in the tests of floating-point numbers, or anywhere."""
    if site in MODULES:
        unknown = Answered("unknown", reason="gave up")
        if "answers" in vars(importlib.import_module(site)):
            monkeypatch.setattr(f"{site}.answers", lambda *_, **__: (unknown for _ in range(1)))
        else:
            monkeypatch.setattr(f"{site}.decide", lambda *_, **__: unknown)
    elif site == "floats":
        monkeypatch.setattr(floats, "decide", lambda *_, **__: Answered("unknown", reason="gave up"))
        monkeypatch.setattr(floats, "Solver", Silent)
    else:
        monkeypatch.setattr(Solver, "check", lambda *_, **__: Unknown("gave up"))


class Silent(Solver):
    """A solver that knows nothing."""

    reason = "gave up"

    def check(self, *_: object, **__: object) -> Unknown:
        """Return that."""
        return Unknown(self.reason)


def made(tmp_path: Path, row: tuple[str, str, str, str]) -> Any:
    """Return a loop."""
    arguments, result, dtype, body = row
    file = tmp_path / "loops.py"
    file.write_text(
        f"from swizzle import f32, i32, i64, serial\n@serial({arguments})\ndef f(x: {dtype}):\n    s, n = 0, 0\n"
        f"    for v in x:\n        {body}\n    return {result}\n"
    )
    return load_names(str(file), {})["f"]


def test_these_are_the_places_where_a_solver_is_asked() -> None:
    """Nobody in the room has a solver of their own."""
    assert {"swizzle.operators.equations", "swizzle.operators.invariants", "swizzle.operators.ranges",
            "swizzle.operators.reformed", "swizzle.operators.divisors"} <= {*SITES}  # fmt: skip
    assert not [name for name in MODULES if hasattr(importlib.import_module(name), "Solver")]


EVERY = [pytest.param(site, marks=pytest.mark.slow) for site in ("", *SITES, "everywhere")]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("site", [*EVERY[:-1], "everywhere"])
def test_a_loop_that_is_not_proved_is_not_proved_by_giving_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: str
) -> None:
    """Nor is it where the solver answers, the first time."""
    if site:
        gives_up(monkeypatch, site)
    for name, row in WRONG.items():
        try:
            assert found_of(made(tmp_path, row)).status != "proved", name
        except SwizzleError:
            assert site


@pytest.mark.sampled(1)
@pytest.mark.parametrize("site", EVERY)
def test_what_is_proved_without_an_answer_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: str) -> None:
    """What is left of proved loops where a solver gives up is right on numbers; it is all where it does not."""
    if site:
        gives_up(monkeypatch, site)
    rng = random.Random(site)
    for name, row in RIGHT.items():
        try:
            serial = made(tmp_path, row)
            found = found_of(serial)
        except SwizzleError:
            assert site
            continue
        assert site or found.status == "proved", name
        if found.status != "proved":
            continue
        assert isinstance(serial, Serial) and found.carrier is not None
        for count in range(60):
            rows = random_rows(serial.loop, rng, 1 + count % 7)
            wanted = serial(*map(list, zip(*rows, strict=True)))
            result = found.carrier.finished(in_parts(found.carrier, rows, rng))
            assert result == pytest.approx(wanted if isinstance(wanted, tuple) else (wanted,)), name


@pytest.mark.sampled(1)
@pytest.mark.parametrize("reason", REASONS)
def test_no_test_for_nan_is_let_through_by_giving_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    """Whatever reason a solver gives for knowing nothing, what it would refuse is refused."""
    gives_up(monkeypatch, "floats")
    monkeypatch.setattr(Silent, "reason", reason)
    refused = [loop(f"s = s + v if {each} else s") for each in (*NAN, *INFINITIES, *ROUNDING)]
    refused += [loop(each) for each in STATEMENTS]
    refused += [loop(each).replace("s, t = 0, 0.5", "s, t, r = 0, 0, 0") for each in REACHED]
    for text in refused:
        with pytest.raises(SwizzleError, match="asks for"):
            read(tmp_path, text)


def test_numbers_that_are_tried_let_through_what_no_solver_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A condition that some numbers meet and others do not is none of NaN."""
    gives_up(monkeypatch, "floats")
    for condition in ("v * v > 2", "v * s < v + 1", "exp(v) > 2", "abs(v) >= 1"):
        read(tmp_path, loop(f"s = s + v if {condition} else s"))
