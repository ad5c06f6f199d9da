"""Functions on words in modules for numba.cuda: what they compute, that they are read back, and only as printed."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cuda_out.numba.compiling import why_not_compiled
from cuda_out.numba.module_text import NotPrinted, read_module
from cuda_out.numba.printer import print_numba
from swizzle import accumulator, cuda, i32, scan_operator, serial, sketch, spec, u64
from swizzle.answers.checking.numba_text import NumbaChecks
from swizzle.answers.checking.trial import LaunchSize
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.status import CheckStatus
from swizzle.language.specs.specification import numbers
from swizzle.sketches.sketch import Sketch
from tests.cuda_out.numba_stand_in import module
from tests.swizzle.operators import loops


@serial
def rising(x: i32):  # type: ignore[no-untyped-def]
    last, ok = -(2**31), True
    for v in x:
        ok = ok and last <= v
        last = v
    return ok


runs, sorted_, widths = (scan_operator(each) for each in (loops.best_run, rising, loops.spread))


@sketch(spec=lambda x: [runs.result(*runs.scan(x)[-1])], block=32, x=i32[64], y=i32.out[1])
def runs_kernel(x, y):  # type: ignore[no-untyped-def]
    mine = accumulator(runs)
    for k in range(2):
        mine.accumulate(runs.lift(x[2 * cuda.laneid + k]))
    s = mine.value
    for k in range(5):
        s = runs.combine(s, cuda.shfl_down_sync(cuda.FULL_MASK, s, 1 << k))
    if cuda.laneid == 0:
        y[0] = runs.result(s)


@sketch(spec=lambda x: [sorted_.result(*sorted_.scan(x)[-1])], block=1, x=i32[8], y=i32.out[1])
def sorted_kernel(x, y):  # type: ignore[no-untyped-def]
    s = sorted_.lift(x[0])
    for k in range(1, 8):
        s = sorted_.combine(s, sorted_.lift(x[k]))
    y[0] = sorted_.result(s)


@spec
def prefixes(x):  # type: ignore[no-untyped-def]
    return [widths.result(*words) for words in widths.scan(x)]


@sketch(spec=prefixes, block=32, x=u64[32], y=u64.out[32])
def spread_combine_n(x, y):  # type: ignore[no-untyped-def]
    """Its name is that of a function on words."""
    s = widths.lift(x[cuda.laneid])
    for k in range(5):
        before = cuda.shfl_up_sync(cuda.FULL_MASK, s, 1 << k)
        s = widths.combine(before, s) if cuda.laneid >= 1 << k else s
    y[cuda.laneid] = widths.result(s)


def checks_of(kernel: Sketch) -> NumbaChecks:
    filled = FilledKernel(kernel.program, kernel.spec, (), None)
    checks = NumbaChecks(filled, [LaunchSize(filled, ())], "numba.py")
    checks.architectures = ("sm_80",)
    return checks


@pytest.mark.parametrize("kernel", [runs_kernel, sorted_kernel, spread_combine_n], ids=lambda each: each.name)
def test_kernels_compute_and_are_read_back(kernel: Sketch) -> None:
    """On the stand-in, bit for bit, and in terms; no function may be another one."""
    (given, out), rng, checks = kernel.program.parameters, np.random.default_rng(1), checks_of(kernel)
    dtype = np.uint64 if given.dtype.value == "u64" else np.int32
    source = checks.printed
    for _ in range(3):
        data = rng.integers(0 if dtype is np.uint64 else -9, 9, given.shape).astype(dtype) * dtype(2**58 % 2**31 + 1)
        data = np.sort(data) if rng.integers(2) else data
        found = np.zeros(out.shape, dtype)
        module(source.text)[source.launcher](data, found)
        assert found.tolist() == numbers(kernel.program, kernel.spec, {given.name: data})[out.name].tolist()
    assert [part.status for part in checks.check(source.text)] == [CheckStatus.EQUAL, CheckStatus.EQUAL]
    device = [name for name in source.device if source.text.count(f"{name}(") > 1]
    for name in device:
        wrong = re.sub(rf"(def {name}\(.*?return \w+)\(", r"\1(1 + ", source.text, count=1, flags=re.S)
        assert wrong != source.text and checks.check(wrong)[0].status != CheckStatus.EQUAL


@pytest.mark.skipif(why_not_compiled() != "", reason=why_not_compiled())
def test_a_function_of_another_name_is_the_same() -> None:
    """What a name says counts only where two functions have one text, as lift's words of a best run have."""
    source = print_numba(runs_kernel.program)
    renamed = source.text.replace("best_run_combine_here(", "here_of_both(")
    assert checks_of(runs_kernel).check(renamed)[0].status == CheckStatus.EQUAL
    with pytest.raises(NotPrinted, match="is not what is printed"):
        read_module(renamed.replace("def here_of_both(", "def max("), source, runs_kernel.program)
