"""`swizzle derive`: a user's mistakes are told once, at the user's line; files are read as Python reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from swizzle import SwizzleError, f32
from swizzle.derive.patterns import join, map, scan, slide, split, transpose
from symbolic.patterns.reading import read_length
from tests.swizzle.derive.patterns.test_derive import derive

HEAD = """\
from swizzle import f32, i8, i32, spec
from swizzle.derive.patterns import add, derivation, hole, join, let, map, reduce, slide, zip


"""


def program(
    body: str = "map(lambda v: v + 1, x)", steps: str = "d.split(8).to_blocks().to_threads()", options: str = "",
    kind: str = 'f32["n"]', name: str = "x", derives: str = "a(d)",
) -> str:  # fmt: skip
    """Return a file whose specification returns this, derived in these steps; the steps are in line 12."""
    return HEAD + (
        f"@spec\ndef f({name}):\n    return {body}\n\n\n"
        f"@derivation(spec=f, {name}={kind}, n=64{options})\ndef {derives}:\n    {steps}\n"
    )


SUM = "reduce(add, x, 0)"
AT_7 = [
    *(("{v: v >> 1}", "`>>` of data"), ("{v: 1 << v}", "`<<` of data"), ("{v: -v & 3 | 8}", "`&` of data")),
    *(("{v: ~v}", "`~` of data"), ("{v: v.foo}", "has no attribute 'foo'"), ("{p, q: p}", "missing 1 required")),
    *(("{v: unknown}", "name 'unknown' is not defined"), ("{v: v // 2}", "// or % of f32 data")),
    *(("{v: (v,)}", "a tuple where a pattern"), ("{v: v * 10**400}", "an int of 1329 bits"), ("{v: ()}", "() where")),
]


@pytest.mark.parametrize("body, found", AT_7)
def test_mistakes_in_a_function_are_told_at_its_line(body: str, found: str, tmp_path: Path) -> None:
    text = program(f"map(lambda {body[1:-1]}, x)")
    status, _, err = derive(text, tmp_path)
    assert status == 2 and "blas.py:7:" in err.splitlines()[0] and found in err.splitlines()[0], err


@pytest.mark.parametrize(
    "steps, found",
    [
        ("d.chunks()", "missing 1 required"), ("d.chunks(8, 9)", "takes 2 positional"), ("1 / 0", "ZeroDivisionError"),
        ("d.chunks(taille=8)", "unexpected keyword argument 'taille'"), ("d.chunks(None)", "size=None"),
        ('d.chunks("(n, n)")', "`(n, n)` where a length"), ('d.to_memory("shred")', "to_memory with memory='shred'"),
        ("d._x()", "no _x"), ("d.at(3)", "a position 3"), ("d.part(0)", "part(0)"), ('d.part("x y")', "part('x y')"),
        ('d.to_blocks("w")', "lower_map with axis='w'"), ("d.vectorise(3)", "vectorise (4e) applies nowhere: no map"),
        ("d.part_iterate(10**8, 2)", "part_iterate with times=100000000"),
        ("d.chunks(8).to_blocks().to_blocks()", "no map of which nothing has decided who computes it"),
    ],
)  # fmt: skip
def test_mistakes_in_steps_are_told_at_the_step(steps: str, found: str, tmp_path: Path) -> None:
    status, _, err = derive(program(SUM, steps), tmp_path)
    assert status == 2 and "blas.py:12:" in err.splitlines()[0] and found in err.splitlines()[0], err
    assert "  expected: " in err and "  fix: " in err


@pytest.mark.parametrize(
    "text, line, found",
    [
        (program(SUM, 'd.chunks("__import__")'), 10, "no length for __import__"),
        (program("map(lambda v: (v, (v, v)), x)"), 10, "a result of (f32, (f32, f32))"),
        (program(derives="a()"), 11, "@derivation on a"), (program(derives="f(d)"), 10, "'f' as the name of"),
        (program("map(lambda v: v + 1, block)", name="block"), 10, "'block' as the name of an input"),
        (program(kind='f32.out["n"]'), 10, "the input x is f32.out[n]"),
        (program("map(lambda v: v / 2, x)", kind='i32["n"]'), 7, "/ of i32 data"),
        (program(kind='f32["n +"]'), 10, "'n +' is not a length for f32"),
        (program(options=", threads=0"), 10, "threads=0"), (program(options=', out="a b"'), 10, "'a b' as the name"),
        (program(options=", start=3"), 10, "the start is 3"),
        (program().replace("return ", ""), 6, "a NoneType where a pattern is traced"),
        (program().replace("spec=f,", "spec=lambda x: map(abs, x),"), 10, "no <lambda> at the file's top"),
        (program().replace("spec=f,", "spec=f(3),"), 7, "map of 3"),
        (program("map(lambda w: reduce(add, w, 0), slide(3, 2, x))"), 10, "that 2 divides n - 3 is not so of n = 64"),
        (program("map(lambda p: p[1][0], map(lambda v: (v, (v, v)), x))", "d.to_blocks().to_blocks()"), 10,
         "(f32, f32) handed on from kernel to"),
        (program("map(lambda v: let(map(lambda w: w * v, x), lambda z: " + SUM.replace("x", "z") + "), x)",
                 "d.to_seq().to_blocks()"), 10, "what blocks make, read by the same kernel"),
        (program(kind='i8["n"]'), 10, "the kernel that the steps of a lead to is refused: `+` on i8 data"),
    ],
)  # fmt: skip
def test_mistakes_in_declarations_are_told_at_the_declaration(text: str, line: int, found: str, tmp_path: Path) -> None:
    status, _, err = derive(text, tmp_path)
    assert status == 2 and f"blas.py:{line}:" in err.splitlines()[0] and found in err.splitlines()[0], err
    assert "swizzle-derive-" not in err and "  fix: " in err


def test_a_name_that_is_another_functions_later_is_refused(tmp_path: Path) -> None:
    """The written file would compare with the later one."""
    text = program() + "\n\n@spec\ndef f(x):\n    return map(lambda v: v + 2, x)\n"
    status, _, err = derive(text, tmp_path)
    assert status == 2 and "blas.py:16:" in err and "f is another function than the specification" in err


def test_what_is_refuted_is_shown_by_its_elements(tmp_path: Path) -> None:
    text = program(options=", start=other").replace(
        "@spec", "def other(x):\n    return map(lambda v: v + 2, x)\n\n\n@spec"
    )
    status, out, _ = derive(text, tmp_path)
    assert status == 1 and "  y[0] is 2.0 + x[0], the specification says 1 + x[0]\n" in out


def test_a_mistaken_derivation_hides_no_other(tmp_path: Path) -> None:
    text = program() + '\n\n@derivation(spec=f, q=f32["n"], n=64)\ndef bad(d):\n    pass\n'
    status, out, _ = derive(text, tmp_path, "a")
    assert status == 0 and out.startswith("a: derived in 3 steps")
    for name in ("bad", ""):
        status, _, err = derive(text, tmp_path, name)
        assert status == 2 and "blas.py:15:1: error: inputs q" in err


def test_all_mistakes_of_a_file_are_told(tmp_path: Path) -> None:
    """The good derivations are proved; each of the others is told, of the declaration, of a step, and of a kernel."""
    more = ["q=f32", "x=i8", "x=f32"]
    text = program()
    for name, kind, step in zip("bcd", more, ("pass", "pass", 'd.at("g")'), strict=True):
        own, spec = ("f", "") if name != "c" else ("g", "\n\n@spec\ndef g(x):\n    return map(lambda v: v + 1, x)\n")
        text += f'{spec}\n\n@derivation(spec={own}, {kind}["n"], n=64)\ndef {name}(d):\n    {step}\n'
    status, out, err = derive(text, tmp_path, "")
    assert status == 2 and out.startswith("a: derived in 3 steps, equal") and err.count("error: ") == 3
    assert "inputs q" in err and "no position is called 'g'" in err and "`+` on i8 data" in err


@pytest.mark.parametrize("kind", ["f32", "i32"])
def test_a_choice_is_not_read_as_a_maximum(kind: str, tmp_path: Path) -> None:
    """What is chosen by < stays a choice, in order; it has no laws, as NaN shows."""
    text = program("reduce(lambda a, b: where(a < b, b, a), x, 0)", "d.lower_reduce()", kind=f'{kind}["n"]')
    text = text.replace("import f32", "import where, f32").replace("@spec\n", "").replace("n=64", "n=8")
    status, out, err = derive(text, tmp_path)
    assert status == 0 and "equal to its specification" in out, out + err
    status, _, err = derive(text.replace("lower_reduce()", "chunks(4)"), tmp_path)
    assert status == 2 and "is associative is not proved: where(a < b, ...) is no max, as NaN shows; write max" in err


def test_files_may_import_and_define_as_python_lets_them(tmp_path: Path) -> None:
    """Everything of a module, from a module beside the file, and in branches."""
    (tmp_path / "beside_derived.py").write_text("def twice(v):\n    return 2 * v\n")
    some = "if True:\n    C = 1\n\n    def own(v):\n        return twice(v) + C\n\n\n"
    text = "from swizzle import *\nfrom swizzle.derive.patterns import *\nfrom beside_derived import twice\n\n"
    text += some + program("map(own, x)")[len(HEAD) :]
    status, out, err = derive(text, tmp_path)
    assert status == 0 and out.startswith("a: derived in 3 steps, equal to its specification"), err


def test_kernels_are_called_otherwise_than_functions_of_the_file(tmp_path: Path) -> None:
    helper = "def a_1(v):\n    return v + 1\n\n\n"
    text = HEAD + helper + program("reduce(add, map(a_1, x), 0)", "d.chunks(8).to_blocks()")[len(HEAD) :]
    status, out, err = derive(text, tmp_path)
    assert status == 0 and "(a_1_2 then a_2)" in out.splitlines()[0], err + out


def test_a_large_constant_of_floats_is_written(tmp_path: Path) -> None:
    status, _, err = derive(program("map(lambda v: v + -1e30, x)"), tmp_path)
    assert status == 0, err


@pytest.mark.parametrize("script", ['{"holes": [{"a": 1}]}', "[" * 100000, "[1]", '{"expression": 3}'])
def test_scripts_that_are_none_are_refused(script: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(script)
    status, _, err = derive(program(), tmp_path, "", "--script", str(tmp_path / "s.json"))
    assert status == 2 and "s.json" in err


def test_holes_of_a_script_are_names(tmp_path: Path) -> None:
    derive(program(), tmp_path, "", "-o", str(tmp_path / "out"))
    text = (tmp_path / "out" / "a.derivation.json").read_text()
    assert '"holes": []' in text
    (tmp_path / "s.json").write_text(text.replace('"holes": []', '"holes": [{"a": 1}]'))
    status, _, err = derive(program(), tmp_path, "", "--script", str(tmp_path / "s.json"))
    assert status == 2 and "holes [{'a': 1}]" in err


@pytest.mark.parametrize("shape", ["3", "", "n +", "n m", "f(n)", "n < 3", "n / 0", "1; n", ("n", 0), ("n", 2.5)])
def test_lengths_are_names_and_arithmetic_of_them(shape: object) -> None:
    with pytest.raises(SwizzleError) as raised:
        f32[shape]  # type: ignore[index]
    assert raised.value.place is not None and raised.value.place.file == __file__


def test_lengths_that_are_read() -> None:
    assert str(read_length("n / 4 * 4")) == "n" and repr(f32["n + 2", 3]) == "f32[n + 2, 3]"


@pytest.mark.parametrize(
    "call",
    [
        lambda: map(abs, 3), lambda: map(abs), lambda: scan(max, 3, 0), lambda: split(0, [1]), lambda: join([1]),
        lambda: transpose([1]), lambda: slide(0, 1, [1]), lambda: slide(1, "n", [1]),
    ],
)  # fmt: skip
def test_patterns_of_what_is_no_list_are_refused(call) -> None:
    with pytest.raises(SwizzleError) as raised:
        call()
    assert raised.value.place is not None and raised.value.place.file == __file__
