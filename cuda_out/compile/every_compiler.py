"""What each compiler makes of each form of a text for each architecture: the PTX that users of it may get.

Only a text that may have been edited needs it: NVRTC and nvcc read a printed one alike, which the tests of the case
studies compare (docs/checking.md).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from cuda_out.compile.children import scratch_folder
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.report import Report
from cuda_out.compile.toolchain import CompileError, Tool, compile_to_ptx, made_apart, run_compiler
from symbolic.errors import SwizzleError

Form: TypeAlias = Literal["source", "header"]

_NAMES_OF_LOCALS: Final = re.compile(r"\b_ZZ\w+")


class CompilerReading(Struct, frozen=True):
    """The PTX of a form of a text, as one compiler makes it for an architecture; `entry` is its kernel there."""

    architecture: str
    tool: Tool
    form: Form
    ptx: str
    entry: str

    @property
    def kernel(self) -> str:
        """The PTX without what may differ between readings and means nothing: versions, comments, mangled names."""
        plain = re.sub(r"//[^\n]*|^\.(?:version|target) [^\n]*", "", self.ptx, flags=re.MULTILINE)
        plain = re.sub(rf"\b{re.escape(self.entry)}(?=\b|_param_\d)", "kernel", plain)
        locals_of = {name: f"local_{n}" for n, name in enumerate(dict.fromkeys(_NAMES_OF_LOCALS.findall(plain)))}
        plain = _NAMES_OF_LOCALS.sub(lambda match: locals_of[match[0]], plain)
        return re.sub(r"^\.weak (?=\.entry\b)", ".visible ", plain, flags=re.MULTILINE)


def first_readings(reports: Sequence[Report], entry: str) -> list[CompilerReading]:
    """Return what the reports hold: the `.cu` as the preferred compiler reads it."""
    return [CompilerReading(each.architecture, each.tool, "source", each.ptx, entry) for each in reports]


def other_readings(
    tools: Sequence[Tool], reports: Sequence[Report], forms: Mapping[Form, str], entry: str, namespace: str
) -> Iterator[CompilerReading]:
    """Yield what else some compilers make of the forms of a text, for the same architectures. In the text of a header
    its kernel is used, so that it is compiled."""
    architectures = [each.architecture for each in reports]
    for tool, (form, text) in itertools.product(tools, forms.items()):
        if form == "source" and all(tool == each.tool for each in reports):
            continue
        opaque = with_opaque_calls(text)
        if tool == "nvcc":
            made = _by_nvcc(opaque, architectures)
        else:
            made = {each: compile_to_ptx(opaque, each, tool=tool) for each in architectures}
        for architecture, ptx in made.items():
            name = entry if form == "source" else _instance(ptx, entry, namespace)
            yield CompilerReading(architecture, tool, form, ptx, name)


def _instance(ptx: str, entry: str, namespace: str) -> str:
    """Return the name in PTX of the instance of a header's kernel, if there is one only."""
    mangled = f"_ZN{len(namespace)}{namespace}{len(entry)}{entry}IvE"
    names = {name for name in re.findall(r"\.entry\s+([\w$]+)", ptx) if name.startswith(mangled)}
    return names.pop() if len(names) == 1 else entry


def _by_nvcc(text: str, architectures: Sequence[str]) -> dict[str, str]:
    """Return the PTX that one run of nvcc makes for each architecture."""
    numbers = {each: each.removeprefix("sm_") for each in architectures}
    wanted = [f"-gencode=arch=compute_{number},code=compute_{number}" for number in numbers.values()]
    with scratch_folder() as scratch:
        source, made = Path(scratch, "kernel.cu"), Path(scratch, "kernel.fatbin")
        source.write_bytes(text.encode())
        command = ["nvcc", "-std=c++17", "-w", *made_apart(text), *wanted, "--keep", "--keep-dir", str(scratch)]
        done = run_compiler([*command, "-fatbin", "-o", str(made), str(source)], made)
        if "Unsupported gpu architecture" in done.log:
            raise SwizzleError(
                f"nvcc does not compile for all of {', '.join(architectures)}, and NVRTC does",
                expected="compilers of the same CUDA, both of which are tried on an edited text",
                fix="install the CUDA toolkit of NVRTC's version, or take nvcc off the PATH",
            )
        if done.status:
            raise CompileError(done.log, text)
        several = len(architectures) > 1
        return {
            each: Path(scratch, f"kernel.compute_{number}.ptx" if several else "kernel.ptx").read_text(encoding="utf-8")
            for each, number in numbers.items()
        }
