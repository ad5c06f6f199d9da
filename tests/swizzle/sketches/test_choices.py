"""Choices and requirements of sketch files: which values are taken, and that slices ask what the whole file would."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from swizzle import load
from swizzle.language.parameters import RequirementError
from swizzle.sketches.choices import NothingLeftError
from swizzle.sketches.loading import SketchFile
from symbolic.choices.propagation import ContradictionError, Propagator
from symbolic.choices.search import assignments
from symbolic.errors import SwizzleError

KERNEL = """
@spec
def double(x):
    return [2 * v for v in x]

@sketch(spec=double, block=4, x=f32[4], y=f32.out[4])
def k(x, y):
    i = cuda.grid(1)
    y[i] = 2 * x[i]
"""
IMPORTS = "from swizzle import choice, cuda, f32, gpu, parameter, require, sketch, spec\n"


def written(folder: Path, head: str, suffix: str) -> Path:
    path = folder / f"file{suffix}"
    path.write_text((IMPORTS if suffix == ".py" else "") + head + KERNEL)
    return path


HEAD = """
N = parameter("N", 8, domain=range(1, 100))
BM = choice("BM", (64, 32, 16))
BN = choice("BN", (16, 32, 64))
TILE = BM * BN
def area():
    return 4 * TILE * N
require(area() <= 65536, "both tiles fit")
require(BM >= BN)
require(BM <= gpu.threads_per_block)
"""


@pytest.mark.parametrize("suffix", [".py", ".swz"])
def test_the_first_allowed_values_are_taken(tmp_path: Path, suffix: str) -> None:
    """In the order of declaration and of the values; what is set stays, and the others go with it."""
    path = written(tmp_path, HEAD, suffix)
    for given, wanted in (
        ({}, {"N": 8, "BM": 64, "BN": 16}),
        ({"N": 16}, {"N": 16, "BM": 64, "BN": 16}),
        ({"BM": 32}, {"N": 8, "BM": 32, "BN": 16}),
        ({"BM": 16, "BN": 16, "N": 1}, {"N": 1, "BM": 16, "BN": 16}),
    ):
        (sketch,) = load(path, None, given)
        assert dict(sketch.parameters) == wanted


def test_first_means_the_first_declared_choice(tmp_path: Path) -> None:
    """Not the one with the fewest values, which propagation decides first."""
    path = written(tmp_path, 'A = choice("A", (1, 2, 3))\nB = choice("B", (5, 6))\nrequire(A != 1 or B != 5)\n', ".py")
    assert dict(load(path)[0].parameters) == {"A": 1, "B": 6}


@pytest.mark.parametrize("suffix", [".py", ".swz"])
def test_no_values_left_is_one_error(tmp_path: Path, suffix: str) -> None:
    """A least set of rules with their lines, and the one that removes most."""
    path = written(tmp_path, HEAD, suffix)
    with pytest.raises(NothingLeftError) as caught:
        load(path, None, {"BM": 16, "BN": 64})
    line = 9 if suffix == ".py" else 8
    assert caught.value.rules == (f"line {line + 1}: BM >= BN", "BM = 16 is set", "BN = 64 is set")
    with pytest.raises(NothingLeftError) as caught:
        load(path, None, {"N": 99})
    assert caught.value.rules == (f"line {line}: both tiles fit",)
    assert "both tiles fit removes most by itself, 9 of 9 combinations" in caught.value.expected


def test_values_that_are_all_set_are_asked_again_by_the_file(tmp_path: Path) -> None:
    """Once a file's choices are known, the file itself refuses what its requirements do not allow."""
    file = SketchFile.read(written(tmp_path, HEAD, ".py"))
    file.load(None, {})
    with pytest.raises(RequirementError, match="'both tiles fit' does not hold with BM = 64, BN = 64"):
        file.load(None, {"BM": 64, "BN": 64})


@pytest.mark.parametrize("seed", range(12))
def test_slices_allow_what_the_whole_file_does(tmp_path: Path, seed: int) -> None:
    """Random files: the space has just the assignments with which the file's requirements hold."""
    chooser = random.Random(seed)
    names = ["A", "B", "C"][: chooser.randint(1, 3)]
    lines = [f'{name} = choice("{name}", {tuple(chooser.sample(range(5), 3))})' for name in names]
    lines += ["SIZES = [2, 3]", "def twice(v):\n    return 2 * v + OFFSET", "OFFSET = 1"]
    made = list(names)
    for number in range(chooser.randint(1, 4)):
        a, b = chooser.choice(made), chooser.choice(made)
        lines.append(
            chooser.choice([
                f"V{number} = {a} + {b}", f"V{number} = twice({a}) - {b}", f"V{number} = {a} * SIZES[0]",
                f"V{number} = 7 // {a}", f"SIZES.append({a})\nV{number} = SIZES[-1] + {b}",
                f"if {a} > 1:\n    V{number} = {b}\nelse:\n    V{number} = 3",
                f"def need{number}():\n    require({a} != {b} + 1)\nneed{number}()\nV{number} = {a}",
            ])
        )  # fmt: skip
        made.append(f"V{number}")
        lines.append(f"require({chooser.choice(made)} {chooser.choice(('<=', '>=', '!='))} {chooser.randint(0, 9)})")
    path = written(tmp_path, "\n".join(lines), ".py")
    file = SketchFile.read(path)
    choices = file.choices({})
    allowed = set()
    propagation = Propagator(choices.space())
    try:
        leaves = list(assignments(propagation, propagation.root()))
    except ContradictionError:
        leaves = []
    for leaf in leaves:
        allowed.add(tuple(propagation.assignment(leaf).values()))
    right, failing = set(), set()
    file._choices = frozenset(names)  # so that the file is run as it is
    for values in itertools.product(*(choices.declared[name].domain for name in names)):
        try:
            file.load(None, dict(zip(names, values, strict=True)))
        except RequirementError:
            continue
        except SwizzleError:  # a division by zero that no requirement needs
            failing.add(values)
            continue
        right.add(values)
    assert right <= allowed <= right | failing


DEPENDING = """
W = choice("W", (1, 2, 4))
STEPS = []
for n in range(W):
    STEPS.append(n + 1)
T = choice("T", tuple(STEPS))
U = choice("U", [T * n for n in (1, 2)])
EVERY = choice("EVERY", [n for n in range(2)])
require(U <= 4, "few")
"""


def test_values_may_depend_on_other_choices(tmp_path: Path) -> None:
    """A choice has all values that others leave it, and a rule says which go together, in a loop, too."""
    file = SketchFile.read(written(tmp_path, DEPENDING, ".py"))
    choices = file.choices({})
    assert [tuple(each.domain) for each in choices.declared.values()] == [
        (1, 2, 4), (1, 2, 3, 4), (1, 2, 4, 3, 6, 8), (0, 1)
    ]  # fmt: skip
    assert [rule.why for rule in choices.rules] == ["the values of T", "the values of U", "few"]
    propagation = Propagator(choices.space())
    found = {tuple(propagation.assignment(leaf).values())[:3] for leaf in assignments(propagation)}
    assert found == {
        (w, t, u) for w in (1, 2, 4) for t in range(1, w + 1) for u in (t, 2 * t) if u <= 4
    }  # fmt: skip
    assert file.choices({"T": 3}).first() == {"W": 4, "T": 3, "U": 3, "EVERY": 0}
    assert len(file.load(None, {"W": 4, "T": 4, "U": 4, "EVERY": 1})) == 1
    with pytest.raises(SwizzleError, match="the value given of T is 3, which is not in its domain"):
        file.load(None, {"W": 2, "T": 3, "U": 3, "EVERY": 1})
    with pytest.raises(NothingLeftError) as nothing:
        file.choices({"W": 2, "T": 3}).first()
    assert nothing.value.rules == ("line 7: the values of T", "W = 2 is set", "T = 3 is set")
    with pytest.raises(SwizzleError, match="the value given of T is 5"):
        file.choices({"T": 5})


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ('A = choice("A", (1, 1))\n', "the values of the choice A are"),
        ('A = choice("A", ())\n', "the values of the choice A are"),
        ('A = choice("A", (0, 1))\nB = choice("B", range(A))\n', "the values of the choice B are range(0, 0)"),
        (
            'A = choice("A", (1, 2))\nfor n in range(A):\n    B = choice(f"B{n}", (3, 4))\n',
            "B1 is a choice with some values of A alone",
        ),
        ('A = choice("A", (1, 2))\nrequire(A)\n', "require of 1"),
        ('A = choice("A", (1, 2))\nrequire(A <= 2, 3)\n', "the reason of a requirement is 3"),
        ('A = choice("A", (1, 2))\nrequire(A <= gpu.shared_per_blok)\n', "gpu has no shared_per_blok"),
    ],
)
def test_a_mistake_has_its_place(tmp_path: Path, head: str, said: str) -> None:
    """Line and column of the call, and what is wrong."""
    path = written(tmp_path, head, ".py")
    with pytest.raises(SwizzleError) as caught:
        load(path)
    assert said in str(caught.value)
    assert caught.value.place is not None and caught.value.place.line == 2 + head.rstrip().count("\n")


def test_a_requirement_without_choices_is_of_the_file_alone(tmp_path: Path) -> None:
    """It is asked when the file runs, and its error is the requirement's."""
    path = written(tmp_path, 'N = parameter("N", 8, domain=range(1, 9))\nrequire(N <= 4, "few")\n', ".py")
    assert load(path, None, {"N": 4})
    with pytest.raises(RequirementError, match="'few' does not hold"):
        load(path)


@pytest.mark.parametrize("suffix", [".py", ".swz"])
def test_what_is_set_has_to_be_declared(tmp_path: Path, suffix: str) -> None:
    """As a choice or as a parameter."""
    file = SketchFile.read(written(tmp_path, HEAD, suffix))
    file.choices({"N": 3, "BM": 16}).require_known()
    with pytest.raises(SwizzleError, match="declares no parameter M"):
        file.choices({"M": 3}).require_known()


def test_a_family_keeps_its_choices(tmp_path: Path) -> None:
    """Another size is asked with the same choices, though others would be the first ones there."""
    path = written(tmp_path, HEAD, ".py")
    (sketch,) = load(path, None, {"N": 32})
    assert sketch.family is not None
    assert dict(sketch.family.at({"N": 8}).parameters) == {"N": 8, "BM": 32, "BN": 16}
    (sketch,) = load(path, None, {"N": 8})
    assert sketch.family is not None and sketch.parameters["BM"] == 64
    with pytest.raises(RequirementError, match="does not hold with BM = 64"):
        sketch.family.at({"N": 32})
