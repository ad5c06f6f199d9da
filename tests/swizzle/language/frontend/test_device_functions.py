"""Device functions: a call is what its body would be, in Python's own sense and written out by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuda_out.c.printer import print_cuda
from swizzle import SwizzleError, load
from symbolic.algebra.numbers import Numbers
from symbolic.ir.program import DeclareArray, Store
from symbolic.machine.machine import Machine
from tests.swizzle.spelling import read, spelled

THREADS = 8
HEAD = "@cuda.jit(device=True)\ndef "

FUNCTIONS = {
    "scalars are passed by value": (
        "def next_one(k):\n    k += 1\n    return k * k",
        "k = cuda.laneid\nv = next_one(k) + next_one(k + 3)\ny[cuda.laneid] = x[k] + i32(v)",
    ),
    "an argument is evaluated once, before": (
        "def taken(a, at, v):\n    a[at] = i32(100)\n    return a[at] + v",
        "a = cuda.local.array(2, i32)\na[0] = x[cuda.laneid]\na[1] = 2\nv = taken(a, 0, a[0])\n"
        "y[cuda.laneid] = v + a[0]",
    ),
    "arrays and accumulators are passed by name": (
        "def fill(a, n, out):\n    for i in range(n):\n        a[i] = a[i] + i32(i)\n        out.accumulate(a[i])",
        "a = cuda.local.array(3, i32)\nfor i in range(3):\n    a[i] = x[i]\nout = accumulator(i32, outer='+')\n"
        "fill(a, 3, out)\nfill(n=2, a=a, out=out)\ny[cuda.laneid] = out.value + a[2]",
    ),
    "names of the function are its own": (
        "def twice(v):\n    lane = v * 2\n    for i in range(2):\n        lane = lane + v\n    return lane",
        "lane = cuda.laneid\ns = x[lane]\nfor i in range(3):\n    s += twice(s)\ny[lane] = s",
    ),
    "functions call functions": (
        "def add(a, b):\n    return a + b\n\n\ndef four(a):\n    b = add(a, a)\n    c = add(b, add(b, i32(0)))\n"
        "    return c",
        "v = four(x[cuda.laneid])\ny[cuda.laneid] = add(v, v)",
    ),
    "a tuple comes back as several values": (
        "def both(a, b):\n    return a + b, a - b\n\n\ndef turned(a, b):\n    return both(b, a)",
        "lane = cuda.laneid\np, q = both(x[lane], x[0])\np, q = turned(p, q)\ny[lane] = p * 3 + q",
    ),
    "two variables change places": (
        "def swapped(a, b):\n    return b, a",
        "p = x[cuda.laneid]\nq = x[1]\np, q = swapped(p, q)\ny[cuda.laneid] = p * 10 + q",
    ),
    "a call in a condition, an index and a bound": (
        "def half(n):\n    return n // 2\n\n\ndef is_low(k):\n    low = k < 4\n    return low",
        "lane = cuda.laneid\ns = x[half(lane)]\nfor i in range(half(6)):\n    if is_low(lane + i):\n        s += x[i]\n"
        "    elif is_low(lane - 4):\n        s -= 1\ny[half(lane) * 2 + lane % 2] = s",
    ),
    "an array in a function": (
        "def reversed_sum(a, n):\n    mine = cuda.local.array(3, i32)\n    for i in range(n):\n"
        "        mine[n - 1 - i] = a[i] * i32(i)\n    return mine[0] + mine[1] * 2",
        "a = cuda.local.array(3, i32)\nfor i in range(3):\n    a[i] = x[i + 1]\ns = i32(0)\nfor k in range(2):\n"
        "    s += reversed_sum(a, 3 - k)\ny[cuda.laneid] = s + x[cuda.laneid]",
    ),
    "one expression may stand in a choice": (
        "def larger(a, b):\n    return max(a, b + 1)",
        "lane = cuda.laneid\ny[lane] = larger(x[lane], x[0]) if lane < 5 else larger(x[1], x[2] * 2)",
    ),
}


class Sum:
    """An accumulator, for Python."""

    def __init__(self) -> None:
        self.value = 0

    def accumulate(self, operand: int) -> None:
        self.value += operand


def in_python(functions: str, body: str, x: list[int]) -> list[int]:
    """Run the same text as Python, thread by thread."""
    y = [0] * THREADS
    for thread in range(THREADS):
        local = SimpleNamespace(array=lambda n, dtype: [None] * n)
        names: dict[str, Any] = {"i32": int, "accumulator": lambda *_, **__: Sum(), "x": x, "y": y}
        names["cuda"] = SimpleNamespace(laneid=thread, local=local)
        exec(functions + "\n" + body, names)
    return y


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_call_means_what_it_means_in_python(name: str) -> None:
    """The machine, with numbers, gives what Python gives when it runs the functions."""
    functions, body = FUNCTIONS[name]
    decorated = functions.replace("def ", HEAD)
    sketch = read(body, f"x=i32[{THREADS}]; y=i32.out[{THREADS}]", decorated, f"block={THREADS}, warp_size={THREADS}")
    x = [3, -1, 4, 1, -5, 9, 2, 6]
    run = Machine(sketch.program, Numbers(), {"x": np.array(x, np.int32)}).run()
    assert not run.violations
    assert run.memories["y"].data[:THREADS].tolist() == in_python(functions, body, x)


# ---- what is written out ----------------------------------------------------------------------------------------


def test_a_call_is_written_out() -> None:
    """Plain arguments stand where the parameters did; others, and the function's variables, have names of their own."""
    head = HEAD + "weighted(a, k, by):\n    v = a[k] * by\n    for i in range(2):\n        v += a[i]\n    return v"
    assert spelled("v = x[0]\nfor i in range(2):\n    y[i] = weighted(x, i, v + 1)", head=head) == [
        "v = x[0]",
        "for i in 0, 2, 1",
        "  by = v + 1.0",
        "  v_1 = x[i] * by",
        "  for i_1 in 0, 2, 1",
        "    v_1 = v_1 + x[i_1]",
        "  y[i] = v_1",
    ]


def test_loop_variables_are_used_again() -> None:
    """Where no loop around has it, a function's loop variable keeps its name."""
    head = HEAD + "cleared(a):\n    for i in range(2):\n        a[i] = 0"
    assert spelled("cleared(y)\ncleared(y)\nfor i in range(1):\n    y[i] = 1", head=head) == [
        *["for i in 0, 2, 1", "  y[i] = 0.0"] * 2,
        "for i in 0, 1, 1",
        "  y[i] = 1.0",
    ]


def test_a_loop_variable_does_not_take_a_variable_s_name() -> None:
    """A name that is anything else in the kernel, before or after, is left alone."""
    head = HEAD + "cleared(a):\n    for i in range(2):\n        a[i] = 0"
    assert spelled("cleared(y)\ni = cuda.laneid\ny[i] = 1", head=head)[0] == "for i_1 in 0, 2, 1"


def test_arrays_of_functions_stand_at_the_top() -> None:
    """A thread's own array is there once for each call in the text, a shared one for all calls, as in CUDA."""
    head = HEAD + (
        "kept(a, k):\n    mine = cuda.local.array(2, f32)\n    all = cuda.shared.array(32, f32)\n"
        "    mine[k] = a[k]\n    all[cuda.laneid] = mine[k]\n    cuda.syncthreads()"
    )
    body = read("for k in range(2):\n    kept(x, k)\nkept(x, 0)\ny[0] = 0", head=head).program.body
    arrays = [(s.name, s.memory) for s in body if isinstance(s, DeclareArray)]
    assert sorted(arrays) == [("all", "shared"), ("mine", "local"), ("mine_1", "local")]


def test_a_constant_argument_is_a_constant_inside() -> None:
    """Sizes and bounds may come from the call; `len` is that of the array that was passed."""
    head = HEAD + "summed(a, n):\n    s = f32(0)\n    for i in range(len(a) // n):\n        s += a[i]\n    return s"
    assert spelled("y[0] = summed(x, 16)", head=head)[1] == "for i in 0, 4, 1"


def test_one_of_an_array_of_accumulators_is_an_accumulator() -> None:
    """A function adds to the one that it was given."""
    head = HEAD + "added(out, v):\n    out.accumulate(v)\n    return out.value"
    body = 'all = accumulator(f32, outer="+", shape=2)\nfor i in range(2):\n    v = added(all[1 - i], x[i])'
    assert spelled(body, head=head) == [
        "accumulator f32 all[2] + None",
        "for i in 0, 2, 1",
        "  v_1 = x[i]",
        "  all[1 - i] <- v_1",
        "  v = all[1 - i].value",
    ]


# ---- holes ------------------------------------------------------------------------------------------------------

TURNED = HEAD + "turned(a, k):\n    return a[?sw_xform(cuda.laneid, 32, k)]"


def test_a_hole_is_one_hole_in_all_calls() -> None:
    """Two calls ask the same hole, each with its arguments; it is spelled as the function spells it."""
    sketch = read("y[cuda.laneid] = turned(x, 1) + x[?sw_xform(cuda.laneid, 32)] + turned(x, 2)", head=TURNED)
    first, second = sketch.program.holes
    assert (first.name, first.arguments, second.name) == ("xform1", ("cuda.laneid", "k"), "xform2")
    assert first.place.line == 3 and first.place.called_from is None
    (store,) = sketch.program.body
    assert isinstance(store, Store)
    assert spelled("y[cuda.laneid] = turned(x, 1) + turned(x, 2)", head=TURNED) == [
        "y[cuda.laneid] = x[?hole0(cuda.laneid, 1)] + x[?hole0(cuda.laneid, 2)]"
    ]


def test_a_place_in_a_function_knows_its_call() -> None:
    """Every node that a call became has the place in the function, and the place of the call."""
    (store,) = read("y[0] = turned(x, 1)", head=TURNED).program.body
    assert isinstance(store, Store)
    assert (store.value.place.line, [place.line for place in store.value.place.callers]) == (3, [9])


def test_functions_may_come_from_another_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In Python a device function is imported like anything else; it sees its own module's constants."""
    (tmp_path / "device_library.py").write_text(
        "from swizzle import cuda, sw_xform\nSTEP = 3\n@cuda.jit(device=True)\ndef turned(a):\n"
        "    return a[sw_xform(cuda.laneid, 8, STEP)]\n"
    )
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "from swizzle import cuda, f32, sketch, spec, sw_xform\n"
        "from device_library import turned\nimport device_library\n"
        "@spec\ndef wanted(x):\n    return [x[i] + x[i] for i in range(8)]\n"
        "@sketch(spec=wanted, block=8, x=f32[8], y=f32.out[8])\ndef k(x, y):\n"
        "    y[cuda.laneid] = turned(x) + device_library.turned(x) + 0 * x[sw_xform(cuda.laneid, 8)]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (sketch,) = load(kernel)
    assert [(hole.name, Path(hole.place.file).name) for hole in sketch.program.holes] == [
        ("xform1", "kernel.py"),
        ("xform2", "device_library.py"),
    ]


def test_the_printed_text_names_the_functions() -> None:
    """A comment begins what a call became, and what comes after it."""
    add = HEAD + "add(a, b):\n    c = a + b\n    return c"
    summed = HEAD + "summed(a, out):\n    for j in range(2):\n        s = add(a[j], f32(1))\n        out.accumulate(s)"
    body = 'out = accumulator(f32, outer="+")\nsummed(x, out)\ny[cuda.laneid] = out.value'
    text = print_cuda(read(body, head=f"{add}\n\n{summed}").program).text
    indented = [line.strip() for line in text.splitlines() if line.startswith("  ")]
    comments = [line for line in indented if line.startswith("//")]
    assert comments == [
        "// summed, called at line 17",
        "// add, called at line 9",
        "// summed, called at line 17",
        "// move, line 18",
    ]


# ---- mistakes that tests/errors does not show ---------------------------------------------------------------------

MISTAKES = {
    "y[0] = turned(x, k=1, k=2)": "the argument k is given twice",
    "y[0] = turned(x, 1, k=2)": "the parameter k of turned is given twice",
    "y[0] = turned(x, j=2)": "turned has no parameter `j`",
    "y[0] = turned(*x)": "`*` in a call",
    "y[0] = turned(a=x, **x)": "`**` in a call",
    "y[0] = turned(x, 1, 2)": "3 arguments for turned, which takes 2",
    "y[0] = turned": "turned is a function, not a value",
    "warp_load(x, turned)": "the destination of warp_load is not an array",
}


@pytest.mark.parametrize("body", MISTAKES)
def test_wrong_calls(body: str) -> None:
    """What is wrong is said at the argument."""
    with pytest.raises(SwizzleError) as caught:
        read(body, head=TURNED)
    assert MISTAKES[body] in caught.value.found


BODIES = {
    "v = x[0]": "give it to the device function as a parameter",
    "v = k[0]": "k is not an array",
    "k[0] = 1": "k is not an array",
    "for k in range(3):\n        pass": "k is a variable already",
    "k(1)": "k is not a function",
    "cuda = 1\n    v = cuda.laneid": "cuda has no `laneid`",
    "a[0] = 1": "declare it x=f32.inout[64]",
}


@pytest.mark.parametrize("body", BODIES)
def test_wrong_bodies(body: str) -> None:
    """What is wrong in a function is said in its own words, and with the call."""
    with pytest.raises(SwizzleError) as caught:
        read("wrong(x, 1)\ny[0] = 0", head=HEAD + f"wrong(a, k):\n    {body}")
    assert BODIES[body] in str(caught.value)
    assert "called at inline.swz:" in str(caught.value)


def test_calls_do_not_multiply_without_end() -> None:
    """A chain of functions, each of which calls the one before twice, ends in one error."""
    chain = [HEAD + "g0(v):\n    return v"]
    chain += [HEAD + f"g{n}(v):\n    w = g{n - 1}(v)\n    return g{n - 1}(w)" for n in range(1, 30)]
    with pytest.raises(SwizzleError, match="more than 4096 calls"):
        read("y[0] = g29(x[0])", head="\n\n".join(chain))
