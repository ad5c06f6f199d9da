"""Multiplication of polynomials over GF(2) and in the fields GF(2^32) to GF(2^384) (paper, section 7.2).

Data is bit-sliced, as Ben-Sasson's kernels and ours take it: word p of a group holds coefficient p of 32 elements. The
rival of today takes limbs instead; its arrays are made from the same data, untimed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bench.gpu.contenders import Setup, solved, written
from bench.gpu.kernels import Kernel, Lengths, by_hand
from bench.gpu.missing import Missing
from bench.gpu.problem import Array, ArraySpec, Bound, Case, Contender, Problem
from bench.gpu.solved import Sketch, sketch

if TYPE_CHECKING:
    from bench.gpu.backend import Backend, Buffer

POLYNOMIALS = (32, 64)
EXPONENTS = {
    32: (7, 3, 2),
    64: (4, 3, 1),
    96: (10, 9, 6),
    128: (7, 2, 1),
    192: (7, 2, 1),
    256: (10, 5, 2),
    320: (4, 3, 1),
    384: (12, 3, 2),
}
"""The fields of case_studies/field.py: modulo x^degree + x^R + x^S + x^T + 1."""


def cases(setup: Setup) -> Iterator[Case]:
    for degree in POLYNOMIALS:
        yield _case(setup, "Multiplication of polynomials, coefficients", degree, field=False)
    for degree in EXPONENTS:
        yield _case(setup, "Field multiplication, degree", degree, field=True)


def _case(setup: Setup, group: str, degree: int, *, field: bool) -> Case:
    return Case(
        group,
        degree,
        partial(problem, degree, field),
        partial(expected, degree, field),
        # One group of 32 elements is what a warp takes.
        tuple({"x": groups * degree} for groups in (1, 5)),
        partial(full, degree),
        partial(sketches, degree, field),
        partial(contenders, setup, degree, field),
        "products",
    )


def problem(degree: int, field: bool, lengths: Lengths) -> Problem:
    words = lengths["x"]
    outputs = words if field else 2 * words
    arrays = (
        ArraySpec("a", "uint32", (words,), "in"),
        ArraySpec("b", "uint32", (words,), "in"),
        ArraySpec("c", "uint32", (outputs,), "out"),
    )
    groups = words // degree
    # Bit-sliced schoolbook: an and and an exclusive or, one operation of a GPU, for each pair of coefficients.
    return Problem(lengths, arrays, 32 * groups, {"and-xors": degree * degree * groups})


def full(degree: int, bytes_: int) -> Lengths:
    """Each input a quarter of so many bytes: with more words to a product there are fewer products."""
    return {"x": bytes_ // 16 // degree * degree}


def expected(degree: int, field: bool, arrays: Mapping[str, Array]) -> Array:
    a, b = (arrays[name].reshape(-1, degree) for name in ("a", "b"))
    found = np.zeros((len(a), 2 * degree), np.uint32)
    for p in range(degree):
        found[:, p : p + degree] ^= a[:, p : p + 1] & b
    if field:
        for s in range(2 * degree - 1, degree - 1, -1):
            for exponent in (*EXPONENTS[degree], 0):
                found[:, s - degree + exponent] ^= found[:, s]
        found = found[:, :degree]
    return found.reshape(-1)


def sketches(degree: int, field: bool) -> dict[str, list[Sketch]]:
    """Return our kernels by name."""
    if field:
        return {
            f"ours: {name}": [sketch(f"case_studies/field.py:{name}", degree=degree)] for name in ("register", "shared")
        }
    file = f"case_studies/mult{degree}.py"
    found = {f"ours: {name}": [sketch(f"{file}:{name}")] for name in ("register", "shared")}
    return found | {"ours: product of chunks": [sketch("case_studies/field.py:product", degree=degree)]}


def contenders(setup: Setup, degree: int, field: bool) -> list[Contender]:
    plainest = Contender("integer multiplications", False, [OnLimbs(degree, field)])
    ours = [solved(setup, name, variants) for name, variants in sketches(degree, field).items()]
    checkout = [
        written(f"Ben-Sasson: {form}", partial(ben_sasson, setup, degree, field, form))
        for form in ("register", "shared")
    ]
    return [plainest, *ours, *checkout]  # the checkout last: its barriers are older than today's GPUs


def ben_sasson(setup: Setup, degree: int, field: bool, form: str) -> dict[str, Kernel]:
    """Return the kernel of a checkout of HamilM/GpuBinFieldMult, in one of its two forms."""
    folder = setup.checkout("field", "ChunkPOC.cuh", "--field-mult")
    if not field and degree != 64:
        raise Missing("it has no product of polynomials of this degree that is a kernel")
    if field and degree % 64:
        raise Missing("its elements take a multiple of 64 words")
    r, s, t = EXPONENTS[degree]
    defines: dict[str, int | str] = {"D": degree, "FIELD": int(field), "R": r, "S": s, "T": t}
    if form == "register":
        defines["SHUFFLE"] = 1
    group = 32 if not field and form == "register" else 64 if not field else degree // 2  # threads
    groups = 1024 // group  # of a block
    kernel = by_hand(
        "ben_sasson.cu", "ben_sasson", groups * group, "abc", (groups * degree,), includes=(folder,), **defines
    )
    return {"as it comes": kernel}


@dataclass(frozen=True, slots=True)
class OnLimbs:
    """Carry-less multiplication from integer multiplications, on limbs."""

    degree: int
    field: bool

    @property
    def label(self) -> str:
        return "a thread for each product"

    @property
    def kernels(self) -> Sequence[Kernel]:
        degree = self.degree
        r, s, t = EXPONENTS[degree]
        entry = "field" if self.field else "polynomials"
        outputs = degree if self.field else 2 * degree
        return (
            by_hand("multiply.cu", entry, 128, "abc", (4,), D=degree, R=r, S=s, T=t),
            by_hand("tools.cu", "to_limbs", 32, "xy", (1,), WORDS=degree),
            by_hand("tools.cu", "from_limbs", 32, "xy", (1,), WORDS=outputs),
        )

    def bind(self, backend: Backend, problem: Problem, buffers: Mapping[str, Buffer]) -> Bound:
        kernel, to_limbs, from_limbs = self.kernels
        groups = {"x": problem.lengths["x"] // self.degree}
        count = np.int64(groups["x"])
        limbs = {name: backend.empty(buffers[name].shape, "uint32") for name in ("a", "b", "c")}
        slice_ = backend.load(to_limbs)
        for name in ("a", "b"):
            slice_(to_limbs.grid(groups), [buffers[name], limbs[name], count])
        loaded, back = backend.load(kernel), backend.load(from_limbs)
        grid = kernel.grid(groups)

        def release() -> None:
            for each in limbs.values():
                backend.release(each)

        return Bound(
            lambda: loaded(grid, [limbs["a"], limbs["b"], limbs["c"], count]),
            lambda: back(from_limbs.grid(groups), [limbs["c"], buffers["c"], count]),
            release,
            loaded.about,
        )
