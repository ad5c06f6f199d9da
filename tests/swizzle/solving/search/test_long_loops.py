"""Loops of a thousand rounds: what they add up is one value, and no question is as deep as they are long."""

from __future__ import annotations

from pathlib import Path

import pytest

from swizzle import Limits, SwizzleError, solve
from swizzle.operators import found_of
from swizzle.sketches.loading import load_names

HEAD = "from swizzle import cuda, f32, serial, sketch, spec, sw_cond, sw_xform\n"


def sketch(tmp_path: Path, rounds: int, step: str) -> object:
    """Return a sketch of a thread that goes over an array."""
    file = tmp_path / "loops.py"
    file.write_text(
        f"{HEAD}@spec\ndef total(x):\n    return [sum(x[i] for i in range({rounds}))]\n"
        f"@sketch(spec=total, block=32, x=f32[{rounds}], y=f32.out[1])\ndef kernel(x, y):\n    n = f32(0)\n"
        f"    for k in range({rounds}):\n        {step}\n    if cuda.laneid == 0:\n        y[0] = n\n"
    )
    return load_names(str(file), {})["kernel"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rounds", [158, 512, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("step", ["n += x[sw_xform(k, {})]", "n = x[sw_xform(k, {})] + n"])
def test_a_sum_of_many_holes(tmp_path: Path, rounds: int, step: str) -> None:
    """Every round adds an element that a hole chooses."""
    found = solve(sketch(tmp_path, rounds, step.format(rounds)))  # type: ignore[arg-type]
    assert found.status == "sat"


def test_other_operators_within_each_other_are_a_mistake(tmp_path: Path) -> None:
    """A choice in every round is no sum to a solver: that is said, with its place. All fillings together are few."""
    chosen = sketch(tmp_path, 300, "n = n + x[k] if sw_cond(k, 300) else n")
    with pytest.raises(SwizzleError) as caught:
        solve(chosen, Limits(space="1"))  # type: ignore[arg-type]
    assert caught.value.place is not None
    found = solve(chosen)  # type: ignore[arg-type]
    assert found.best is not None and found.best.holes[0].formula == "True"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "body", ["s += v", "s = s * 0.5 + v", pytest.param("s = max(s, v + k)", marks=pytest.mark.slow)]
)
def test_a_loop_inside_a_serial_loop(tmp_path: Path, body: str) -> None:
    """What is one sum or one maximum in the end may be made in any number of rounds."""
    file = tmp_path / "loops.py"
    rounds = "".join(f"        {line}\n" for line in ("for k in range(1000):", f"    {body}"))
    file.write_text(f"{HEAD}@serial\ndef f(x: f32):\n    s = 0\n    for v in x:\n{rounds}    return s\n")
    assert found_of(load_names(str(file), {})["f"]).status == "proved"  # type: ignore[arg-type]
