"""The module for numba.cuda beside a saved solution: compared with the printed one, and its kernel with the
specification.

All but its kernel must be what is printed. The kernel is compiled by numba, and its PTX validated as that of the CUDA
text is; it is a stranger's text where it is not the printed one, too. The printed launch function is run on arrays
without elements, whose lengths may be as large as they like.

The module of a host function is taken apart, and each kernel with its own launch function read and tried. The host
function is run on arrays that have a type and a shape only; it must call these launch functions in order, on
its arrays and on new ones of the right types and shapes, and refuse what is not its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.c.printer import MAX_BLOCKS, MAX_LENGTH
from cuda_out.compile.children import confined
from cuda_out.compile.toolchain import ARCHITECTURES
from cuda_out.numba.compiling import NotCompiled, NotInstalled, compile_kernel
from cuda_out.numba.expressions import NUMBA_TYPE, python_name
from cuda_out.numba.launching import (
    GivenArray,
    GivenNumber,
    GivenStream,
    Launcher,
    NumbaCall,
    NumbaLaunch,
    RaisedError,
)
from cuda_out.numba.module_text import NotPrinted, NumbaModule, parsed, python_text, read_module, refuse
from cuda_out.numba.parameters import with_lengths
from cuda_out.ptx.running.validate import Validation
from cuda_out.ptx.syntax import NotInterpreted
from cuda_out.tiling.tiling import Tiling
from swizzle.answers.checking.on_disk import CANCELS, compared_arithmetic, text_beside
from swizzle.answers.checking.trial import LaunchSize
from swizzle.answers.checking.validator import SizesValidator, settled
from swizzle.answers.emit.any_length.conditions import FixedSize
from swizzle.answers.emit.emitters import FILE_KINDS, cuda_source, numba_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.hosts.lengths import FilledHost, HostTiling
from swizzle.answers.hosts.texts import empty_together, host_numba
from swizzle.answers.status import CheckStatus, worst
from swizzle.solving.solution.in_words import count
from symbolic.errors import SwizzleError
from symbolic.ir.program import Axis, Parameter, Program

Given: TypeAlias = "tuple[GivenArray | GivenNumber, ...]"
NOT_PRINTED: Final = "not shown equal: not what is printed"
SHOWN: Final = 3


class NumbaVerdict(Struct, frozen=True):
    """What was found out about the kernel, or the launch function: an exit status, and lines; the first one sums up."""

    status: CheckStatus
    lines: tuple[str, ...]
    lengths: tuple[tuple[int, ...], ...] = ()
    everywhere: bool = False
    calls: int = 0

    def as_json(self) -> dict[str, Any]:
        said = {"status": self.status.word, "findings": list(self.lines[1:] if self.status else ())}
        if self.calls:
            return {**said, "calls": self.calls}
        return {**said, "lengths": list(map(list, self.lengths)), "every_length": self.everywhere}


def _of_calls(wrong: Sequence[str], calls: int, whose: str, right: str) -> NumbaVerdict:
    """Return the verdict of so many calls, `wrong` of which did what they must not; else all of this is `right`."""
    if wrong:
        lines = (f"{whose}wrong in {len(wrong)} of {count(calls, 'call')}", *(f"  {each}" for each in wrong[:SHOWN]))
        return NumbaVerdict(CheckStatus.DIFFERENT, lines, calls=calls)
    return NumbaVerdict(CheckStatus.EQUAL, (f"{whose}{right} are right in {count(calls, 'call')}",), calls=calls)


class NumbaText(Struct):
    """What was found out about a module: the worst exit status, lines for people, and JSON."""

    status: CheckStatus
    lines: list[str]
    json: dict[str, Any]


def try_numba_text(
    filled: FilledKernel, saved: Path, sizes: Sequence[LaunchSize], *, trust: bool = False
) -> NumbaText | None:
    """Return what is found out about the module beside a saved solution, None where there is none."""
    path = saved.with_name(saved.stem + FILE_KINDS["numba"].suffix)
    if not path.exists():
        return None
    text = text_beside(path)
    try:
        checks = NumbaChecks(filled, sizes, str(path), trust=trust)
    except SwizzleError as error:
        said = f"{path}: not looked at: {error.found}"
        return NumbaText(CheckStatus.UNDECIDED, [said], {"file": str(path), "status": CheckStatus.UNDECIDED.word})
    try:
        text = python_text(text, at_most=4 * len(checks.printed.text) + (1 << 16))
        different = first_difference(text, checks.printed.text)
    except NotPrinted as error:
        lines = [f"{path}: edited, or printed by another version", f"  {NOT_PRINTED}", f"    {error.at(str(path))}"]
        return NumbaText(
            CheckStatus.UNDECIDED, lines, {"file": str(path), "edited": True, "status": CheckStatus.UNDECIDED.word}
        )
    said = (
        f"edited, or printed by another version ({different})"
        if different
        else "the text that is printed from this solution"
    )
    kernel, launch = checks.check(text)
    status = worst([kernel.status, launch.status])
    lines = [f"{path}: {said}", *(f"  {line}" for part in (kernel, launch) for line in part.lines)]
    json: dict[str, Any] = {"file": str(path), "edited": bool(different), "status": status.word}
    json |= {"kernel": kernel.as_json(), "launch": launch.as_json()}
    return NumbaText(status, lines, json)


def first_difference(text: str, printed: str) -> str:
    """Return the first line that is not as printed, '' where all are, comments and spaces aside; raises NotPrinted."""
    if ast.dump(parsed(text)) == ast.dump(parsed(printed)):
        return ""
    code = [[line.strip() for line in each.splitlines()] for each in (printed, text)]
    mine, yours = ([line for line in lines if line and line[0] != "#"] for lines in code)
    first = next((line for line, other in zip(yours, mine, strict=False) if line != other), yours[-1])
    return f"line {code[1].index(first) + 1}: {first}"


class NumbaChecks:
    """Checks modules for one solved kernel at some sizes."""

    def __init__(self, filled: FilledKernel, sizes: Sequence[LaunchSize], file: str, *, trust: bool = False) -> None:
        """Raises SwizzleError for a kernel that numba.cuda does not have."""
        self.filled, self.file, self.trust = filled, file, trust
        self.tiling = filled.sizes if isinstance(filled.sizes, Tiling) else None
        self.printed = numba_source(filled.program, filled.head, filled.sizes)
        self.sizes = [_with_arrays(size) for size in sizes]
        items, source = (
            [p.dtype.bits // 8 for p in filled.program.parameters],
            cuda_source(filled.program, sizes=filled.sizes),
        )
        self.source = replace(source, entry=f"{source.entry}__kernel", alignment=tuple(items), shared_bytes=0)
        self.validator = SizesValidator(self.sizes, self.source)
        self.architectures = ARCHITECTURES
        self._told: dict[str, NumbaVerdict] = {}

    def check(self, text: str) -> tuple[NumbaVerdict, NumbaVerdict]:
        """Return what is found out about the kernel and the launch function of a module."""
        try:
            module = read_module(text, self.printed, self.filled.program)
        except NotPrinted as error:
            unread = NumbaVerdict(CheckStatus.UNDECIDED, (NOT_PRINTED, f"  {error.at(self.file)}"))
            return unread, NumbaVerdict(CheckStatus.UNDECIDED, ())
        key = ast.dump(module.kernel)
        if key not in self._told:
            self._told[key] = self.kernel(module)
        return self._told[key], self.launch

    # ---- the kernel --------------------------------------------------------------------------------------------

    def kernel(self, module: NumbaModule) -> NumbaVerdict:
        """Compare what numba makes of a module's kernel with the specification, as that of the CUDA text is."""
        try:
            with confined(not (module.as_printed or self.trust)):
                compiled = compile_kernel(module, self.filled.program, self.architectures)
        except NotCompiled as error:
            if module.as_printed and isinstance(error, NotInstalled):
                return NumbaVerdict(CheckStatus.EQUAL, (f"kernel: as printed; not compiled: {error}",))
            return NumbaVerdict(CheckStatus.UNDECIDED, (f"kernel: not shown equal: not compiled: {error}",))
        said: dict[tuple[CheckStatus, str, Validation], list[str]] = {}
        memo: dict[str, tuple[CheckStatus, str, Validation]] = {}
        for arch, ptx in compiled.items():
            try:
                own = with_lengths(ptx, self.source.entry, self.filled.program, self.tiling)
            except NotInterpreted as error:
                return NumbaVerdict(
                    CheckStatus.UNDECIDED, (f"kernel: not shown equal: {arch}: not interpreted: {error}",)
                )
            same = re.sub(r"//[^\n]*|^\.(?:version|target) [^\n]*", "", own, flags=re.MULTILINE)
            if same not in memo:
                validation = self.validator.validate(own, self.source.entry)
                memo[same] = (*settled(validation, self.source, self.sizes, own), validation)
            said.setdefault(memo[same], []).append(arch)
        lines = list[str]()
        for (status, words, validation), names in said.items():
            lines.append(f"kernel: PTX of contiguous arrays for {', '.join(names)}: {words}")
            lines += [f"  {finding}" for finding in validation.findings]
            if status == CheckStatus.EQUAL and (differs := self._arithmetic(module, names[0], compiled[names[0]])):
                lines.append(f"  as real numbers; from the printed text it differs in: {'; '.join(differs)}")
            if validation.cancels:
                lines.append(f"  as real numbers; {CANCELS}")
        lengths = tuple(size.lengths for size in self.sizes if size.lengths)
        everywhere = all(validation.everywhere for _, _, validation in said)
        return NumbaVerdict(worst([status for status, _, _ in said]), tuple(lines), lengths, everywhere)

    def _arithmetic(self, module: NumbaModule, arch: str, ptx: str) -> tuple[str, ...]:
        """Return in what respects an edited kernel computes its floats otherwise than the printed one."""
        program = self.filled.program
        if module.as_printed or not any(p.dtype.is_float for p in program.parameters):
            return ()
        printed = compile_kernel(read_module(self.printed.text, self.printed, program), program, (arch,))[arch]
        entry = self.source.entry
        own, other = (with_lengths(each, entry, program, self.tiling) for each in (ptx, printed))
        return compared_arithmetic(self.source, self.sizes[0], (own, entry), (other, entry))

    # ---- the launch function -----------------------------------------------------------------------------------

    @cached_property
    def launch(self) -> NumbaVerdict:
        """What is found out about the printed launch function, run on arrays of many lengths, types and shapes."""
        launcher = Launcher(self.printed.text, self.printed.launcher, [self.printed.kernel])
        calls = list(self._calls())
        wrong = [why for given, stream in calls if (why := self._misbehaves(launcher, given, stream))]
        return _of_calls(wrong, len(calls), "launch function: ", "grid, block, stream, arguments and errors")

    def _calls(self) -> Iterator[tuple[Given, GivenStream | None]]:
        own = self._given(self.filled.program)
        yield own, None
        yield own, GivenStream()
        for at, each in enumerate(own):
            if isinstance(each, GivenArray):
                shapes = [(*each.shape, 1), each.shape[:-1]]
                for place in range(len(each.shape)):
                    for off in (-1, 1, each.shape[place]):
                        shapes.append((*each.shape[:place], each.shape[place] + off, *each.shape[place + 1 :]))
                for shape in shapes:
                    yield (*own[:at], replace(each, shape=shape), *own[at + 1 :]), None
                for dtype in sorted({*NUMBA_TYPE.values(), "float16", "complex64", "any other"} - {each.dtype}):
                    yield (*own[:at], replace(each, dtype=dtype), *own[at + 1 :]), None
        for axis in self.tiling.axes if self.tiling else ():
            most = MAX_LENGTH if axis.axis == "k" else axis.tile * MAX_BLOCKS[axis.axis]
            tile, step = axis.tile, axis.step
            wanted = {0, step, tile - step, tile, tile + step, 2 * tile - step, 7 * tile, axis.least, axis.least - 1}
            wanted |= {most - tile, most, most + step, 2**31, 2**31 + tile, 2**32 + tile, 2**40, 1, tile + 1, 2**20 + 1}
            for length in sorted(wanted):
                given = self._given(self._at({axis.axis: length}))
                if all(isinstance(each, GivenNumber) or min(each.shape) >= 0 for each in given):
                    yield given, GivenStream() if length % 2 else None

    def _at(self, lengths: Mapping[Axis, int]) -> Program:
        assert self.tiling is not None
        return self.tiling.at(self.filled.program, {**self.tiling.declared, **lengths})

    def _given(self, program: Program) -> Given:
        return tuple(
            GivenNumber(p.name) if p.is_scalar else GivenArray(p.name, NUMBA_TYPE[p.dtype], p.shape)
            for p in program.parameters
        )

    def _misbehaves(self, launcher: Launcher, given: Given, stream: GivenStream | None) -> str:
        """Return what a launch function does wrong in a call, '' for nothing."""
        try:
            launched: list[NumbaLaunch | NumbaCall] | None = launcher.call(given, stream)
        except RaisedError:
            launched = None
        named = ", ".join(f"{e.name}: {e.dtype}{list(e.shape)}" for e in given if isinstance(e, GivenArray))
        said, (grid, may_refuse) = f"called with {named}: it ", self._grid(given)
        if grid is None:
            if launched is None or (not launched and not may_refuse):
                return ""
            return f"{said}{'launches' if launched else 'returns'}, and must raise an error" * may_refuse or (
                f"{said}launches, and has nothing to do"
            )
        if launched is None:
            return "" if may_refuse else f"{said}raises an error, and must launch"
        program = self.filled.program
        whole = tuple(
            GivenNumber(p.name, NUMBA_TYPE[p.dtype]) if isinstance(each, GivenNumber) else replace(each, seen=True)
            for p, each in zip(program.parameters, given, strict=True)
        )
        if len(launched) != 1:
            return f"{said}launches {len(launched)} times, and must launch once"
        wanted = NumbaLaunch(self.printed.kernel, grid, program.block, 0 if stream is None else stream, whole)
        for what in ("kernel", "grid", "block", "stream", "arguments"):
            got, want = getattr(launched[0], what), getattr(wanted, what)
            if got != want:
                shown = [[e.name for e in each] if what == "arguments" and isinstance(each, tuple) else each
                         for each in (got, want)]  # fmt: skip
                return f"{said}launches with {what} {shown[0]}, and must with {shown[1]}"
        return ""

    def _grid(self, given: Given) -> tuple[tuple[int, int, int] | None, bool]:
        """Return the grid that must be launched, None where nothing must; and whether an error must be raised then, or
        may, as the driver refuses so large a grid."""
        program, tiling = self.filled.program, self.tiling
        lengths: dict[Axis, int] = {}
        if tiling is not None:
            spans = [
                (span, each.shape[at])
                for each in given if isinstance(each, GivenArray)
                for at, span in enumerate(tiling.spans[each.name]) if span is not None and at < len(each.shape)
            ]  # fmt: skip
            lengths = {span.axis: (extent - span.halo) // span.scale for span, extent in spans}
        own = self._at(lengths) if tiling is not None else program
        if self._given(own) != given:
            return None, True
        for axis in tiling.axes if tiling is not None else ():
            if lengths[axis.axis] % axis.step or 0 < lengths[axis.axis] < axis.least:
                return None, True
            if axis.axis == "k" and not axis.least <= lengths["k"] <= MAX_LENGTH:
                return None, True
        along = {axis: length for axis, length in lengths.items() if axis != "k"}
        if any(length <= 0 for length in along.values()):
            return None, False
        return own.grid, any(own.grid["xyz".index(axis)] > MAX_BLOCKS[axis] for axis in along)


def _with_arrays(size: LaunchSize) -> LaunchSize:
    """Return a size at which arrays by value are arrays, as numba has no others."""
    program = size.filled.program
    parameters = tuple(replace(p, role="const") if p.by_value else p for p in program.parameters)
    return replace(size, filled=replace(size.filled, program=replace(program, parameters=parameters)))


def try_host_numba(
    filled: FilledHost, sizes: HostTiling | FixedSize, text: str | None, tried: Mapping[str, Sequence[LaunchSize]]
) -> NumbaText:
    """Return what is found out about the printed module, or a `text` in its place, whose host function is run; `tried`
    are the sizes of each kernel."""
    verdicts, json = list[tuple[str, NumbaVerdict]](), dict[str, Any]()
    own = filled.host.name
    try:
        module = _HostModule(filled, sizes, host_numba(filled, (), sizes) if text is None else text)
        for name, at in tried.items():
            tiling = sizes.kernels.get(name) if isinstance(sizes, HostTiling) else None
            checks = NumbaChecks(FilledKernel(at[0].filled.program, at[0].filled.spec, (), tiling), at, own)
            kernel, launch = checks.check(module.of_kernel(name))
            verdicts += [(name, kernel), (name, launch)]
            json[name] = {"kernel": kernel.as_json(), "launch": launch.as_json()}
        verdicts.append((own, module.launch()))
    except NotPrinted as error:
        verdicts.append((own, NumbaVerdict(CheckStatus.UNDECIDED, (NOT_PRINTED, f"  {error.at(own)}"))))
    except SwizzleError as error:
        verdicts.append((own, NumbaVerdict(CheckStatus.UNDECIDED, (f"not looked at: {error.found}",))))
    status = worst([each.status for _, each in verdicts])
    lines = [f"the module for numba.cuda: {name}: {line}" for name, each in verdicts for line in each.lines]
    return NumbaText(status, lines, {"status": status.word, **json, own: verdicts[-1][1].as_json()})


class _HostModule:
    """A printed module, taken apart; raises NotPrinted where it does not have just the functions that it is to have."""

    def __init__(self, filled: FilledHost, sizes: HostTiling | FixedSize, text: str) -> None:
        self.filled, self.host, self.sizes, self.text = filled, filled.host, sizes, text
        tilings = sizes.kernels if isinstance(sizes, HostTiling) else {}
        self.sources = {name: numba_source(each, (), tilings.get(name)) for name, each in filled.programs.items()}
        self.name = python_name(f"launch_{self.host.name}")
        own = {name for each in self.sources.values() for name in (*each.device, each.kernel, each.launcher)}
        own.add(self.name)
        self.imports, self.functions = list[ast.stmt](), dict[str, ast.FunctionDef]()
        for node in parsed(text).body:
            if isinstance(node, ast.Import | ast.ImportFrom) and not self.functions:
                self.imports.append(node)
                continue
            if not isinstance(node, ast.FunctionDef) or node.name not in own:
                refuse(node)
            if ast.dump(self.functions.setdefault(node.name, node)) != ast.dump(node):
                refuse(node, f"{node.name} is defined twice")
        if missing := own - self.functions.keys():
            raise NotPrinted(1, 1, f"it has no function {min(missing)}")

    def of_kernel(self, name: str) -> str:
        """Return the module of one kernel."""
        source = self.sources[name]
        functions = [self.functions[each] for each in (*source.device, source.kernel, source.launcher)]
        return "\n".join(ast.unparse(each) for each in (*self.imports, *functions))

    # ---- the host function -------------------------------------------------------------------------------------

    def launch(self) -> NumbaVerdict:
        """Run the host function on arrays of many lengths, types and shapes."""
        sources = self.sources.values()
        launcher = Launcher(
            self.text, self.name, [each.kernel for each in sources], [each.launcher for each in sources]
        )
        wrong, calls = list[str](), list(self._calls())
        for given, lengths, stream in calls:
            try:
                called: list[NumbaLaunch | NumbaCall] | None = launcher.call(given, stream)
            except RaisedError:
                called = None
            if called != self._wanted(given, lengths, stream):
                named = ", ".join(f"{each.name}: {each.dtype}{list(each.shape)}" for each in given if each.shape)
                said = "raises an error" if called is None else f"calls {', '.join(map(str, called)) or 'nothing'}"
                wrong.append(f"called with {named}: it {said}")
        return _of_calls(wrong, len(calls), "", "launches, their arrays, order, stream and errors")

    def _shape(self, p: Parameter, lengths: Mapping[Axis, int]) -> tuple[int, ...]:
        return self.sizes.tiling.shape(p, lengths) if isinstance(self.sizes, HostTiling) else p.shape

    def _given(self, lengths: Mapping[Axis, int]) -> tuple[GivenArray, ...]:
        """Return the arguments; a number is an array without dimensions."""
        return tuple(GivenArray(p.name, NUMBA_TYPE[p.dtype], self._shape(p, lengths)) for p in self.host.parameters)

    def _calls(self) -> Iterator[tuple[tuple[Any, ...], Mapping[Axis, int] | None, GivenStream | None]]:
        """Yield arguments, the lengths that they have, None where they must be refused, and a stream."""
        tiling = self.sizes.tiling if isinstance(self.sizes, HostTiling) else None
        declared: Mapping[Axis, int] = tiling.declared if tiling else {}
        own = self._numbers(self._given(declared))
        yield own, declared, None
        yield own, declared, GivenStream()
        for axis in tiling.axes if tiling else ():
            tile, step = axis.tile, axis.step
            wanted = {0, step, tile - step, tile, tile + step, 3 * tile - step, 7 * tile, 2**20 * tile, 2**31 * step}
            for length in sorted({*wanted, *range(step, 8 * step, step), *(off + step for off in (1, -1))}):
                lengths = {**declared, axis.axis: length}
                given = self._given(lengths)
                if all(extent >= 0 for each in given for extent in each.shape):
                    yield self._numbers(given), None if length % step else lengths, GivenStream()
        for at, each in enumerate(own):
            if isinstance(each, GivenNumber):
                continue
            for dtype in sorted({*NUMBA_TYPE.values(), "float16", "any other"} - {each.dtype}):
                yield (*own[:at], replace(each, dtype=dtype), *own[at + 1 :]), None, None
            shapes = [(*each.shape, 1), each.shape[:-1]]
            others = any(other is not each and isinstance(other, GivenArray) for other in own)
            shapes += [
                (*each.shape[:n], each.shape[n] + 1, *each.shape[n + 1 :]) for n in range(len(each.shape)) if others
            ]
            for shape in shapes:
                if not self._fits(at, shape):
                    yield (*own[:at], replace(each, shape=shape), *own[at + 1 :]), None, None

    def _numbers(self, given: Sequence[GivenArray]) -> tuple[Any, ...]:
        pairs = zip(self.host.parameters, given, strict=True)
        return tuple(GivenNumber(p.name) if p.is_scalar else each for p, each in pairs)

    def _fits(self, at: int, shape: tuple[int, ...]) -> bool:
        """Tell whether an array of another shape is one of other lengths, which no other array has."""
        p, tiling = self.host.parameters[at], self.sizes.tiling if isinstance(self.sizes, HostTiling) else None
        if tiling is None or len(shape) != len(p.shape):
            return False
        spans = [span for span in tiling.spans[p.name] if span]
        return any(all(o.name == p.name or s is None or s.axis != span.axis for o in self.host.parameters
                       for s in tiling.spans[o.name]) for span in spans)  # fmt: skip

    def _wanted(
        self, given: Sequence[Any], lengths: Mapping[Axis, int] | None, stream: GivenStream | None
    ) -> list[NumbaLaunch | NumbaCall] | None:
        """Return what must be called, None where an error must be raised."""
        if lengths is None:
            return None
        if lengths and any(n <= 0 for n in lengths.values()) and empty_together(self.filled, self.sizes):
            return []
        arrays: dict[str, Any] = {}
        for p, each in zip(self.host.parameters, given, strict=True):
            arrays[p.name] = (
                GivenNumber(p.name, NUMBA_TYPE[p.dtype]) if isinstance(each, GivenNumber) else replace(each, seen=True)
            )
        for number, p in enumerate(self.host.scratch):
            arrays[p.name] = GivenArray(f"new {number}", NUMBA_TYPE[p.dtype], self._shape(p, lengths), seen=True)
        return [
            NumbaCall(
                self.sources[launch.kernel.name].launcher, tuple(arrays[name] for name in launch.arrays),
                0 if stream is None else stream,
            )
            for launch in self.host.launches
        ]  # fmt: skip
