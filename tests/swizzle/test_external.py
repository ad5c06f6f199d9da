"""`cuda.external`: a function of the user's own, in all that a sketch becomes."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.every_length.tiles import TileValidator
from cuda_out.ptx.running.validate import WrittenOut
from swizzle import Limits, Sketch, SwizzleError, load, solve
from swizzle.answers.checking.emitted import check_emitted
from swizzle.answers.checking.trial import trials
from swizzle.answers.checking.validator import numeric_difference
from swizzle.answers.emit.emitters import cuda_source, origin
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.emit.sizes import sizes_of
from swizzle.language.specs.specification import Meaning, numbers
from swizzle.solving.audit.random_check import disagreement
from swizzle.solving.cache.key import key

needs_gcc = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
needs_cuda = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

TEXT = '''\
from math import exp

from swizzle import cuda, f32, i32, sketch, spec, sw_xform, u32

@cuda.external("""
  const float e = expf(-x * beta);
  if (e > 1e30f) { return 0.0f; }
  return x / (1.0f + e);
""")
def silu(x: f32, beta: f32) -> f32:
    return x / (1 + exp(-x * beta))

@cuda.external("return __popc(x) + k;", takes=(u32, i32), gives=i32)
def bits(x, k):
    """Numbers of a type of their own."""
    return bin(int(x)).count("1") + int(k)

@spec
def active_spec(x, a):
    n = len(x)
    return [silu(x[i ^ 1], 2) * 3 for i in range(n)], [bits(a[i] + 1, 2) + bits(a[i], bits(7, 1)) for i in range(n)]

@sketch(spec=active_spec, block=64, grid=2, x=f32[128], a=u32[128], y=f32.out[128], b=i32.out[128])
def active(x, a, y, b):
    i = cuda.grid(1)
    v = cuda.shfl_sync(-1, x[i], sw_xform(cuda.laneid, 32))
    y[i] = cuda.shfl_xor_sync(-1, silu(v, 2), 1) * 3
    b[i] = bits(a[i] + 1, 2) + bits(a[i], bits(7, 1))
'''


def sketch_of(folder: Path, text: str = TEXT) -> Sketch:
    (folder / "active.py").write_text(text)
    sys.modules.pop("active", None)
    (found,) = load(folder / "active.py")
    return found


@pytest.fixture(scope="module")
def active(tmp_path_factory: pytest.TempPathFactory) -> Sketch:
    return sketch_of(tmp_path_factory.mktemp("external"))


def test_it_is_solved_and_numbers_agree(active: Sketch) -> None:
    result = solve(active, Limits(certify=True))
    assert result.best.holes[0].formula == "cuda.laneid"
    program = result.best.program
    assert disagreement(program, active.spec) == "" and numeric_difference(program, active.spec) is None
    assert result.certificate["assumed"] == [
        f"the C++ text of {name} computes what its Python function does" for name in ("silu", "bits")
    ]
    with pytest.raises(SwizzleError, match=r"numba\.cuda has no text of the function silu"):
        result.best.to_numba()


@pytest.mark.slow
def test_equal_arguments_are_all_that_is_known(tmp_path: Path) -> None:
    """Other arguments, or another function of the same text, are another value."""
    for old, new in (("silu(x[i ^ 1], 2) * 3", "silu(3 * x[i ^ 1], 2)"), ("bits(a[i], bits", "bits(a[i] * 3, bits")):
        assert solve(sketch_of(tmp_path, TEXT.replace(old, new, 1))).status == "unsat"


def test_the_text_is_part_of_the_question(tmp_path: Path) -> None:
    def key_of(text: str) -> str:
        sketch = sketch_of(tmp_path, text)
        return key(sketch, Meaning.of(sketch.program, sketch.spec), Limits())

    assert key_of(TEXT) == key_of(TEXT + "\n") != key_of(TEXT.replace("__popc(x)", "__clz(x)"))


def test_what_fails_is_no_number(active: Sketch) -> None:
    """As an infinity or a NaN is in C++; of integers it is an error."""
    spec: Any = active.spec.function
    y, _ = spec(np.full(2, -1e4), np.zeros(2, np.uint32))
    assert np.isnan(y).all()


@needs_gcc
def test_the_printed_text_computes_the_specification(active: Sketch) -> None:
    solution = solve(active).best

    def wanted(given: Any) -> Any:
        return numbers(solution.program, active.spec, given)

    for trial in trials(solution.program, wanted, lambda given: solution(*given), 0):
        assert trial.equal, trial


@needs_gcc
def test_a_text_that_is_none_is_the_users_mistake(tmp_path: Path) -> None:
    solution = solve(sketch_of(tmp_path, TEXT.replace("__popc(x) + k;", "__popc(x) + l;"))).best
    arrays = [np.zeros(128, kind) for kind in ("f4", "u4", "f4", "i4")]
    with pytest.raises(SwizzleError, match=r"the C\+\+ text of bits does not compile: .*l.* was not declared"):
        solution(*arrays)


@needs_cuda
def test_a_text_that_the_compiler_refuses_is_told(tmp_path: Path) -> None:
    posed = sketch_of(tmp_path, TEXT.replace("__popc(x) + k;", "__popc(x) + l;"))
    program = solve(posed).best.program
    with pytest.raises(
        SwizzleError, match=r'cuda.external does not compile (.|\n)*identifier "l"(.|\n)*fix the text of'
    ):
        check_emitted(FilledKernel(program, posed.spec, (), sizes_of(program, posed, posed.spec)))


@needs_cuda
def test_the_ptx_is_the_specification(active: Sketch) -> None:
    """For every block of every length; and is not, where arguments are exchanged or another function is called."""
    program = solve(active).best.program
    sizes, meaning = sizes_of(program, active), Meaning.of(program, active.spec)
    source = cuda_source(program, origin(program), sizes)
    validator: Any = TileValidator(program, sizes, meaning.wanted, WrittenOut(meaning.terms, program.parameters))

    def verdict(old: str, new: str) -> str:
        text, count = re.subn(old, new, source.text)
        assert count, source.text
        return str(validator.validate(compile_to_ptx(with_opaque_calls(text), "sm_90"), source.entry).verdict)

    assert verdict("^", "") == "equal"
    assert verdict(r"silu_f32\(v, 2\.0f\)", "silu_f32(2.0f, v)") == "different"
    assert verdict(r"silu_f32\(v, 2\.0f\), 1", "silu_f32(v, 2.0f), 2") == "different"
    assert verdict(r"\+ 1u, 2\)", "+ 1u, 3)") == "different"
    assert verdict(r"float silu_f32\(float x, float beta\)", "float silu_f32(float x, double beta)") == "unknown"
