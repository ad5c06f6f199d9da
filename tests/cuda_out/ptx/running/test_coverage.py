"""Every operator of the language on every data type, as each architecture's compiler has it: interpreted, on numbers
and on terms. What is not shown equal is listed here, so that the list can only get shorter unnoticed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cuda_out.compile.toolchain import available_tools
from cuda_out.ptx.running.validate import validate
from swizzle import load
from symbolic.algebra.terms import Terms
from symbolic.ir.program import Program
from tests.cuda_out.ptx.kernels import compiled, machine_terms
from tests.cuda_out.ptx.running.test_run import agrees
from tests.slow_cases import slow_unless

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

DTYPES = ("f16", "f32", "f64", "i32", "u32", "i64", "u64")
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")
HEAD = "from swizzle import *\n@spec\ndef nothing(x, z, w):\n    return [0] * 64\n"
KERNEL = """
@sketch(spec=nothing, block=32, x={dtype}[64], z={dtype}[64], w={dtype}.const[4], {outputs})
def {name}(x, z, w, {names}):
    i = cuda.laneid
    tile = cuda.shared.array(64, {dtype})
    mine = cuda.local.array(2, {dtype})
    for r in range(2):
        tile[2 * i + r] = x[i + 32 * r]
    cuda.syncthreads()
    for r in range(2):
        mine[r] = tile[(2 * i + r + 5) % 64]
{stores}"""


def expressions(dtype: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of one expression for each operator, over x[i], z[i], w and the register array
    `mine`, loaded from shared memory."""
    yield "moved", "mine[0] + mine[1]"
    yield from (("add", "x[i] + z[i]"), ("subtract", "x[i] - z[i]"), ("multiply", "x[i] * z[i]"), ("negate", "-x[i]"))
    yield from (("least", "min(x[i], z[i])"), ("most", "max(x[i], z[i])"), ("magnitude", "abs(x[i])"))
    yield from (("fused", "x[i] * z[i] + w[1]"), ("polynomial", "x[i] * 3 - z[i] * z[i + 1]"))
    yield from (("chosen", "x[i] if i % 3 == 0 else z[i]"), ("index", f"{dtype}(i) * x[i]"))
    yield "shuffle", "cuda.shfl_sync(cuda.FULL_MASK, x[i], (i + 5) % 32)"
    yield "shuffle_xor", "cuda.shfl_xor_sync(cuda.FULL_MASK, x[i], 3)"
    yield "shuffle_down", "cuda.shfl_down_sync(cuda.FULL_MASK, x[i], 3)"
    for other in DTYPES:
        if other != dtype:  # what a negative float is as an unsigned number, nobody says
            some = "abs({})" if other.startswith("u") and dtype.startswith("f") else "{}"
            yield f"to_{other}", f"{other}({some.format('x[i]')})"
            yield f"through_{other}", f"{dtype}({other}({some.format('x[i] + z[i]')}))"
    if dtype.startswith("f"):
        yield from (("divide", "x[i] / z[i]"), ("divide_by_3", "x[i] / 3"), ("halve", "x[i] * 0.5 + 1"))
        return
    yield from (("both", "x[i] & z[i]"), ("either", "x[i] | z[i]"), ("differ", "x[i] ^ z[i]"), ("inverse", "~x[i]"))
    yield from (("left", "x[i] << 3"), ("right", "x[i] >> 3"), ("field", "x[i] >> 4 & 15"))
    yield "mixed", "(x[i] & z[i]) ^ (x[i] | 5) & ~z[i + 1]"
    bits = int(dtype[1:])
    if dtype.startswith("u"):
        yield "rotate", f"x[i] << 7 | x[i] >> {bits - 7}"
    yield from (("floor_div", "x[i] // z[i]"), ("floor_mod", "x[i] % z[i]"))
    for divisor in (1, 2, 3, 5, 7, 8, 10) if dtype.startswith("u") else (1, 2, 3, 7, 8, 10, -1, -2, -3, -8):
        yield f"floor_div_by_{divisor}", f"x[i] // {divisor}"
        yield f"floor_mod_by_{divisor}", f"x[i] % {divisor}"


def is_shown(dtype: str, name: str) -> bool:
    """Tell whether the terms are recognised: a quotient of 64 bits by data is a function with branches."""
    return not (dtype in ("u64", "i64") and name in ("floor_div", "floor_mod"))


def kernel(dtype: str, name: str, chosen: list[tuple[str, str]], folder: Path) -> Program:
    """Return a kernel that stores each expression into an array of its own."""
    outputs = {n: n.removeprefix("to_") if n.startswith("to_") else dtype for n, _ in chosen}
    spelled = {n: f"y_{n.replace('-', 'minus_')}" for n in outputs}
    path = folder / f"{dtype}_{name}.py"
    text = HEAD + KERNEL.format(
        dtype=dtype,
        name=name,
        outputs=", ".join(f"{spelled[n]}={result}.out[32]" for n, result in outputs.items()),
        names=", ".join(spelled.values()),
        stores="".join(f"    {spelled[n]}[i] = {expression}\n" for n, expression in chosen),
    )
    path.write_text(text, encoding="utf-8")
    return load(path, name, {})[0].program


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("dtype", "arch"),
    slow_unless(
        ((dtype, arch) for dtype in DTYPES for arch in ARCHITECTURES),
        lambda case: case[1] == "sm_80" and case[0] not in ("u64", "i64"),
    ),
)
def test_every_operator_is_interpreted(dtype: str, arch: str, tmp_path: Path) -> None:
    """On numbers as the reference interpreter has it, on terms as the machine has it."""
    every = list(expressions(dtype))
    shown = [each for each in every if is_shown(dtype, each[0])]
    hidden = [each for each in every if not is_shown(dtype, each[0])]
    program, terms = kernel(dtype, "shown", shown, tmp_path), Terms()
    source, ptx = compiled(program, arch)
    agrees(program, arch)
    found = validate(program, ptx, source.entry, machine_terms(program, terms), terms)
    assert (found.verdict, found.findings) == ("equal", ())
    for one in hidden if arch == "sm_80" else ():
        program, terms = kernel(dtype, "hidden", [one], tmp_path), Terms()
        source, ptx = compiled(program, arch)
        agrees(program, arch)
        found = validate(program, ptx, source.entry, machine_terms(program, terms), terms)
        assert found.verdict in ("different", "unknown") and not found.broken, one
