"""Derivations in `.swz` files: the same steps and kernels as of the same text in Python, and nothing is run."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from swizzle.commands.derive import DeriveArguments, derive
from swizzle.derive.patterns.deriving import derivations_of, lowered
from symbolic.errors import SwizzleError
from symbolic.patterns.terms import canonical
from tests.pages import DOCS

EXAMPLES = sorted((DOCS / "examples/derive").glob("*.py"))
SUM = """
def total(x):
    return reduce(add, x, 0)


@derivation(spec=total, x=f32["n"], n=64)
def sums(d):
    d.at("total").chunks(32).to_blocks()
"""


def as_swz(text: str) -> str:
    text = re.sub(r"^from .*? import (\(.*?\)|[^(]*?)\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return text.replace('float("-inf")', "-math.inf")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_swz_file_derives_what_its_python_text_does(path: Path, tmp_path: Path) -> None:
    read = tmp_path / f"{path.stem}.swz"
    read.write_text(as_swz(path.read_text(encoding="utf-8")), encoding="utf-8")
    pairs = zip(derivations_of(str(path), None, {}), derivations_of(str(read), None, {}), strict=True)
    for python, swz in pairs:
        first, second = python.derived(), swz.derived()
        assert [step.rule for step in first.derivation.steps] == [step.rule for step in second.derivation.steps]
        assert canonical(first.derivation.now) == canonical(second.derivation.now)
        assert first.holes == second.holes
        kernels = lowered(python, first).kernels
        made = lowered(swz, second)
        assert made.kernels == kernels and made.file == f"{swz.name}.swz"
        assert "import" not in made.text


def test_a_swz_file_is_derived_proved_and_solved_again(tmp_path: Path) -> None:
    (tmp_path / "sums.swz").write_text(SUM, encoding="utf-8")
    out, err = io.StringIO(), io.StringIO()
    asked = DeriveArguments(str(tmp_path / "sums.swz"), output=tmp_path / "out")
    assert derive(asked, out, err) == 0, err.getvalue()
    assert "verified for all inputs" in out.getvalue()
    assert (tmp_path / "out/sums.swz").read_text(encoding="utf-8").count("def total(x):") == 1


@pytest.mark.parametrize(
    "old, new, found, line",
    [
        ('d.at("total").chunks(32)', "d._apply('split_join')", "`d._apply('split_join')` in a derivation", 8),
        ('d.at("total").chunks(32)', "print(d)", "`print(d)` in a derivation", 8),
        ('d.at("total").chunks(32)', "d.at('total').chunkz(32)", "no rule chunkz", 8),
        ('d.at("total").chunks(32)', "d.at('total').chunks(0)", "size=0", 8),
        ("(32)", "(32, 1)", "a wrong call of chunks", 8),
        ("    d.at", "    for i in range(3):\n        d.at", "`for` in a derivation", 8),
        ("def sums(d)", "def sums(d, e)", "2 parameters in a derivation", 7),
        ("add, x, 0", "add, x", "a wrong call of reduce", 3),
        ("add, x, 0", "lambda a, b: a - b, x, 0", "that a - b is associative is not so", 8),
        ("reduce(add, x, 0)", "x + 1", "arithmetic of f32[n]", 3),
        ('f32["n"]', 'f32["n +"]', "n +", 6),
        ("spec=total, ", "", "@derivation without a specification", 6),
    ],
)  # fmt: skip
def test_a_mistake_in_a_swz_file_is_told_at_its_line(tmp_path: Path, old: str, new: str, found: str, line: int) -> None:
    path = tmp_path / "sums.swz"
    path.write_text(SUM.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SwizzleError) as raised:
        for each in derivations_of(str(path), None, {}):
            each.derived()
    assert found in raised.value.found
    place = raised.value.place
    assert place is not None and (place.file, place.line) == (str(path), line)
