"""The module for numba.cuda of a host function: each kernel as that of one kernel is checked, then who launches them.

The module is taken apart, and each kernel with its own launch function read and tried (`numba_text.py`). The host
function is run on arrays that have a type and a shape only; it must call these launch functions in order, on
its arrays and on new ones of the right types and shapes, and refuse what is not its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from cuda_out.numba.expressions import NUMBA_TYPE, python_name
from cuda_out.numba.launching import GivenArray, GivenNumber, GivenStream, Launcher, NumbaCall, NumbaLaunch, RaisedError
from cuda_out.numba.module_text import NotPrinted, parsed, refuse
from swizzle.answers.checking.numba_text import NOT_PRINTED, SHOWN, NumbaChecks, NumbaText, NumbaVerdict
from swizzle.answers.checking.trial import LaunchSize
from swizzle.answers.emit.any_length.conditions import FixedSize
from swizzle.answers.emit.emitters import numba_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.hosts.composition import FilledHost
from swizzle.answers.hosts.lengths import HostTiling
from swizzle.answers.hosts.texts import empty_together, host_numba
from swizzle.answers.status import CheckStatus, worst
from swizzle.solving.solution.in_words import count
from symbolic.errors import SwizzleError
from symbolic.ir.program import Axis, Parameter


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
        if wrong:
            said = f"wrong in {len(wrong)} of {count(len(calls), 'call')}"
            return NumbaVerdict(
                CheckStatus.DIFFERENT, (said, *(f"  {each}" for each in wrong[:SHOWN])), calls=len(calls)
            )
        said = f"launches, their arrays, order, stream and errors are right in {count(len(calls), 'call')}"
        return NumbaVerdict(CheckStatus.EQUAL, (said,), calls=len(calls))

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
