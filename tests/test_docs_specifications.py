"""docs/specifications.md is true: each line of its table is what NumPy says, and its sketches are solved."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest

from swizzle.commands.process import execute
from tests.pages import blocks_of, files_of, run_again, text_of, untimed
from tests.swizzle.language.specs.test_numpy_idioms import check, function_of

PAGE = text_of("specifications.md")
TABLE = [
    text.replace(r"\|", "|")
    for row in re.findall(r"^\| [\w` ]+ \| (`.*`) \|$", PAGE, re.MULTILINE)
    for text in re.findall(r"`((?:[^`])+)`", row)
]
BLOCKS = re.findall(r"^```python numpy\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_table_is_there() -> None:
    """It has more lines than a few, each once."""
    assert len(set(TABLE)) == len(TABLE) > 140
    assert len(BLOCKS) == 2


@pytest.mark.parametrize("text", TABLE)
def test_a_line_of_the_table(text: str) -> None:
    """On data it is what it is on numbers."""
    with np.errstate(all="ignore"):
        check(function_of(text, f"return {text}"))


@pytest.mark.parametrize("body", BLOCKS)
def test_a_block(body: str) -> None:
    """As the lines are."""
    check(function_of(body[:20], body))


@pytest.fixture
def _page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in files_of(PAGE).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_page")
def test_the_sessions() -> None:
    """They print what is shown."""
    for console in blocks_of(PAGE, "console"):
        assert untimed(run_again(console)) == untimed(console)


@pytest.mark.usefixtures("_page")
def test_the_mistake() -> None:
    """It is told as it is shown."""
    out, err = io.StringIO(), io.StringIO()
    assert execute(["check", "sorted_rows.py"], out, err) == 2
    assert f"```\n{err.getvalue()}```\n" in PAGE


@pytest.mark.usefixtures("_page")
@pytest.mark.parametrize("name", ["filter", "rows", "quantize"])
def test_a_sketch_is_solved_certified_and_run(name: str) -> None:
    """Verified for all inputs, confirmed modulo a prime, and emulated on numbers."""
    file = "filter" if name == "filter" else "rows"
    solved = run_again(f"$ swizzle solve {file}.py:{name} -o out --certify")
    assert f"{name}: solved, verified for all inputs" in solved
    assert "certify equal to the specification for all inputs: confirmed on random numbers" in solved
    assert "outputs are the specification's" in run_again(f"$ swizzle run out/{name}.json")


INTEGERS = """
import numpy as np
from swizzle import cuda, f64, i32, sketch, spec

@spec
def thirds(n):
    return {body}

@sketch(spec=thirds, block=32, n=i32[32], y=f64.out[32])
def kernel(n, y):
    i = cuda.laneid
    y[i] = {kernel}
"""


@pytest.mark.parametrize(
    ("body", "kernel"),
    [
        ("n / 3", "f64(n[i]) / 3"),
        ("n.astype(np.float64) / 3", "f64(n[i]) / 3"),
        ("n[::-1] * 0.1", "f64(n[31 - i]) * 0.1"),
        ("np.where(np.arange(32) > 3, n, 0) * 0.1 + n[:1] / 3", "f64(n[i] if i > 3 else 0) * 0.1 + f64(n[0]) / 3"),
    ],
)
def test_integers_that_become_floats_are_certified(
    body: str, kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modulo a prime nothing is rounded, neither by the kernel nor by the specification."""
    monkeypatch.chdir(tmp_path)
    Path("thirds.py").write_text(INTEGERS.format(body=body, kernel=kernel), encoding="utf-8")
    assert "confirmed on random numbers" in run_again("$ swizzle solve thirds.py --certify")
