"""Which text `swizzle check --emitted` looks at: the one that stands beside a saved solution, or else as printed.

NAME.cu or NAME.cuh beside NAME.json is what a project takes in. If it was edited, or printed by another version, its
text is not what would be printed now, and it is the file that is checked. NAME.ptx is validated as it stands.

Of an edited text that is equal as real numbers, it is said how its arithmetic differs from that of the printed one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.c.kernel_text import NoKernel, code, head, parameters, tokens, with_kernel
from cuda_out.c.printer import CudaSource
from cuda_out.c.same_text import asks_for_its_reader, difference, kernel_of, lines_that_go_on
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import CompileError, Tool, available_tools, compile_to_ptx
from cuda_out.ptx.running.arithmetic import differences
from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.running.validate import Validator, WrittenOut
from cuda_out.ptx.syntax import NotInterpreted
from swizzle.answers.checking.trial import LaunchSize
from swizzle.answers.emit.emitters import Sizes, cuda_source
from swizzle.answers.emit.filled import FilledKernel
from symbolic.errors import Place, SwizzleError
from symbolic.files import file_bytes

MAX_BYTES: Final = 16 << 20


class KernelText(Struct, frozen=True):
    """A text to check: `file` is where it stands, None for one that was printed just now; `edited` says that the file
    is not what would be printed. `header` is the form to be included, and an `edited_header` if a file holds it and is
    not as printed. `unlike` says where a file is not what is printed and nothing proves it: outside the kernel, or in
    the kernel of a header beside another one. `strangers` says that one of the forms is not as printed, and may do
    whatever a program can. `printed` and `printed_header` are what is printed for the arguments that it takes. `ptx` is
    what was compiled of the kernel and stands beside it."""

    source: CudaSource
    header: str
    file: Path | None = None
    edited: bool = False
    edited_header: bool = False
    unlike: tuple[str, ...] = ()
    strangers: bool = False
    printed: str = ""
    printed_header: str = ""
    ptx: Path | None = None
    lines: tuple[str, ...] = ()


class _Printed(Struct, frozen=True):
    """Both forms of what is printed for the lengths that a kernel takes."""

    source: CudaSource
    header: str

    @staticmethod
    def of(filled: FilledKernel, sizes: Sizes) -> _Printed:
        header = cuda_source(filled.program, filled.head, sizes, form="header").text
        return _Printed(cuda_source(filled.program, filled.head, sizes), header)


class _File(Struct, frozen=True):
    """A file beside a saved solution: its text, what is printed in its place, and whether that is something else."""

    path: Path
    text: str
    forms: _Printed
    printed: str
    edited: bool

    def unlike(self, *, kernel: bool = False) -> str:
        """Say where it is not what is printed, outside the kernel or in all of it; '' for nowhere."""
        found = difference(self.text, self.printed, self.forms.source.entry, kernel=kernel) if self.edited else None
        if found is None:
            return ""
        mine, yours = (f"`{word[:60]}`" if word else "the end" for word in (found.found, found.printed))
        return f"{self.path}:{found.line}:{found.column}: not what is printed: {mine} in the place of {yours}"

    def kernel(self) -> list[str]:
        """Return the kernel's definition, word by word."""
        return [token.text for token in kernel_of(list(tokens(self.text)), self.forms.source.entry)]


def text_to_check(filled: FilledKernel, saved: Path | None) -> KernelText:
    """Return the text beside a saved solution, or the printed one where there is none.

    Raises SwizzleError for a file that does not hold the kernel, or whose kernel takes other arguments.
    """
    own = _Printed.of(filled, filled.sizes)
    if saved is None:
        return KernelText(own.source, own.header, printed=own.source.text, printed_header=own.header)
    cu, cuh = (_read(saved.with_suffix(suffix), filled, own) for suffix in (".cu", ".cuh"))
    files, ptx = [file for file in (cu, cuh) if file is not None], saved.with_suffix(".ptx")
    unlike = [line for file in files if (line := file.unlike())]
    forms = files[0].forms if files else own
    text = forms.source.text
    if cu is not None:
        text = cu.text
    elif cuh is not None and cuh.edited:
        text = with_kernel(text, cuh.text, forms.source.entry)
    if cu is not None and cuh is not None and not _same_kernel(cu, cuh):
        unlike.append(f"{cuh.path}: its kernel is not the one of {cu.path}")
    return KernelText(
        replace(forms.source, text=text),
        forms.header if cuh is None else cuh.text,
        files[0].path if files else None,
        bool(files) and files[0].edited,
        cuh is not None and cuh.edited,
        tuple(unlike),
        any(file.edited for file in files),
        forms.source.text,
        forms.header,
        ptx if ptx.exists() else None,
        tuple(_said(file) for file in files),
    )


def _read(path: Path, filled: FilledKernel, own: _Printed) -> _File | None:
    """Return a file, None where there is none. Its kernel is launched as what it takes asks for, with lengths or
    without."""
    if not path.exists():
        return None
    text, header = text_beside(path), path.suffix == ".cuh"
    printed = own.header if header else own.source.text
    if _same_for_all(path, text, printed, own.source.entry):
        return _File(path, text, own, printed, False)
    forms = _taken(path, text, own, filled)
    return _File(path, text, forms, forms.header if header else forms.source.text, True)


def _same_kernel(cu: _File, cuh: _File) -> bool:
    """Return whether two files hold one kernel: the same words, or the printed ones with other names in each."""
    return cu.kernel() == cuh.kernel() or (
        cu.forms == cuh.forms and not cu.unlike(kernel=True) and not cuh.unlike(kernel=True)
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
        _ = as_printed or kernel_of(list(tokens(text)), entry)
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


def _said(file: _File) -> str:
    """Say whether a file is as printed; where not, its first line that is not."""
    if not file.edited:
        return f"{file.path}: the text that is printed from this solution"
    mine, yours = code(file.printed).split("\n"), code(file.text).split("\n")
    same = next((n for n, (a, b) in enumerate(zip(mine, yours, strict=False)) if a != b), min(len(mine), len(yours)))
    shown = yours[same].strip() if same < len(yours) else ""
    line = head(file.text).count("\n") + same + 1
    where = f"line {line}: {shown}" if shown else f"line {line}"
    return f"{file.path}: edited, or printed by another version ({where}); it is this file that is checked"


def _taken(path: Path, text: str, own: _Printed, filled: FilledKernel) -> _Printed:
    """Return what is printed for the arguments that an edited text takes: with lengths or without."""
    entry = own.source.entry
    types = _types(parameters(text, entry))
    for forms in (own, _Printed.of(filled, None)):
        if types == _types(parameters(forms.source.text, entry)):
            return forms
    raise SwizzleError(
        f"the kernel {entry} in {path} takes ({', '.join(parameters(text, entry))})",
        expected=f"({', '.join(parameters(own.source.text, entry))})",
        fix="print it again with `swizzle solve -o`, or remove the file",
    )


def _types(declared: Sequence[str]) -> list[str]:
    """Return the types of parameters, without names and what callers do not see: promises about aliasing, and whether
    the kernel changes its own copy."""
    bare = [re.sub(r"__restrict__|\bconst\b(?![^*]*\*)", " ", each) for each in declared]
    return ["".join(re.sub(r"\w+\s*$", "", each).split()) for each in bare]


CANCELS: Final = "a difference of what was just added, as in a compensated sum, is 0"


def arithmetic_differences(
    text: KernelText, size: LaunchSize, ptx: str, entry: str, tool: Tool | None
) -> tuple[str, ...]:
    """Return in what respects a PTX computes its floats otherwise than the printed text's, made by the same
    compiler (`tool`; None: whatever made a file) for the same architecture; none of a text that is as printed, or that
    computes none otherwise."""
    program, target = size.filled.program, re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
    if (
        not (text.edited or text.edited_header or tool is None)
        or target is None
        or not any(p.dtype.is_float for p in program.parameters)
    ):
        return ()
    if tool is None and not available_tools():
        return ("what is not known: no compiler is installed",)
    try:
        printed = compile_to_ptx(with_opaque_calls(text.printed), target[1], tool=tool or "auto")
    except CompileError as error:
        return (f"what is not known: {str(error).splitlines()[0]}",)
    return compared_arithmetic(text.source, size, (ptx, entry), (printed, text.source.entry))


def compared_arithmetic(
    source: CudaSource, size: LaunchSize, own: tuple[str, str], printed: tuple[str, str]
) -> tuple[str, ...]:
    """Return in what respects one kernel of a PTX, which has a name, computes its floats otherwise than another one."""
    program = size.filled.program
    written = WrittenOut(size.meaning.terms, program.parameters)
    validator = Validator(program, size.meaning.wanted, written, source.alignment)
    try:
        mine, theirs = (
            validator.arithmetic(made, kernel, size.lengths, source.shared_bytes) for made, kernel in (own, printed)
        )
    except (NotInterpreted, Broken) as error:
        return (f"what is not known: {error}",)
    return differences(mine, theirs)
