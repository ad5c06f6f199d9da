"""Tables: what is packed is unpacked by the formula, the smallest form is taken, and only where no formula is right."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from swizzle import load, load_solution, solve
from swizzle.commands.report import as_text
from swizzle.solving.solution.solution import Result
from symbolic.errors import Place
from symbolic.ir.program import Hole
from templates.either import Either
from templates.formula import formula_of_text, formula_text, plain, values_of
from templates.registry import function_of, template
from templates.second.registry import tables_of
from templates.table import MOST_WORDS, EitherTable, make, too_large

HERE = Place("-", 1, 1)


@pytest.mark.parametrize(
    ("n", "i", "k"),
    [
        (13, range(13), range(1)),
        (2, range(2), range(5, 40)),
        (12, range(12), range(-3, 9)),
        (8, range(8), range(8)),
        (24, range(24), range(36)),
        (256, range(32), range(1)),
        (16, range(128), range(1)),
        (129, range(7, 129, 9), range(0, 30, 7)),
    ],
)
def test_a_packed_table_says_its_entries(n: int, i: range, k: range) -> None:
    """Chosen entries, worked out here, are what the function, its formula, its text and its constants give."""
    random, points = np.random.default_rng(n), tuple(itertools.product(i, k))
    hole, made = Hole("a", "index", n, ("i", "k"), HERE, ("table",)), make(n, 2, points, "4")
    assert isinstance(made, EitherTable)
    arguments = list(np.array(points).T)
    for form in made.forms:
        keys = [tuple(point[axis.argument] for axis in form.axes) for point in points]
        entries = {key: int(random.integers(n)) for key in dict.fromkeys(keys)}
        says = {"value": lambda e, i: e, "plus": lambda e, i: (e + i) % n, "xor": lambda e, i: e ^ i}[form.way]
        wanted = np.array([says(entries[key], point[0]) for key, point in zip(keys, points, strict=True)])
        choice = made.simplest(points, wanted.tolist())
        assert choice is not None and form.words <= MOST_WORDS
        assert made.of(choice)[0].components is made.parts[choice[0]].components
        assert made.forms[choice[0]].words <= form.words  # of random entries, no other form has as few
        assert np.array_equal(made.apply(choice, arguments), wanted)
        read, again = function_of(hole, made.constants(choice))
        assert np.array_equal(read.apply(again, arguments), wanted) and made.parse(made.constants(choice)) == choice
        formula = formula_of_text(hole, formula_text(hole, plain(hole, read, again)))
        assert np.array_equal(values_of(formula, arguments), wanted)
        beyond = [np.arange(-50, 50) % n, np.arange(-50, 50)]  # where the kernel does not ask: the same everywhere
        assert np.array_equal(values_of(formula, beyond), read.apply(again, beyond))


def test_the_second_description_has_the_same_tables() -> None:
    """Whatever entries are chosen, there is a table of the template with these values; there are as many sorts."""
    random = np.random.default_rng(1)
    for n, i, k in ((12, 12, 9), (8, 8, 8), (24, 24, 36)):
        points = tuple(itertools.product(range(i), range(-2, k - 2)))
        made, again = make(n, 2, points, "4"), list(tables_of(n, points))
        assert made is not None
        found = set()
        for second in again:
            chosen = {id(group.literals[random.integers(n)]) for group in second.groups}
            model = SimpleNamespace(true=lambda literal, chosen=chosen: id(literal) in chosen)
            choice = made.simplest(points, second.filled(model)(list(np.array(points).T)).tolist())
            assert choice is not None
            found.add(choice[0])
        assert len(found) == len(again) == len(made.parts)


def test_what_is_no_table() -> None:
    """A table that is too large, free entries, other forms, and constants that nobody wrote."""
    assert make(64, 1, tuple((i,) for i in range(64)), "4") is not None
    assert make(65, 1, tuple((i,) for i in range(65)), "4") is None
    assert make(256, 1, tuple((i,) for i in range(33)), "4") is None  # 36 bytes, but 8448 values
    points = tuple(itertools.product(range(8), range(8)))
    made = make(8, 2, points, "4")
    assert made is not None
    free = [value if value != 5 else None for value in (i ^ (k * 3 % 8) for i, k in points)]
    choice = made.simplest(points, free)
    assert choice is not None and made.forms[choice[0]].way == "xor"
    hole, constants = Hole("a", "index", 8, ("i", "k"), HERE, ("table",)), dict(made.constants(choice))
    for wrong in (
        {"way": 3},
        {"way": "value"},
        {"length_1": 0},
        {"length_1": 10**6},
        {"word_0": 1 << 31},
        {"word_0": None},
    ):
        with pytest.raises(ValueError, match=r"table of a |the words of a|of a is"):
            function_of(hole, constants | wrong)


def test_only_the_last_space_has_tables() -> None:
    points = tuple((i,) for i in range(16))
    hole = Hole("a", "index", 16, ("i", "0"), HERE, ("xor", "table"))
    made = [template(hole, points, space) for space in ("1", "2", "3", "4")]
    assert all(isinstance(some, Either) for some in made)
    assert [some.names for some in made] == [("xor",), ("xor",), ("xor",), ("xor", "table")]


SHUFFLED = """
@spec
def shuffled(x):
    return [x[{source}] for i in range(16)]
@sketch(spec=shuffled, block=16, warp_size=16, x=f32[16], y=f32.out[16])
def shuffle(x, y):
    lane = cuda.laneid
    y[lane] = cuda.shfl_sync(cuda.FULL_MASK, x[lane], ?sw_index(lane, 16, families="{families}"))
"""


def test_a_table_where_no_formula_is_right(tmp_path: Path) -> None:
    """The powers of 3 modulo 17 are no bit map; 5 i + 3 is a formula, though not one of rotations."""

    def solved(source: str, families: str) -> Result:
        file = tmp_path / "k.swz"
        file.write_text(SHUFFLED.format(source=source, families=families))
        return solve(load(file)[0])

    assert solved("3**i % 17 - 1", "xor, rotate").status == "unsat"
    result = solved("3**i % 17 - 1", "xor, rotate, table")
    (found,) = result.best.holes
    assert (result.space, result.optimal, found.table_bytes) == ("4", True, 8)
    assert "  table   index1 is no formula: it is looked up in 8 bytes of constants" in as_text(result, [])
    result.save(tmp_path / "s.json")
    (again,) = load_solution(tmp_path / "s.json").holes
    assert (again.formula, again.table_bytes) == (found.formula, 8)
    for source, families in (("i ^ 5", "table, xor"), ("(i + 3) % 16", "table"), ("(5 * i + 3) % 16", "table")):
        (found,) = solved(source, families).best.holes
        assert found.table_bytes == 0, found


def test_a_table_of_too_many_values_is_said_to_be(tmp_path: Path) -> None:
    """16 entries of 10 bits are small enough, but they are too many values for a solver."""
    file = tmp_path / "k.py"
    file.write_text(
        "from swizzle import cuda, f32, sketch, spec, sw_index\n"
        "@spec\ndef wanted(x):\n    return [x[i * i * 67 % 1001] for i in range(16)]\n"
        "@sketch(spec=wanted, block=16, x=f32[1001], y=f32.out[16])\n"
        "def k(x, y):\n    i = cuda.threadIdx.x\n"
        '    y[i] = x[sw_index(i, 1001, families="table")]\n'
    )
    result = solve(load(file)[0])
    assert result.status == "unsat" and result.certificate["no_table"] == {"index1": {"values": 16016, "most": 8192}}
    assert "index1 would need 16016 values of all entries together, and 8192 are the most" in as_text(result, [])


@pytest.mark.parametrize(("size", "rest"), [(65, 1), (256, 3)])
def test_a_table_that_is_too_large_is_said_to_be(size: int, rest: int, tmp_path: Path) -> None:
    """It is in no space, and the answer says what the smallest one takes."""
    table = [(i * i + rest) % size for i in range(size)]
    file = tmp_path / "k.py"
    file.write_text(
        "from swizzle import cuda, f32, sketch, spec, sw_index\n"
        f"T = {table}\n"
        "@spec\n"
        f"def wanted(x):\n    return [x[T[i]] for i in range({size})]\n"
        f"@sketch(spec=wanted, block={size}, x=f32[{size}], y=f32.out[{size}])\n"
        "def k(x, y):\n    i = cuda.threadIdx.x\n"
        f'    y[i] = x[sw_index(i, {size}, families="xor, table")]\n'
    )
    points = tuple((i,) for i in range(size))
    least, (sketch,) = too_large(size, 1, points), load(file)
    assert make(size, 1, points, "4") is None and least > 64 and too_large(64, 1, points[:64]) == 0
    result = solve(sketch)
    assert result.status == "unsat" and result.certificate["no_table"] == {"index1": {"bytes": least, "most": 64}}
    assert f"index1 would need {least} bytes, and 64 are the most" in as_text(result, [])
    assert least == {65: 68, 256: 256}[size]  # words of four entries
