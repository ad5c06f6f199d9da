"""Mutants of what is printed for the case studies, and harmless edits of it: `python bench/printed_mutants.py`.

Every mutant must be refused: of the text and of the host function (`swizzle check --emitted --mutate`), of the PTX
(words that would hide something, other state spaces, suffixes, names, lost stores), edits of a kernel by hand, texts
that ask which compiler reads them, and of the module for numba.cuda. What is edited without
harm (comments, spaces, names, brackets) must stay equal. `--only stencil` takes the case studies whose name contains
that; `--at-most 12` tries so many mutants of each.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from numba_mutants import module_mutants

from cuda_out.c.kernel_text import NoKernel
from cuda_out.c.mutate import Mutant
from cuda_out.c.printer import CudaSource
from cuda_out.c.same_text import asks_for_its_reader
from cuda_out.compile.toolchain import CompileError, compile_to_ptx
from swizzle import solve
from swizzle.answers.checking.emitted import try_mutants
from swizzle.answers.checking.numba_text import NumbaChecks
from swizzle.answers.checking.trial import most_ragged, sizes_to_try
from swizzle.answers.checking.validator import SizesValidator
from swizzle.answers.emit.emitters import cuda_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.emit.sizes import sizes_of
from swizzle.answers.status import CheckStatus, worst
from swizzle.language.specs.specification import Remembered
from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch

ROOT = Path(__file__).resolve().parent.parent
CASES = (
    "conv1d", "conv2d", "stencil1d", "stencil2d", "transpose", "aos_sum:crc", "aos_store:crc", "aos_store:rcr",
    "mult32:register", "mult32:shared",
)  # fmt: skip
PTX: tuple[tuple[str, str, str], ...] = (
    ("a pragma hides what follows", r"(\tst\.global)", r'.pragma "//"; \1'),
    ("a word between declarations", r"(\.visible \.entry)", r"nothing \1"),
    ("a cluster", r"(\.maxntid [\d, ]+)", r"\1 .reqnctapercluster 2, 1, 1"),
    ("a store to local memory", r"st\.global\.", "st.local."),
    ("a store to shared memory", r"st\.global\.", "st.shared."),
    ("a load from constant memory", r"ld\.global(\.nc)?\.", "ld.const."),
    ("a load from shared memory", r"ld\.global(\.nc)?\.", "ld.shared."),
    ("half of a parameter", r"ld\.param\.[ub]64", "ld.param.u32"),
    ("saturation", r"add\.s32", "add.sat.s32"),
    ("an undeclared register", r"(add\.s64[ \t]+)%rd\d+", r"\1%rd99999"),
    ("another register", r"(st\.global\.\w+[ \t]+\[%rd\d+(?:\+\d+)?\], )%\w+;", r"\1%clock;"),
    ("a lost store", r"\tst\.global\.[^;]*;", ""),
    ("a lost shuffle", r"\tshfl\.sync\.[^;]*;", ""),
    ("a shuffle's mask", r"(\tmov\.[bu]32[ \t]+%r\d+, )-1;", r"\g<1>65535;"),
    ("a lost barrier", r"\t(bar|barrier)\.sync[^;]*;", ""),
    ("a block's number is masked", r"(mov\.u32[ \t]+(%r\d+), %ctaid\.x;)", r"\1 and.b32 \2, \2, 1048575;"),
    ("a block more threads", r"\.maxntid \d+", ".maxntid 1"),
)
ASKED = (
    ("__CUDA_ARCH__", r"(\n  const )", r"\n  if (__CUDA_ARCH__ > 1200) return;\1"),
    ("#ifdef", r"(\n  const )", r"\n#ifdef __NVCC__\n  return;\n#endif\1"),
    ("pasting", r"(\nnamespace )", r"\n#define JOINED(a, b) a##b\1"),
    ("a macro of nvcc", r"(\n  const )", r"\n  if (sizeof(NULL) == 8) return;\1"),
    ("a line that goes on", r"(\n  const )", r"\n  // nothing \\ \n  return;\1"),
    ("a carriage return", r"(\n  const )", "\n  // nothing\r  return;\\1"),
    ("a digraph", r"(\n  const )", r"\n  <% return; %>\1"),
    ("#define in the host function", r"(\ninline cudaError_t)", r"\n#define launch 1\1"),
)
EDITED = (  # by hand, in a kernel: each is wrong for some input, block or length
    ("a mask without the last lane", r"(__shfl\w*_sync\()0xffffffffu", r"\g<1>0x7fffffffu"),
    ("half a mask", r"(__shfl\w*_sync\()0xffffffffu", r"\g<1>__activemask() >> 1"),
    ("lanes of 31", r"threadIdx\.x % 32", "threadIdx.x % 31"),
    ("another axis", r"int\(threadIdx\.x\b", "int(threadIdx.y"),
    ("a thread that leaves", r"(\n  const )", r"\n  if (threadIdx.x == 0) return;\1"),
    ("a clock", r"(\n  const )", r"\n  if (clock64() == 1) return;\1"),
    ("PTX that ends the thread", r"(\n  const )", r'\n  asm volatile("exit;");\1'),
    ("PTX that ends the launch", r"(\n  const )", r'\n  asm volatile("trap;");\1'),
    ("a barrier for half a warp", r"(\n  const )", r'\n  if (threadIdx.x < 16) asm volatile("bar.sync 0;");\1'),
    ("a name that hides threads", r"(\n  const )", r"\n  const uint3 threadIdx = {0, 0, 0};\1"),
    ("bounds of one thread", r"__launch_bounds__\(\d+\)", "__launch_bounds__(1)"),
    ("a cluster", r"__launch_bounds__\(\d+\)", r"\g<0> __cluster_dims__(2, 1, 1)"),
    ("a block's number in 16 bits", r"blockIdx\.x \* (\d+)ll", r"short(blockIdx.x) * \1ll"),
    ("a grid that is too long", r"(\n  const long long begin)", r"\n  if (gridDim.x > 4096) return;\1"),
    ("a whole block everywhere", r"known<false>\(\)", "known<true>()"),
    ("a block that is never whole enough", r"(if \(int\(n - begin\) >= \d+) &&", r"\1 ||"),
    ("an element that is added to", r"(\by\[[^\]]*\]) = ", r"\1 += "),
    ("a letter that is none of ASCII", r"\bconst int lane\b", "const int l\u0430ne = 0, lane"),
    ("a blank that is none of C++", r"\bconst int ", "const\u00a0int "),
)
HARMLESS = (
    ("a comment", r"(\n  const )", r"\n  // nothing /* changes */ #if here\1"),
    ("spaces", r"; ", " ;  "),
    ("a renamed variable", r"\blane\b", "my_lane"),
    ("a renamed length", r"\bbegin\b", "first_of_block"),
    ("brackets", r"(?<=[\w\]] )= ([^;{}=]+);(?=\n)", r"= (\1);"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default="", help="case studies whose name contains this")
    options.add_argument("--at-most", type=int, default=None, help="mutants of each text (default: all)")
    given = options.parse_args(arguments)
    survivors = 0
    for name in CASES:
        if given.only in name:
            begin = time.process_time()
            tried, lines = try_case(name, given.at_most)
            survivors += len(lines)
            print(f"{name}: {tried}, {len(lines)} defects, {time.process_time() - begin:.0f} s")
            print("".join(f"  {line}\n" for line in lines), end="", flush=True)
    return 1 if survivors else 0


def try_case(name: str, at_most: int | None = None) -> tuple[str, list[str]]:
    """Return what was tried of a case study, and what got through, or was refused and is harmless."""
    filled = solved(name)
    source = cuda_source(filled.program, filled.head, filled.sizes)
    sizes = sizes_to_try(filled, source)
    ragged = most_ragged(sizes, source)
    tally = try_mutants(source, sizes[:1] if ragged is None else (sizes[0], ragged), at_most)
    lines = [f"unseen: {mutant} ({why})" for mutant, why in tally.unseen]
    validator = SizesValidator(sizes, source)
    ptx, of_ptx = compile_to_ptx(source.text), 0
    for what, mutant in changed(ptx, PTX):
        of_ptx += 1
        if validator.validate(mutant, source.entry).verdict == "equal":
            lines.append(f"PTX, {what}: equal")
    asking = changed(source.text, ASKED)
    lines += [f"{what}: not seen" for what, text in asking if not asks_for_its_reader(text, source.entry)]
    lines += [f"{what}: equal" for what, text in changed(source.text, EDITED) if not refused(source, validator, text)]
    harmless = [(what, refused(source, validator, text)) for what, text in changed(source.text, HARMLESS, every=True)]
    lines += [f"harmless, {what}: refused ({why})" for what, why in harmless if why]
    module = NumbaChecks(filled, sizes, name)
    of_numba = numba_mutants(module, at_most)
    lines += [f"numba, unseen: {mutant}" for mutant in of_numba if unseen(module, mutant.text)]
    killed = f"{tally.killed} mutants of the text refused, {len(tally.same)} proved to change nothing"
    return f"{killed}, {of_ptx} of the PTX, {len(of_numba)} of the numba text, {len(harmless)} harmless edits", lines


def numba_mutants(module: NumbaChecks, at_most: int | None) -> Sequence[Mutant]:
    """Return the mutants of a module, or an even choice of them."""
    multiples = any(axis.step > 1 for axis in module.tiling.axes) if module.tiling else False
    found = module_mutants(module.printed.text, module.printed.kernel, module.printed.launcher, multiples=multiples)
    return [found[n * len(found) // at_most] for n in range(at_most)] if at_most and at_most < len(found) else found


def unseen(module: NumbaChecks, text: str) -> bool:
    """Tell whether a mutant is not refused, nor shown to change nothing, for every block of every length."""
    kernel, launch = module.check(text)
    return worst([kernel.status, launch.status]) == CheckStatus.EQUAL and not (
        kernel.everywhere or module.tiling is None
    )


def solved(name: str) -> FilledKernel:
    """Solve a case study, or find its solution in the cache."""
    file, _, of_file = name.partition(":")
    (sketch,) = load(ROOT / "case_studies" / f"{file}.py", of_file or None, {})
    assert isinstance(sketch, Sketch)
    program, spec = solve(sketch).best.program, Remembered(sketch.spec)
    return FilledKernel(program, spec, (), sizes_of(program, sketch, spec))


def changed(text: str, kinds: Sequence[tuple[str, str, str]], *, every: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the text with each change that it has a place for: at its first one, or at every one."""
    for what, old, new in kinds:
        mutant, count = re.subn(old, new, text, count=0 if every else 1)
        if count:
            yield what, mutant


def refused(source: CudaSource, validator: SizesValidator, text: str) -> str:
    """Return why a text is not equal, '' where it is."""
    try:
        if asked := asks_for_its_reader(text, source.entry, source.text):
            return asked.why
        found = validator.validate(compile_to_ptx(text), source.entry)
    except (NoKernel, CompileError) as error:
        return str(error)
    return "" if found.verdict == "equal" else "; ".join(found.findings)


if __name__ == "__main__":
    sys.exit(main())
