"""A device-wide scan: its kernels, checked, and how they are run on arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as replaced
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.c.printer import MAX_BLOCKS
from cuda_out.compile.launch import gpu_available, launch
from cuda_out.emulate.emulate import emulate
from cuda_out.tiling.tiling import Tiling
from swizzle.answers.device_scans.kernels import (
    KINDS,
    LOOK_BACK_KINDS,
    THREADS,
    TILE,
    Kind,
    Level,
    PassKernel,
    backward_source,
    kernel_of,
)
from swizzle.answers.device_scans.look_back import look_back_source
from swizzle.answers.device_scans.plan import composition, launches, look_back_composition
from swizzle.answers.emit.any_length.conditions import any_length
from swizzle.answers.emit.calling import call, views_of
from swizzle.language.operators import ScanOperator
from swizzle.language.specs.specification import Remembered
from swizzle.language.specs.verify import explain_mismatch, verify
from swizzle.operators import Found
from swizzle.operators.carrier import Carrier
from swizzle.operators.derived import Given
from swizzle.operators.derived import reversed as reversed_operator
from swizzle.operators.scan_operators import proved, scan_operator_of
from swizzle.solving.solution.solution import Solution
from symbolic.algebra.numbers import NUMPY_DTYPES
from symbolic.errors import SwizzleError
from symbolic.ir.program import DType

Form: TypeAlias = Literal["three-pass", "look-back"]
"""Whether totals are scanned by kernels of their own, or blocks look back for the words of those before them."""


class Checked(Struct, frozen=True, eq=False):
    """A kernel that equals its specification, for all inputs and at every length; `outputs` were compared.

    What has no `tiling` scans two parts, and is the part of another kernel that scans any number.
    """

    kernel: PassKernel
    tiling: Tiling | None
    spec: Remembered
    outputs: int
    solution: Solution

    @property
    def name(self) -> str:
        return self.kernel.program.name


class DeviceScan(Struct, frozen=True, eq=False):
    """A scan of any length: call it on the arrays of elements, then on those for the results, which it fills.

    `y[i]` becomes what the serial loop returns after elements 0 to i, or, `backward`, after elements i to the last one.
    All arrays are NumPy's, or all on a GPU.
    """

    found: Found
    operator: ScanOperator
    levels: tuple[Level, ...]
    kernels: Mapping[tuple[bool, Kind], Checked]
    composition: Mapping[str, str]
    form: Form = "three-pass"
    backward: bool = False

    @property
    def name(self) -> str:
        return self.operator.name

    @property
    def distinct(self) -> tuple[Checked, ...]:
        """The kernels, each once: where elements are words, those of elements are those of words."""
        return tuple(dict.fromkeys(self.kernels.values()))

    def __call__(self, *arrays: Any, stream: Any = None) -> None:
        """Scan arrays of one length, in the order of the loop's elements and its results.

        Raises SwizzleError for arrays that do not fit.
        """
        level = self.levels[0]
        names = [*level.given, *level.made]
        if len(arrays) != len(names):
            raise SwizzleError(
                f"{self.name} is called with {len(arrays)} array{'s' * (len(arrays) != 1)}",
                expected=f"{len(names)}, in this order: {', '.join(names)}",
                fix=f"call {self.name}({', '.join(names)})",
            )
        lengths = [tuple(array.shape) for array in arrays]
        if len(set(lengths)) > 1 or len(lengths[0]) != 1:
            shown = ", ".join(f"{name} {shape}" for name, shape in zip(names, lengths, strict=True))
            raise SwizzleError(
                f"{self.name} is called with {shown}",
                expected="arrays of one length, each in one row",
                fix="pass arrays of one dimension, cut to the same length",
            )
        count = len(level.given)
        self._run(level, arrays[:count], arrays[count:], lengths[0][0], stream)

    def _run(self, level: Level, given: Sequence[Any], made: Sequence[Any], n: int, stream: Any) -> None:
        def launched(kind: Kind, *some: Any) -> None:
            call(self.kernels[level.lifts, kind].solution, some, stream)

        def cut(arrays: Sequence[Any], at: int, length: int) -> list[Any]:
            """Return so many elements in the order of the scan, from one on."""
            end = n - at if self.backward and level.lifts else at + length
            return [array[end - length : end] for array in arrays]

        if n == 0:
            return
        if n <= TILE:
            launched("first", *given, *made)
            return
        if self.form == "look-back":
            parts, left = n // TILE, n % TILE
            whole = n - left
            before = self._look_back(cut(given, 0, whole), cut(made, 0, whole), parts, stream)
            if left:
                launched("tail", *cut(given, whole, left), *before, *cut(made, whole, left))
            return
        totals, first, rest, tail = launches(n)
        total, before = (self._words(totals.length, given[0]) for _ in range(2))
        launched("totals", *cut(given, 0, totals.length * TILE), *total)
        self._run(self.levels[-1], total, before, totals.length, stream)
        launched("first", *cut([*given, *made], 0, first.length))
        for each in (rest, tail):
            if each.length:
                of = TILE if each.kind == "rest" else 1
                some = cut([*given, *made], each.at, each.length * of)
                words = [word[each.before : each.before + (each.length if of > 1 else 1)] for word in before]
                launched(each.kind, *some[: len(given)], *words, *some[len(given) :])

    def _look_back(self, given: Sequence[Any], made: Sequence[Any], parts: int, stream: Any) -> list[Any]:
        """Scan so many whole parts in one launch; return arrays with the words of all of them."""
        if parts > MAX_BLOCKS["x"]:
            raise SwizzleError(
                f"{self.name} would need {parts} blocks", expected=f"at most {MAX_BLOCKS['x']}",
                fix="split the arrays, and call it once for each part",
            )  # fmt: skip
        program = self.kernels[True, "linked"].kernel.program
        own = tuple(p for p in program.parameters if p.name in (*self.levels[0].given, *self.levels[0].made))
        views_of(replace(program, parameters=own), [*given, *made])
        source = look_back_source(self.kernels[True, "linked"].kernel, backward=self.backward)
        zeros = self._arrays([(1, DType.U32), (parts, source.told)], given[0])
        handed = self._arrays([*((parts, dtype) for dtype in source.handed), *((1, d) for d in source.words)], given[0])
        arguments = [*given, *made, *zeros, *handed]
        if isinstance(given[0], np.ndarray) and not gpu_available()[0]:
            emulate(source.text, source.entry, (parts, 1, 1), (THREADS, 1, 1), arguments)
        else:
            grid, block = (parts, 1, 1), (THREADS, 1, 1)
            launch(source.text, source.entry, grid, block, arguments, stream=stream, alignment=source.alignment)
        return handed[-len(source.words) :]

    def _words(self, count: int, like: Any) -> list[Any]:
        """Return arrays for words, where the given one is."""
        return self._arrays([(count, dtype) for dtype in self.operator.words.values()], like)

    @staticmethod
    def _arrays(wanted: Sequence[tuple[int, DType]], like: Any) -> list[Any]:
        """Return arrays of zeros, where the given one is."""
        zeros: list[Any] = [np.zeros(count, NUMPY_DTYPES[dtype]) for count, dtype in wanted]
        if isinstance(like, np.ndarray):
            return zeros
        from numba import cuda

        return [cuda.to_device(each) for each in zeros]


def device_scan(given: Given, form: Form = "three-pass", *, backward: bool = False) -> DeviceScan:
    """Make a scan of a serial loop, or by an operator, and check its kernels: for all inputs, at every length.

    In the form 'look-back' one kernel scans all whole parts, whose blocks hand each other the words of parts. A scan
    that goes `backward` gives for each element what the loop returns of all from it to the last one, in their order.

    Raises SwizzleError where no operator of the loop is proved, or its words cannot be printed.
    """
    if form not in get_args(Form):
        raise SwizzleError(
            f"a scan of the form {form!r}", expected=" or ".join(map(repr, get_args(Form))), fix="leave out form="
        )
    found = proved(given)
    assert found.carrier is not None
    operator = scan_operator_of(_of_the_scan(found, form, backward=backward))
    if not operator.words or not operator.result.values:
        raise SwizzleError(
            f"{found.loop.name} has no {'words' if operator.result.values else 'result'}",
            place=found.loop.place,
            expected="a loop whose result depends on its elements",
            fix="store or return what the loop computes of its elements",
        )
    elements, words = Level.of_elements(operator), Level.of_words(operator)
    levels = (elements,) if elements.plain and not backward else (elements, words)
    if form == "look-back":
        levels, kinds, verdicts = (elements,), LOOK_BACK_KINDS, look_back_composition()
    else:
        kinds, verdicts = KINDS, composition()
    kernels = {(level.lifts, kind): checked(kernel_of(level, kind)) for level in levels for kind in kinds}
    for (lifts, kind), each in kernels.items():
        if backward and lifts and kind != "linked":
            each.solution._made["tiled"] = backward_source(each.kernel, each.tiling)
            each.solution._made["fixed"] = backward_source(each.kernel, None)
    assert set(verdicts.values()) == {"proved"}, f"the words of a scan's kernels do not fit together: {verdicts}"
    return DeviceScan(found, operator, levels, kernels, verdicts, form, backward)


def _of_the_scan(found: Found, form: Form, *, backward: bool) -> Carrier:
    """Return a scan's operator, under a name that the loop's other scans have not: all may be in one program.

    In a scan from the end, results are still those of words in their order.
    """
    carrier = proved(reversed_operator(found)).carrier if backward else found.carrier
    assert carrier is not None
    name = found.loop.name + "_backward" * backward + "_look_back" * (form == "look-back")
    return replaced(carrier, loop=replaced(carrier.loop, name=name))


def checked(kernel: PassKernel) -> Checked:
    """Verify a kernel for all inputs and at every length; what fails is a bug of ours."""
    spec = Remembered(kernel.spec)
    verdict = verify(kernel.program, spec)
    assert verdict.equal, explain_mismatch(kernel.program, kernel.spec)
    if kernel.kind == "linked":
        return Checked(kernel, None, spec, verdict.elements, Solution(kernel.program, (), {}, None, None))
    tiling = any_length(kernel.program, spec)
    assert isinstance(tiling, Tiling), str(tiling)
    solution = Solution(kernel.program, (), {}, None, None, {"sizes": tiling})
    return Checked(kernel, tiling, spec, verdict.elements, solution)
