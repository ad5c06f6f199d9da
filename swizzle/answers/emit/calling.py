"""What `solution(x, w, y)` does: check the arrays, choose the text for their sizes, and run it.

Arrays on a GPU (of numba, CuPy, PyTorch, or anything else with `__cuda_array_interface__`) are used in place. NumPy
arrays are copied to a GPU and back. Without a GPU, they go through the CPU emulation.

A solution is also written as text and into files, as `swizzle solve -o` does, and read back from its NAME.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.c.printer import MAX_BLOCKS, CudaSource
from cuda_out.compile.launch import gpu_available, launch, structure
from cuda_out.emulate.emulate import emulate
from cuda_out.tiling.tiling import AXES, Tiling
from swizzle.answers.emit.emitters import FILE_KINDS, Sizes, about_sizes, allowed_text, cuda_source, provenance
from swizzle.answers.emit.files import write_whole
from swizzle.answers.emit.sizes import sizes_of as find
from swizzle.language.specs.verify import verify
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.in_words import cost_text
from swizzle.solving.solution.saved import load_saved, saved_text
from swizzle.solving.solution.solution import Result, Solution
from symbolic.algebra.numbers import NUMPY_DTYPES, STORED, as_numbers, in_memory
from symbolic.errors import SwizzleError
from symbolic.ir.facts import LONGEST
from symbolic.ir.index import cell_name
from symbolic.ir.program import Axis, DType, Parameter, Program

BF16_TYPES: Final = ("<V2", "|V2", "<u2")
"""How arrays say that they hold bf16, of which NumPy knows nothing: two bytes, as in ml_dtypes, or their bits."""


class _View(Struct, frozen=True):
    """One array: where its elements are, and what they are. `typestr` is NumPy's, such as '<f4'."""

    on_device: bool
    shape: tuple[int, ...]
    typestr: str
    address: int
    read_only: bool
    contiguous: bool

    @property
    def end(self) -> int:
        return self.address + prod(self.shape) * np.dtype(self.typestr).itemsize


def call(solution: Solution, arrays: Sequence[Any], stream: Any) -> None:
    """Run a solved kernel on arrays and numbers, in the order of its parameters; outputs are written in place.

    Raises SwizzleError for arrays that do not fit.
    """
    program = solution.program
    views = views_of(program, arrays)
    scalars = {p.name: _scalar(p, value) for p, value in zip(program.parameters, arrays, strict=True) if p.is_scalar}
    on_device = any(view.on_device for view in views.values())
    if stream is not None and not on_device:
        raise SwizzleError("stream= with NumPy arrays", expected="device arrays", fix="leave out stream=")
    shapes = [views[p].shape if p in views else p.shape for p in program.parameters]
    source, grid, lengths = _text_for(solution, shapes)
    if 0 in grid:
        return  # arrays of length 0

    given = [
        structure(_given(p, _by_value(p, array))) if p.by_value else scalars.get(p.name, _given(p, array))
        for p, array in zip(program.parameters, arrays, strict=True)
    ]
    given += map(np.int64, lengths)
    if not on_device and not gpu_available()[0]:
        emulate(source.text, source.entry, grid, program.block, given, shared_bytes=source.shared_bytes)
        return
    for parameter, bytes_ in zip(program.parameters, source.alignment, strict=True):
        if on_device and parameter in views and views[parameter].address % bytes_:
            raise _wrong(
                parameter,
                f"starts at an address that is not a multiple of {bytes_} bytes",
                "an aligned array, as this kernel loads or stores vectors",
                "copy the slice or view into an array of its own",
            )
    shared = source.shared_bytes
    launch(source.text, source.entry, grid, program.block, given, stream=stream, shared_bytes=shared)


# ---- the arrays ------------------------------------------------------------------------------------------------


def views_of(program: Program, arrays: Sequence[Any]) -> dict[Parameter, _View]:
    """Check what a program is called with, but for the shapes; return where each array is."""
    _check_count(program, arrays)
    pairs = zip(program.parameters, arrays, strict=True)
    return _views({p: a for p, a in pairs if not p.is_scalar and not p.by_value}, program)


def _check_count(program: Program, arrays: Sequence[Any]) -> None:
    if len(arrays) != len(program.parameters):
        what = "argument" if any(p.is_scalar for p in program.parameters) else "array"
        raise SwizzleError(
            f"{program.name} is called with {len(arrays)} {what}{'s' if len(arrays) != 1 else ''}",
            expected=f"{len(program.parameters)}, in this order: {', '.join(map(_declared, program.parameters))}",
            fix=f"call {program.name}({', '.join(parameter.name for parameter in program.parameters)})",
        )


def _views(arrays: Mapping[Parameter, Any], program: Program) -> dict[Parameter, _View]:
    """Check everything about the arrays but their shapes."""
    views = {parameter: _view(parameter, array) for parameter, array in arrays.items()}
    if len({view.on_device for view in views.values()}) > 1:
        host, device = (
            ", ".join(p.name for p, view in views.items() if view.on_device is there) for there in (False, True)
        )
        raise SwizzleError(
            f"{program.name} is called with NumPy arrays ({host}) and device arrays ({device})",
            expected="one or the other",
            fix="copy the NumPy arrays to the device, for example with numba's cuda.to_device",
        )
    for parameter, view in views.items():
        _check(parameter, view)
    for parameter, array in arrays.items():
        if parameter.below and not views[parameter].on_device:
            _check_range(parameter, array)
    for (other, earlier), (parameter, view) in combinations(views.items(), 2):
        writes = {parameter.role, other.role} & {"out", "inout"}
        if writes and max(view.address, earlier.address) < min(view.end, earlier.end):
            raise _wrong(
                parameter,
                f"shares memory with {other.name}",
                "arrays apart from each other where one is written",
                "pass a copy of one of them",
            )
    return views


def _scalar(parameter: Parameter, value: Any) -> np.generic:
    """Return a number as the kernel takes it: a float rounded to its type, an integer that fits."""
    dtype: np.dtype[Any] = np.dtype(NUMPY_DTYPES[parameter.dtype])
    kind, wanted = type(value).__name__, f"one number, {parameter.dtype.value}"
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        what = f"is an array of shape {tuple(value.shape)}" if hasattr(value, "shape") else f"is a {kind}"
        raise _wrong_scalar(parameter, what, wanted, "pass a number, such as 2")
    if parameter.dtype.is_float:
        rounded: np.generic = in_memory(as_numbers(value, parameter.dtype), parameter.dtype)
        return rounded
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if not isinstance(value, Integral):
        raise _wrong_scalar(parameter, f"is {value!r}", f"{wanted}: an integer", "round it")
    if not low <= int(value) <= high:
        raise _wrong_scalar(parameter, f"is {int(value)}", f"{wanted}: from {low} to {high}", "declare a wider type")
    whole: np.generic = dtype.type(int(value))
    return whole


def _by_value(parameter: Parameter, array: Any) -> np.ndarray[Any, Any]:
    """Check an array that is passed by value, which is read when the kernel is launched."""
    if not isinstance(array, np.ndarray):
        raise _wrong(
            parameter,
            f"is a {type(array).__module__}.{type(array).__name__}",
            "a NumPy array, as its elements are passed by value",
            "np.asarray(...); copy an array on a device to the host first",
        )
    _check(parameter, replace(_view(parameter, array), contiguous=True))
    if array.shape != parameter.shape:
        shape, wanted = (", ".join(map(str, each)) for each in (array.shape, parameter.shape))
        raise _wrong(parameter, f"has the shape [{shape}]", f"[{wanted}]", "solve the sketch for another shape")
    return array


def _wrong_scalar(parameter: Parameter, what: str, expected: str, fix: str) -> SwizzleError:
    return SwizzleError(f"the scalar {parameter.name} {what}", expected=expected, fix=fix)


def _view(parameter: Parameter, array: Any) -> _View:
    if isinstance(array, np.ndarray):
        address = int(array.__array_interface__["data"][0])
        return _View(False, array.shape, array.dtype.str, address, not array.flags.writeable, array.flags.c_contiguous)
    try:
        interface = array.__cuda_array_interface__
    except (AttributeError, RuntimeError):  # PyTorch says with a RuntimeError that a tensor needs its gradient
        raise _wrong(
            parameter,
            f"is a {type(array).__module__}.{type(array).__name__}",
            "a NumPy array, or a device array (with __cuda_array_interface__) of numba, CuPy, PyTorch, ...",
            "np.asarray(...), or move it to the GPU; a PyTorch tensor that needs its gradient: .detach()",
        ) from None
    shape, typestr = tuple(interface["shape"]), str(interface["typestr"])
    address, read_only = interface["data"]
    item, strides = np.dtype(typestr).itemsize, interface.get("strides")
    packed = tuple(item * prod(shape[axis + 1 :]) for axis in range(len(shape)))
    contiguous = strides is None or 0 in shape or _same_strides(shape, tuple(strides), packed)
    return _View(True, shape, typestr, int(address or 0), bool(read_only), contiguous)


def _given(parameter: Parameter, array: Any) -> Any:
    """Return an array as the kernel is given it: of NumPy's bf16 the bits."""
    return array.view(np.uint16) if parameter.dtype is DType.BF16 and isinstance(array, np.ndarray) else array


def _same_strides(shape: tuple[int, ...], strides: tuple[int, ...], packed: tuple[int, ...]) -> bool:
    """Compare strides where they matter: in dimensions of more than one element."""
    return all(extent == 1 or own == wanted for extent, own, wanted in zip(shape, strides, packed, strict=True))


def _check(parameter: Parameter, view: _View) -> None:
    if parameter.dtype is DType.BF16:
        if view.typestr not in BF16_TYPES:
            raise _wrong(
                parameter,
                f"holds {_dtype_name(view.typestr)}",
                "bf16: bfloat16 of the package ml_dtypes, or its bits as uint16",
                "convert it: .astype(ml_dtypes.bfloat16)",
            )
        view = replace(view, typestr="<u2")
    wanted = np.dtype(STORED[parameter.dtype])
    if view.typestr != wanted.str:
        raise _wrong(
            parameter,
            f"holds {_dtype_name(view.typestr)}",
            f"{parameter.dtype.value} ({wanted.name})",
            f"convert it: .astype({wanted.name!r})" if parameter.role != "out" else f"make it with dtype {wanted.name}",
        )
    if not view.contiguous:
        raise _wrong(
            parameter, "is not contiguous", "an array in C order", "copy it: np.ascontiguousarray, .contiguous()"
        )
    if view.read_only and parameter.role in ("out", "inout"):
        raise _wrong(parameter, "is read-only, but the kernel writes it", "an array that can be written", "")


def _check_range(parameter: Parameter, array: np.ndarray[Any, Any]) -> None:
    """Refuse index data beyond its declared range; arrays on a device are taken at their word."""
    wrong = array[(array < 0) | (array >= parameter.below)]
    if wrong.size:
        raise _wrong(
            parameter,
            f"holds {wrong.reshape(-1)[0]}",
            f"index data from 0 to {parameter.below - 1}, as the sketch declares it",
            "mend the indices, or declare the range that they have",
        )


def _dtype_name(typestr: str) -> str:
    dtype = np.dtype(typestr)
    return dtype.name if dtype.isnative else f"{dtype.name} of the other byte order"


def _wrong(parameter: Parameter, what: str, expected: str, fix: str) -> SwizzleError:
    return SwizzleError(f"the array for {parameter.name} {what}", expected=expected, fix=fix)


def _declared(parameter: Parameter) -> str:
    if parameter.is_scalar:
        return f"{parameter.name} {parameter.dtype.value} (a number)"
    shape = ", ".join(map(str, parameter.shape))
    return f"{parameter.name} {parameter.dtype.value}[{shape}]" + (
        f" ({parameter.role})" if parameter.role != "in" else ""
    )


# ---- the text for their sizes ----------------------------------------------------------------------------------


def solution_sizes(solution: Solution) -> Sizes:
    """Find out, once, at which lengths a solution may run; None if its specification is not available."""
    if "sizes" not in solution._made:
        posed = solution.posed
        solution._made["sizes"] = None if posed is None else find(solution.program, posed)
    found: Sizes = solution._made["sizes"]
    return found


def _text_for(
    solution: Solution, shapes: Sequence[tuple[int, ...]]
) -> tuple[CudaSource, tuple[int, int, int], tuple[int, ...]]:
    """Return a text for arrays of these shapes, its grid, and the lengths that follow the arrays."""

    program, made = solution.program, solution._made
    if [parameter.shape for parameter in program.parameters] == list(shapes):
        if "fixed" not in made:
            made["fixed"] = cuda_source(program)
        return made["fixed"], program.grid, ()

    sizes = solution_sizes(solution)
    if not isinstance(sizes, Tiling):
        raise _wrong_shapes(program, shapes, sizes)
    lengths = lengths_of(program, sizes, shapes)
    grid = sizes.grid(program, lengths)
    for axis, blocks in zip(AXES, grid, strict=True):
        if blocks > MAX_BLOCKS[axis]:
            raise SwizzleError(
                f"{program.name} would need {blocks} blocks along {axis}",
                expected=f"at most {MAX_BLOCKS[axis]}",
                fix="split the arrays, and call it once for each part",
            )
    if "tiled" not in made:
        made["tiled"] = cuda_source(program, (), sizes)
    source: CudaSource = made["tiled"]
    return source, grid, source.lengths(lengths)


def lengths_of(
    program: Program, tiling: Tiling, shapes: Sequence[tuple[int, ...]], named: Sequence[str] = ()
) -> Mapping[Axis, int]:
    """Return the lengths that give these shapes; raises SwizzleError for others, with the lengths as `named`."""
    found: dict[Axis, int] = {}
    for parameter, shape in zip(program.parameters, shapes, strict=True):
        for extent, span in zip(shape, tiling.spans[parameter.name], strict=False):
            if span is not None:
                found[span.axis] = (extent - span.halo) // span.scale
    fits = all(tiling.shape(p, found) == shape for p, shape in zip(program.parameters, shapes, strict=True))
    fits = fits and all(found[a.axis] >= 0 and found[a.axis] % a.step == 0 for a in tiling.axes)
    loops = tiling.of_loops
    fits = fits and (loops is None or loops.least <= found["k"] <= LONGEST)
    if not fits or any(0 < found[a.axis] < a.least for a in tiling.axes):
        raise _wrong_shapes(program, shapes, tiling, named)
    return found


def _wrong_shapes(
    program: Program, shapes: Sequence[tuple[int, ...]], sizes: Sizes, named: Sequence[str] = ()
) -> SwizzleError:
    arrays = [(p, shape) for p, shape in zip(program.parameters, shapes, strict=True) if not p.is_scalar]
    given = ", ".join(f"{parameter.name}[{', '.join(map(str, shape))}]" for parameter, shape in arrays)
    expected = ", ".join(f"{p.name}[{', '.join(map(str, p.shape))}]" for p, _ in arrays)
    fix = "declare other sizes in the sketch and solve it again"
    if isinstance(sizes, Tiling):
        expected, fix = allowed_text(program, sizes, named), ""
    elif sizes is not None:
        expected += f"; the kernel is for these sizes only: {sizes}"
    return SwizzleError(f"{program.name} is called with {given}", expected=expected, fix=fix)


def save(result: Result, path: str | Path) -> Path:
    """Write the best solution of a result; return the path. Raises SwizzleError as `Result.save` says."""
    path, sketch = Path(path), result.posed
    if path.suffix != ".json":
        raise SwizzleError(
            f"{path} is not a file name for a solution", expected="a file that ends in .json",
            fix=f"result.save({str(path.with_suffix('.json'))!r}); the kernel's text is result.best.to_cuda()",
        )  # fmt: skip
    best = result.best
    file = Path(sketch.place.file) if sketch is not None else None
    if sketch is None or file is None or not file.is_file():
        raise SwizzleError(
            f"{best.program.name} stands in no file, which a saved solution would name",
            place=None if sketch is None else sketch.place,
            expected="the result of a sketch in a .py or .swz file", fix="put the sketch into a file of its own",
        )  # fmt: skip
    write_whole(path, saved_text(result, file, sketch.parameters, path.parent))
    return path


def load_solution(
    path: str | Path,
    sketch: Sketch | None = None,
    *,
    overrides: Mapping[str, int] | None = None,
    trust: bool = False,
) -> Solution:
    """Return the solution in a file that `Result.save` or `swizzle solve -o` wrote, verified again.

    Its sketch is `sketch`, where that is given. Else the file that the solution names is read again, with the saved
    parameters or those of `overrides`; a Python file is run only where this user solved it here, or with `trust`.

    Raises SwizzleError if the file is no solution, if the sketch has changed, so that the solution fills other holes or
    does not give the specification's values, or if a Python file would have to be run.
    """
    posed, solution = load_saved(Path(path), overrides or {}, trust=trust, sketch=sketch)
    program = solution.program
    found = verify(program, posed.spec)
    if found.violations:
        raise found.violations[0].error()
    if found.mismatches:
        wrong = found.mismatches[0]
        (shape,) = (p.shape for p in program.parameters if p.name == wrong.array)
        raise SwizzleError(
            f"{path} does not solve {posed.name}: {cell_name(wrong.array, shape, wrong.address)} is not what the "
            "specification says",
            place=posed.place, expected="the sketch and the parameters that were solved",
            fix=f"solve it again: swizzle solve {posed.place.file}",
        )  # fmt: skip
    return replace(solution, posed=posed)


def text_of(solution: Solution, emitter: Literal["cuda", "header", "numba"]) -> str:
    """Return the text of one of the FILE_KINDS; for arrays of any length if that is shown."""
    return FILE_KINDS[emitter].text(solution.program, *_head_and_sizes(solution))


def source_of(solution: Solution) -> CudaSource:
    """Return the text of the `.cu` file, with the places in the sketch that its lines come from."""
    return cuda_source(solution.program, *_head_and_sizes(solution))


def _head_and_sizes(solution: Solution) -> tuple[Sequence[str], Sizes]:
    sizes, posed = solution_sizes(solution), solution.posed
    claims = [] if posed is None else ["Verified for all inputs against the specification."]
    claims.append(f"Cost: {cost_text(solution.cost)}.")
    head = provenance(solution, claims, posed.parameters if posed else None)
    return [*head, *about_sizes(solution.program, sizes)], sizes
