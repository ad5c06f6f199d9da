"""Mutants of mends: patched texts with one thing wrong, and kernels in which an array escapes. All must be refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.syntax import NotInterpreted
from swizzle.strangers.doctor.diagnosis import ArrayFindings, Doctor
from swizzle.strangers.doctor.mends import Mend
from swizzle.strangers.doctor.patch import patched
from swizzle.strangers.doctor.shared import SharedArray, array_uses, shared_arrays
from swizzle.strangers.reading.compiled import compiled, entry_of
from swizzle.strangers.reading.launch import chosen_kernel
from swizzle.strangers.reading.run import Inputs
from swizzle.strangers.reading.text import CudaText, replaced

_FUNCTION = re.compile(r"unsigned (\w+)\(([^)]*)\) \{\n    return (.*);\n\}")


class Mutant(Struct, frozen=True):
    """A text with one thing wrong, in words."""

    what: str
    text: str


class Patient:
    """A kernel with its run, and each of its mends with the patched text."""

    def __init__(self, text: str) -> None:
        self.doctor = Doctor(CudaText("kernel.cu", text))
        self.diagnosis = self.doctor.diagnose()
        self.ran = self.doctor.ran
        self.mended = [
            (each, mend, patched(self.doctor.text, self.doctor.kernel, {each.array: mend}))
            for each in self.diagnosis.arrays
            for mend in each.mends
            if each.array is not None
        ]

    def refused(self, each: ArrayFindings, mend: Mend, text: str) -> str:
        """Return why a patched text is not taken, '' if it is."""
        return self.doctor.proved(self.ran, text, {each.region: (each.asked.tile, mend)})[0]


def of_patch(each: ArrayFindings, mend: Mend, text: str) -> Iterator[Mutant]:
    """Yield mutants of one patched text."""
    yield from _of_formula(each, text)
    array = each.array
    assert array is not None
    (now,) = [a for a in shared_arrays(CudaText("kernel.cu", text)) if (a.name, a.owner) == (array.name, array.owner)]
    yield from _of_uses(each, array, now, text)
    for match in re.finditer(r"__sync(threads|warp)\(\);", text):
        yield Mutant(f"without barrier {match.start()}", text[: match.start()] + text[match.end() :])
    begin, end = now.dims[0]
    yield Mutant("an array that is too short", f"{text[:begin]}({text[begin:end]}) / 2{text[end:]}")


def _of_formula(each: ArrayFindings, text: str) -> Iterator[Mutant]:
    found = _FUNCTION.search(text)
    if found is None:
        return
    formula, at = found[3], found.start(3)
    names = [word.split()[1] for word in found[2].split(", ")]
    changes = [(m.start(), m.end(), new) for m in re.finditer(r" ([\^+|&*]|>>|<<) ", formula) for new in _OTHERS[m[1]]]
    changes += [(m.start(), m.end(), str(int(m[0]) + d)) for m in re.finditer(r"\b\d+\b", formula) for d in (-1, 1, 3)]
    changes += [(m.start(), m.end(), n) for m in re.finditer(r"\b[a-z]\b", formula) for n in names if n != m[0]]
    listed = re.search(rf"\b{found[1]}_table\[\d+\] = \{{([^}}]*)\}}", text)
    table = tuple(map(int, listed[1].split(","))) if listed else ()
    wanted = _table(formula, names, each, table)
    for begin, end, new in changes:
        other = formula[:begin] + new + formula[end:]
        if _table(other, names, each, table) != wanted:
            yield Mutant(f"formula {other}", text[:at] + other + text[at + len(formula) :])


_OTHERS = {
    "^": (" | ", " + ", " & "), "+": (" ^ ", " | "), "|": (" ^ ",), "&": (" | ", " ^ "), "*": (" + ",),
    ">>": (" << ",), "<<": (" >> ",),
}  # fmt: skip


def _table(formula: str, names: list[str], each: ArrayFindings, table: tuple[int, ...]) -> list[object]:
    """Return what a formula gives at every cell that an access begins at: no other subscripts are ever asked."""
    meant = re.sub(r"\b\w+_table\[", "table[", formula.replace("/", "//"))
    shape, found = each.asked.tile.shape, list[object]()
    begun = np.concatenate([access.offsets.reshape(-1) for access in each.asked.accesses])
    for cell in np.unique(begun[begun >= 0] // each.asked.tile.element).tolist():
        places, rest = [], cell
        for size in reversed(shape):
            places.insert(0, rest % size)
            rest //= size
        try:
            found.append(eval(meant, {"table": table}, dict(zip(names, places, strict=True))) & 0xFFFFFFFF)
        except (ValueError, IndexError):  # a negative shift, or beyond the table
            found.append(None)
    return found


def _of_uses(each: ArrayFindings, array: SharedArray, now: SharedArray, text: str) -> Iterator[Mutant]:
    """Take the mend back at one use, or ask for another cell there."""
    at = CudaText("kernel.cu", text)
    pitch = each.asked.tile.shape[-1]
    for number, use in enumerate(array_uses(at, now)):
        first, last = use.subscripts[0][0], use.subscripts[-1][1]
        inside = text[first:last]
        call = re.fullmatch(r"(\w+_cell)\((.*)\)", inside, re.S)
        if call is None:  # a pitch: subscripts are as they were
            plain = " + ".join(f"({text[a:b]}) * {pitch if k == 0 else 1}" for k, (a, b) in enumerate(use.subscripts))
            old = {
                "the old pitch": f"(&{array.name}[0][0])[{plain}]",
                "the cell before": f"(&{text[use.begin : use.end]})[-1]",
            }
            for what, new in old.items():
                yield Mutant(f"{what} at use {number}", replaced(text, [(use.begin, use.end, new)]))
            continue
        begin = first + call.start(2)
        parts = [text[a:b].strip() for a, b in at.split(begin, begin + len(call[2]))]
        plain = f"({parts[0]})" if len(parts) == 1 else f"({parts[0]}) * {pitch} + ({parts[1]})"
        changed = {
            "the old cell": f"[{plain}]",
            "the cell before": f"[{call[1]}({', '.join(parts)}) - 1]",
            "the next subscript": f"[{call[1]}({', '.join(parts)} + 1)]",
        }
        if len(parts) > 1 and parts[0] != parts[1]:
            changed["subscripts exchanged"] = f"[{call[1]}({parts[1]}, {parts[0]})]"
        for what, new in changed.items():
            yield Mutant(f"{what} at use {number}", replaced(text, [(first - 1, last + 1, new)]))
        by_pointer = f"*(&{array.name}[0] + ({plain}))"
        yield Mutant(f"the old cell by a pointer at use {number}", replaced(text, [(use.begin, use.end, by_pointer)]))


def with_escapes(patient: Patient) -> Iterator[Mutant]:
    """Yield the kernel as it was, but for one use of an array with conflicts that goes by a pointer."""
    text = patient.doctor.text
    for each in patient.diagnosis.arrays:
        if each.array is None or not each.mends:
            continue
        name, pitch = each.array.name, each.asked.tile.shape[-1]
        for number, use in enumerate(array_uses(text, each.array)):
            parts = [text.text[a:b] for a, b in use.subscripts]
            if len(parts) == 1:
                forms = [f"(&{name}[0])[{parts[0]}]", f"*({name} + ({parts[0]}))", f"({parts[0]})[{name}]"]
            else:
                row, column = parts
                forms = [
                    f"(&{name}[0][0])[({row}) * {pitch} + ({column})]", f"(*({name} + ({row})))[{column}]",
                    f"(&{name}[{row}][0])[{column}]", f"*({name}[{row}] + ({column}))",
                ]  # fmt: skip
            for form in forms:
                yield Mutant(f"{name} by {form} at use {number}", replaced(text.text, [(use.begin, use.end, form)]))


def escape_is_refused(text: str) -> bool:
    """Say whether the doctor leaves a kernel alone; or, where it follows the pointer, whether the patched kernel writes
    the same numbers. That is asked of a run on numbers, which shares nothing with the proof."""
    patient = Doctor(CudaText("kernel.cu", text))
    try:
        patched = patient.diagnose().patched
        return not patched or _written(patient, text) == _written(patient, patched)
    except (Broken, NotInterpreted):
        return True


def _written(patient: Doctor, text: str) -> dict[str, list[int]]:
    """Return what a kernel writes into its arrays, given some numbers."""
    now = CudaText("kernel.cu", text)
    ptx = compiled(now, chosen_kernel(now, patient.kernel.name)[0])
    ran = Inputs(patient.arguments, patient.launch, example=True).run(entry_of(ptx, patient.kernel))
    return {name: region.bits.tolist() for name, region in ran.machine.arrays.items()}
