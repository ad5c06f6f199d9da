"""Swizzle: a solver-aided language for GPU kernels with holes.

`from swizzle import sketch, spec, cuda, f32, sw_xform, ...` is all that a sketch needs. A name is loaded when it is
asked for, so `swizzle --help` loads none, and a sketch loads no solver. The operations on solutions (call, print, draw,
explain) are handed in here, so that in the layers below solutions are data only.
"""

from __future__ import annotations

from swizzle.commands import startup as startup  # guards the process before the rest is imported

# isort: split

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from swizzle.solving.solution.abilities import HANDED_IN

if TYPE_CHECKING:
    from swizzle import layouts as layouts
    from swizzle import scans as scans
    from swizzle.answers.checking.checked import Check, check
    from swizzle.answers.device_scans.device import DeviceScan, device_scan
    from swizzle.answers.emit.calling import load_solution
    from swizzle.answers.hosts.running import HostFunction, host_function
    from swizzle.commands.sweep import sweep
    from swizzle.derive.tuning.tune import Tuned, tune
    from swizzle.language.cuda_namespace import cuda
    from swizzle.language.element_types import (
        ArrayType,
        ElementType,
        bf16,
        f16,
        f32,
        f64,
        i8,
        i16,
        i32,
        i64,
        u8,
        u16,
        u32,
        u64,
    )
    from swizzle.language.gpu import gpu
    from swizzle.language.mathematics import gather, math, where
    from swizzle.language.operators import Operator, operator
    from swizzle.language.parameters import choice, parameter, require, sw_pad
    from swizzle.language.specs.spec import Spec, spec
    from swizzle.language.surface import (
        Accumulator,
        accumulator,
        block_load,
        block_store,
        exchange,
        maximum,
        minimum,
        permute_local,
        sw_cond,
        sw_from,
        sw_home,
        sw_index,
        sw_part,
        sw_place,
        sw_when,
        sw_xform,
        warp_load,
        warp_store,
        zeros,
    )
    from swizzle.operators.scan_operators import scan_operator
    from swizzle.operators.serial import Serial, serial
    from swizzle.sketches.declaration import sketch
    from swizzle.sketches.host import HostSketch, host
    from swizzle.sketches.loading import load
    from swizzle.sketches.sketch import Sketch
    from swizzle.solving.costs.cost import Cost, Filled
    from swizzle.solving.search.metasketch import solve
    from swizzle.solving.solution.hole_values import HoleValues
    from swizzle.solving.solution.solution import Abilities, Drawn, Explained, Limits, Result, Solution
    from swizzle.strangers.proving.proof import KernelProof
    from swizzle.strangers.proving.prove import prove
    from symbolic.errors import SwizzleError

_LIVES_IN = {
    "swizzle.answers.checking.checked": "Check check",
    "swizzle.solving.costs.cost": "Cost Filled",
    "swizzle.answers.hosts.running": "HostFunction host_function",
    "swizzle.sketches.host": "HostSketch host",
    "swizzle.answers.emit.calling": "load_solution",
    "swizzle.language.cuda_namespace": "cuda",
    "swizzle.language.element_types": "ArrayType ElementType bf16 f16 f32 f64 i8 u8 i16 u16 i32 i64 u32 u64",
    "swizzle.language.mathematics": "gather math where",
    "swizzle.language.operators": "Operator operator",
    "swizzle.language.parameters": "choice parameter require sw_pad",
    "swizzle.language.gpu": "gpu",
    "swizzle.derive.tuning.tune": "Tuned tune",
    "swizzle.language.surface": "Accumulator accumulator block_load block_store exchange maximum minimum "
    "permute_local sw_cond sw_from sw_home sw_index sw_part sw_place sw_when sw_xform warp_load warp_store zeros",
    "swizzle.operators.serial": "Serial serial",
    "swizzle.answers.device_scans.device": "DeviceScan device_scan",
    "swizzle.operators.scan_operators": "scan_operator",
    "swizzle.solving.search.metasketch": "solve",
    "swizzle.sketches.loading": "load",
    "swizzle.sketches.declaration": "sketch",
    "swizzle.sketches.sketch": "Sketch",
    "swizzle.language.specs.spec": "Spec spec",
    "swizzle.solving.solution.solution": "Limits Result Solution",
    "swizzle.strangers.proving.prove": "prove",
    "swizzle.strangers.proving.proof": "KernelProof",
    "swizzle.commands.sweep": "sweep",
    "symbolic.errors": "SwizzleError",
}
_HOME = {name: module for module, names in _LIVES_IN.items() for name in names.split()}

__all__ = [
    "Accumulator",
    "ArrayType",
    "Check",
    "Cost",
    "DeviceScan",
    "ElementType",
    "Filled",
    "HostFunction",
    "HostSketch",
    "KernelProof",
    "Limits",
    "Operator",
    "Result",
    "Serial",
    "Sketch",
    "Solution",
    "Spec",
    "SwizzleError",
    "Tuned",
    "accumulator",
    "bf16",
    "block_load",
    "block_store",
    "check",
    "choice",
    "cuda",
    "device_scan",
    "exchange",
    "f16",
    "f32",
    "f64",
    "gather",
    "gpu",
    "host",
    "host_function",
    "i8",
    "i16",
    "i32",
    "i64",
    "layouts",
    "load",
    "load_solution",
    "math",
    "maximum",
    "minimum",
    "operator",
    "parameter",
    "permute_local",
    "prove",
    "require",
    "scan_operator",
    "scans",
    "serial",
    "sketch",
    "solve",
    "spec",
    "sw_cond",
    "sw_from",
    "sw_home",
    "sw_index",
    "sw_pad",
    "sw_part",
    "sw_place",
    "sw_when",
    "sw_xform",
    "sweep",
    "tune",
    "u8",
    "u16",
    "u32",
    "u64",
    "warp_load",
    "warp_store",
    "where",
    "zeros",
]


class _Abilities:
    """What can be done with solutions, each loaded when it is asked for."""

    def call(self, solution: Solution, arrays: Sequence[Any], stream: Any) -> None:
        from swizzle.answers.emit.calling import call

        call(solution, arrays, stream)

    def check(self, solution: Solution, emitted: bool) -> Check:
        from swizzle.answers.checking.checked import check

        return check(solution, emitted=emitted)

    def text(self, solution: Solution, emitter: Literal["cuda", "header", "numba"]) -> str:
        from swizzle.answers.emit.calling import text_of

        return text_of(solution, emitter)

    def tables(self, solution: Solution) -> dict[str, HoleValues]:
        from swizzle.solving.solution.answered import hole_values

        return hole_values(solution)

    def picture(self, solution: Solution, *, block: int, warp: int, colour: Literal["element", "lane"]) -> Drawn:
        from swizzle.answers.show.picture import picture_of

        return picture_of(solution, block=block, warp=warp, colour=colour)

    def explanation(self, result: Result, timeout: float | None) -> Explained:
        from swizzle.answers.explain.explain import explain_result

        return explain_result(result, timeout)

    def evidence(self, result: Result) -> tuple[str, ...]:
        from swizzle.answers.explain.explain import because

        return because(result)

    def save(self, result: Result, path: str | Path) -> Path:
        from swizzle.answers.emit.calling import save

        return save(result, path)

    def with_homes(self, sketch: Sketch, homes: Sequence[str]) -> Sketch:
        from swizzle.solving.exchanges import refilled

        return refilled(sketch, homes)


_abilities: Abilities = _Abilities()
HANDED_IN[:] = [_abilities]


def __getattr__(name: str) -> Any:
    if name in ("layouts", "scans"):
        return import_module(f"swizzle.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOME[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
