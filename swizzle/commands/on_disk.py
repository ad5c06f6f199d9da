"""Which text `swizzle check --emitted` looks at: the one that stands beside a saved solution, or else as printed.

NAME.cu or NAME.cuh beside NAME.json is what a project takes in. If it was edited, or printed by another version, its
text is not what would be printed now, and it is the file that is checked. NAME.ptx is validated as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.c.directives import asks_for_its_reader, lines_that_go_on
from cuda_out.c.kernel_text import NoKernel, as_source, code, head, kernel_extent, parameters
from cuda_out.c.printer import CudaSource
from swizzle.commands.target import FilledKernel
from swizzle.emit.emitters import cuda_source
from symbolic.errors import Place, SwizzleError
from symbolic.files import file_bytes

MAX_BYTES: Final = 16 << 20


class KernelText(Struct, frozen=True):
    """A text to check: `file` is where it stands, None for one that was printed just now; `edited` says that the file
    is not what would be printed. `header` is the form to be included; it is `other` if its kernel is another one,
    and an `edited_header` if a file holds it and is not as printed.
    `ptx` is what was compiled of the kernel and stands beside it. `strangers` says that one of the forms is not as
    printed, and may do whatever a program can. `printed` and `printed_header` are what would be printed."""

    source: CudaSource
    header: str
    file: Path | None = None
    edited: bool = False
    edited_header: bool = False
    other: Path | None = None
    strangers: bool = False
    printed: str = ""
    printed_header: str = ""
    ptx: Path | None = None
    lines: tuple[str, ...] = ()


def text_to_check(filled: FilledKernel, saved: Path | None) -> KernelText:
    """Return the text beside a saved solution, or the printed one where there is none.

    Raises SwizzleError for a file that does not hold the kernel, or whose kernel takes other arguments.
    """
    printed = cuda_source(filled.program, filled.head, filled.sizes)
    header = cuda_source(filled.program, filled.head, filled.sizes, form="header").text
    if saved is None:
        return KernelText(printed, header, printed=printed.text, printed_header=header)
    cu, cuh = saved.with_suffix(".cu"), saved.with_suffix(".cuh")
    lines: list[str] = []
    found, other = KernelText(printed, header), None
    if cuh.exists():
        text = text_beside(cuh)
        as_printed = _same_for_all(cuh, text, header, printed.entry)
        source = printed if as_printed else _taken(filled, printed, cuh, as_source(text, printed.entry))
        found = KernelText(source, text, cuh, not as_printed, not as_printed, strangers=not as_printed)
        lines.append(_said(cuh, text, header))
    if cu.exists():
        text = text_beside(cu)
        as_printed = _same_for_all(cu, text, printed.text, printed.entry)
        source = replace(printed, text=text) if as_printed else _taken(filled, printed, cu, text)
        if found.file is not None and _kernel(found.source) != _kernel(source):
            other = cuh
        found = replace(
            found, source=source, file=cu, edited=not as_printed, other=other,
            strangers=found.strangers or not as_printed,
        )  # fmt: skip
        lines.insert(0, _said(cu, text, printed.text))
    ptx = saved.with_suffix(".ptx")
    return replace(
        found,
        ptx=ptx if ptx.exists() else None,
        printed=printed.text,
        printed_header=header,
        lines=tuple(lines),
    )


def text_beside(path: Path) -> str:
    """Return the text of a file beside a saved solution, not of one elsewhere that a link leads to."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES or path.resolve().parent != path.parent.resolve():
            raise SwizzleError(
                f"{path} is no file of its folder, or larger than {MAX_BYTES} bytes",
                expected="the printed kernel, or no such file",
                fix="remove it, or copy the file that it stands for",
            )
        return file_bytes(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise SwizzleError(
            f"{path} cannot be read: {error}",
            expected="the printed kernel, or no such file",
            fix="make it readable, or delete it",
        ) from None


def _same_for_all(path: Path, text: str, printed: str, entry: str) -> bool:
    """Return whether a file is as printed; refuse what another compiler may read as another text, with its place."""
    as_printed = code(text) == code(printed)
    try:
        asked = lines_that_go_on(head(text)) if as_printed else asks_for_its_reader(text, entry, printed)
    except NoKernel as missing:
        raise SwizzleError(
            f"{path} is without {missing}",
            expected=f'the kernel of the solution: extern "C" __global__ void {entry}(...)',
            fix="print it again with `swizzle solve -o`, or remove the file",
        ) from None
    if asked is not None:
        raise SwizzleError(
            f"{asked.words}, {asked.why}",
            place=Place(str(path), asked.line, asked.column),
            expected="a text that is the same for every compiler and architecture: what is checked is what will run",
            fix=asked.fix,
        )
    return as_printed


def _said(path: Path, text: str, printed: str) -> str:
    """Say whether a file is as printed; where not, its first line that is not."""
    mine, yours = code(printed).split("\n"), code(text).split("\n")
    if mine == yours:
        return f"{path}: the text that is printed from this solution"
    same = next((n for n, (a, b) in enumerate(zip(mine, yours, strict=False)) if a != b), min(len(mine), len(yours)))
    shown = yours[same].strip() if same < len(yours) else ""
    line = head(text).count("\n") + same + 1
    where = f"line {line}: {shown}" if shown else f"line {line}"
    return f"{path}: edited, or printed by another version ({where}); it is this file that is checked"


def _kernel(source: CudaSource) -> str:
    start, end = kernel_extent(source.text, source.entry)
    return source.text[start:end]


def _taken(filled: FilledKernel, printed: CudaSource, path: Path, text: str) -> CudaSource:
    """Return an edited text, launched as what it takes asks for: with lengths or without."""
    fixed = cuda_source(filled.program, filled.head)
    types = _types(parameters(text, printed.entry))
    for form in (printed, fixed):
        wanted = parameters(form.text, form.entry)
        if types == _types(wanted):
            return replace(form, text=text)
    raise SwizzleError(
        f"the kernel {printed.entry} in {path} takes ({', '.join(parameters(text, printed.entry))})",
        expected=f"({', '.join(parameters(printed.text, printed.entry))})",
        fix="print it again with `swizzle solve -o`, or remove the file",
    )


def _types(declared: Sequence[str]) -> list[str]:
    """Return the types of parameters, without names and promises about aliasing."""
    bare = [re.sub(r"__restrict__|\bconst\b", " ", each) for each in declared]
    return ["".join(re.sub(r"\w+\s*$", "", each).split()) for each in bare]
