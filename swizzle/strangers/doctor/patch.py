"""The patch of a mend: what a file's text becomes, and the difference as `diff -u` shows it.

A longer pitch changes the declaration only. Every other layout becomes a device function before the kernel, an
array with one axis, and `tile[tile_cell(r, c)]` wherever the text says `tile[r][c]`: so subscripts are evaluated once,
and no operator's precedence matters.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

from swizzle.layouts.steps import Pad
from swizzle.strangers.doctor.mends import Mend, Tile, elements_of, is_pitch
from swizzle.strangers.doctor.shared import SharedArray, array_uses, check_rows
from swizzle.strangers.doctor.views import view_of
from swizzle.strangers.reading.text import CudaKernel, CudaText, replaced

_SIZE = """__device__ __forceinline__ unsigned {name}() {{
    unsigned bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return bytes;
}}
"""


def patched(
    text: CudaText, kernel: CudaKernel, mends: Mapping[SharedArray, Mend], *, touched: bool = False, views: bool = False
) -> str:
    """Return a file's text with arrays mended. Raises SwizzleError where one of them is used as a pointer.

    `touched`: nothing says how large dynamic shared memory is; it is at least what the kernel touched. `views`: arrays
    become views, which are subscripted as the arrays were (`views.py`).
    """
    changes: list[tuple[int, int, str]] = []
    helpers: dict[int, str] = {}
    for array, mend in mends.items():
        layout = mend.layout
        uses = [] if views else array_uses(text, array)
        if is_pitch(layout):
            if views:
                check_rows(text, array)
            (pad,) = layout.steps
            assert isinstance(pad, Pad)
            begin, end = array.dims[-1]
            said = text.text[begin:end].strip()
            longer = str(int(said) + pad.by) if said.isdigit() else f"{said} + {pad.by}"
            changes.append((begin, end, longer if re.fullmatch(r"\w+", said) else f"({said}) + {pad.by}"))
            continue
        name = new_name(text, f"{array.name}_cell")
        helpers[array.outside] = helpers.get(array.outside, "") + layout.cuda(name)
        behind, count = array.statement[1], elements_of(layout)
        if views:
            names = new_name(text, f"{array.name}_view"), view_cells(text, array)
            view = view_of(text, kernel, array, name, count, names)
            helpers[array.outside] += view.helper
            changes += view.changes
        if array.dynamic:
            size = new_name(text, f"{array.name}_bytes")
            helpers[array.outside] += _SIZE.format(name=size)
            differs = f"{'<' if touched else '!='} {prod(layout.shape) * layout.bits // 8}u"
            check = f" if ({size}() {differs}) __trap();  // {name} is made for this size"
            at = behind if is_local(array, kernel) else kernel.body
            changes.append((at, at, check))
        else:
            sizes = [
                (text.text[begin:end].strip(), n) for (begin, end), n in zip(array.dims, layout.shape, strict=True)
            ]
            if named := [f"({said}) == {n}" for said, n in sizes if not said.isdigit()]:  # the formula is for no other
                margin = re.search(r"[ \t]*$", text.text[: array.statement[0]])
                check = f'static_assert({" && ".join(dict.fromkeys(named))}, "{name} is made for this size");'
                changes.append((behind, behind, f"\n{margin[0] if margin else ''}{check}"))
            if not views:
                changes.append((array.dims[0][0] - 1, array.dims[-1][1] + 1, f"[{count}]"))
        for use in uses:
            # From the inside out: a subscript may hold another use, whose brackets are changed by themselves.
            first, last = use.subscripts[0][0], use.subscripts[-1][1]
            changes.append((first - 1, first, f"[{name}("))
            for (_, end), (begin, _) in zip(use.subscripts, use.subscripts[1:], strict=False):
                changes.append((end, begin, ", "))
            changes.append((last, last + 1, ")]"))
    for at, helper in helpers.items():
        changes.append((at, at, helper + "\n"))
    return replaced(text.text, changes)


def is_local(array: SharedArray, kernel: CudaKernel) -> bool:
    """Say whether an array is known in a function only, be it one of a class."""
    return array.owner != "" or not array.scope[0] <= kernel.body < array.scope[1]


def view_cells(text: CudaText, array: SharedArray) -> str:
    """Return the name of an array whose own name a view has."""
    return new_name(text, f"{array.name}_cells")


def new_name(text: CudaText, name: str) -> str:
    found, number = name, 1
    while re.search(rf"\b{found}\b", text.plain):
        found, number = f"{name}_{number}", number + 1
    return found


def difference(text: CudaText, new: str, name: str) -> str:
    """Return the patch as `diff -u` prints it, for `patch -p1`."""
    lines = difflib.unified_diff(
        text.text.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def questions(arrays: Sequence[SharedArray], kernel: CudaKernel) -> list[tuple[int, str]]:
    """Return what makes a compiler say the sizes of arrays, in comments of its PTX: texts to be added at offsets."""
    asked = []
    for number, array in enumerate(arrays):
        parts = [f"sizeof({array.name}{'[0]' * k})" for k in range(array.dynamic, len(array.dims) + 1)]
        operands = ", ".join(f'"n"((int){each})' for each in parts)
        words = " ".join(f"%{k}" for k in range(len(parts)))
        at = array.statement[1] if is_local(array, kernel) else kernel.body
        asked.append((at, f' asm volatile("// swizzle {number} {words}" :: {operands});'))
    return asked


def tiles_of(ptx: str, arrays: Sequence[SharedArray], dynamic: int) -> dict[SharedArray, Tile]:
    """Return the extents of arrays and the bytes of their elements, as a compiler answered; without it, none."""
    found: dict[SharedArray, Tile] = {}
    for line in re.findall(r"// swizzle ([\d ]+)", ptx):
        number, *sizes = (int(word) for word in line.split())
        array = arrays[number]
        element = sizes[-1]
        if element == 0 or (array.dynamic and dynamic % element):
            continue
        if array.dynamic:
            found[array] = Tile((dynamic // element,), element, fixed=True)
        elif array.dims:
            found[array] = Tile(tuple(a // b for a, b in pairwise(sizes)), element)
    return found
