"""`swizzle layouts`: the best layout of a shared tile, and conversions between distributions, without a kernel.

Patterns are written NAME:ARGUMENT:..., which no shell needs quotes for: `rows:4`, `ldmatrix:4:trans=1`,
`mma:A:m16n8k16`. They are those of `swizzle.layouts`; `striped` and `blocked` are lanes' registers.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final, TextIO

from msgspec import Struct

from cuda_out.c.emitter import is_c_name
from swizzle import layouts
from swizzle.answers.emit.files import check_folder, write_all
from swizzle.commands.bounds import Bounds
from swizzle.commands.output import DONE, NO
from swizzle.layouts.search import FAMILIES
from symbolic.errors import SwizzleError, near, printable

PATTERNS: Final[dict[str, Callable[..., Any]]] = {
    each.__name__: each
    for each in (
        layouts.rows, layouts.columns, layouts.linear, layouts.blocks, layouts.cp_async, layouts.tma,
        layouts.ldmatrix, layouts.stmatrix, layouts.mma,
    )
}  # fmt: skip


def striped(registers: int) -> layouts.Distribution:
    """Return lanes with every 32nd element each: element 32 * register + lane."""
    return layouts.distribution(lambda r, lane: 32 * r + lane, registers=registers, name=f"striped({registers})")


def blocked(registers: int) -> layouts.Distribution:
    """Return lanes with neighbouring elements each: element registers * lane + register."""
    return layouts.distribution(lambda r, lane: registers * lane + r, registers=registers, name=f"blocked({registers})")


HELD: Final[dict[str, Callable[..., Any]]] = {**PATTERNS, "striped": striped, "blocked": blocked}


class LayoutArguments(Struct, frozen=True):
    """What both commands take."""

    bits: int
    name: str
    output: tuple[Path, ...] = ()
    json_object: bool = False
    quiet: bool = False
    timeout: float | None = None
    memory: int | None = None


class BestArguments(LayoutArguments, frozen=True):
    """`swizzle layouts best`."""

    shape: str = ""
    accesses: tuple[str, ...] = ()
    width: int | None = None
    families: tuple[str, ...] | None = None
    at_most: int | None = None
    tma: bool = False


class ConvertArguments(LayoutArguments, frozen=True):
    """`swizzle layouts convert`."""

    src: str = ""
    dst: str = ""
    shape: str | None = None
    via: str = "auto"
    fewest: str = "clocks"
    arch: int = 90
    free: int | None = None


def best(arguments: BestArguments, out: TextIO, err: TextIO) -> int:
    """Find the layout of a tile with the fewest turns for several accesses."""
    _check_outputs(arguments)
    shape = _shape(arguments.shape)
    accesses = [pattern_of(text, PATTERNS, arguments.width) for text in arguments.accesses]
    families = arguments.families or FAMILIES
    unknown = next((each for each in families if each not in FAMILIES), None)
    if unknown is not None:
        raise SwizzleError(
            f"no family of layouts is {unknown!r}",
            expected=f"some of {', '.join(FAMILIES)}, separated by commas",
            fix=near(unknown, FAMILIES) or "leave --families out for all of them",
        )
    with redirect_stdout(err), Bounds(arguments.timeout, arguments.memory).hold():
        found = _asked(
            layouts.best, shape, accesses, bits=arguments.bits, families=families, at_most=arguments.at_most,
            tma=arguments.tma,
        )  # fmt: skip
        code = "" if found.layout is None else _asked(found.layout.cuda, arguments.name)
        said: dict[str, Any] = {"shape": list(shape), "bits": arguments.bits, "kind": None, "proof": found.proof}
        if found.layout is not None and found.counted is not None:
            said |= {name: getattr(found.layout, name) for name in ("kind", "formula", "cute", "tma", "bytes")}
            said |= {name: getattr(found.layout, name) for name in ("table_bytes", "alignment", "instructions")}
            said |= {"turns": found.passes, "least": found.least, "free": found.free, "optimal": found.optimal}
            shares = found.counted.shares
            said |= {"accesses": [{"name": s.name, "turns": s.turns, "least": s.least} for s in shares], "cuda": code}
        wide = [
            text for text, access in zip(arguments.accesses, accesses, strict=True)
            if repr(pattern_of(text, PATTERNS, None)) != repr(access)
        ]  # fmt: skip
        apart = found.layout is None and len(wide) > 1  # where one only is so wide, --width says no more than its own
        hint = f"\n  try    --width only for what is moved so: {wide[0]}:width={arguments.width}" if apart else ""
        _tell(arguments, out, repr(found) + hint, code, said, found.svg())
    return NO if found.layout is None else DONE


def convert(arguments: ConvertArguments, out: TextIO, err: TextIO) -> int:
    """Find how the lanes of a warp get from one distribution of a tile to another."""
    _check_outputs(arguments)
    shape = None if arguments.shape is None else _shape(arguments.shape)
    sides = [each if "|" in each else pattern_of(each, HELD, None) for each in (arguments.src, arguments.dst)]
    with redirect_stdout(err), Bounds(arguments.timeout, arguments.memory).hold():
        if shape is None and not all(isinstance(each, str | layouts.Distribution) for each in sides):
            example = f"--shape 16x8, if the tile of {arguments.src} and {arguments.dst} has 16 rows and 8 columns"
            raise SwizzleError("no shape", expected="the tile's shape, as a pattern is one of any tile", fix=example)
        found = _asked(
            layouts.convert, *sides, bits=arguments.bits, via=arguments.via, fewest=arguments.fewest,
            arch=arguments.arch, shape=shape, free=arguments.free,
        )  # fmt: skip
        code = _asked(found.cuda, arguments.name)
        said = {name: getattr(found, name) for name in ("via", "shuffles", "selects", "transpositions", "clocks")}
        said |= {"source": str(found.source), "target": str(found.target), "bits": found.bits, "bound": found.bound}
        said |= {"proof": found.proof, "permutation": list(found.permutation), "cuda": code}
        if found.shared is not None:
            said |= {"bytes": found.shared.layout.bytes, "alignment": found.shared.layout.alignment}
        permuted = f"\n  permutation {' '.join(map(str, found.permutation))}" if found.permutation else ""
        _tell(arguments, out, repr(found) + permuted, code, said, found.svg())
    return DONE


def presets(held: bool) -> list[str]:
    """Return patterns as a command line has them, for completion: with the arguments that they usually have."""
    shapes = ("m16n8k8", "m16n8k16", "m16n8k32")
    fragments = [f"mma:{operand}:{shape}" for operand in "ABC" for shape in shapes]
    found = [
        "rows",
        "rows:4",
        "columns",
        "columns:4",
        "linear:row",
        "linear:column",
        "blocks:4:8",
        "cp_async:16",
        "tma",
    ]
    found += [*(f"{each}:{n}" for each in ("ldmatrix", "stmatrix") for n in (1, 2, 4)), *fragments]
    return [*found, "striped:4", "blocked:4"] if held else found


# ---- what is asked ------------------------------------------------------------------------------------------------


def _shape(text: str) -> tuple[int, ...]:
    sizes = text.lower().split("x")
    if not all(size.isdecimal() and int(size) for size in sizes):
        raise SwizzleError(
            f"the shape {text!r}", expected="the tile's extents, with an x between them", fix="32x32, or 64x64x2"
        )
    return tuple(map(int, sizes))


def pattern_of(text: str, patterns: dict[str, Callable[..., Any]], width: int | None) -> Any:
    """Return the pattern NAME:ARGUMENT:...; `width` is that of patterns which have one and do not name it."""
    name, *words = text.split(":")
    if name not in patterns:
        raise SwizzleError(
            f"no pattern is {name!r}",
            expected=f"one of {', '.join(patterns)}"
            + (", or bits: 'c0 r3 | c1 c2 r0 r1 r2'" if "blocked" in patterns else ""),
            fix=near(name, patterns) or "rows, or mma:A:m16n8k16",
        )
    made = patterns[name]
    parameters = inspect.signature(made).parameters
    given: dict[str, Any] = {}
    free = [each for each in parameters if each not in {word.partition("=")[0] for word in words if "=" in word}]
    for word in words:
        key, equals, value = word.partition("=")
        key, value = (key, value) if equals else (free.pop(0) if free else "", word)
        if key not in parameters or key in given:
            raise SwizzleError(
                f"{text!r} has {word!r}", expected=f"at most {_spelled(name, parameters)}", fix="leave it out"
            )
        given[key] = _value(value, parameters[key])
    if "width" in parameters and name != "blocks" and width is not None:
        given.setdefault("width", width)
    missing = [key for key, each in parameters.items() if each.default is inspect.Parameter.empty and key not in given]
    if missing:
        raise SwizzleError(
            f"{text!r} has no {' and no '.join(missing)}",
            expected=_spelled(name, parameters),
            fix={"mma": "mma:A:m16n8k16", "blocks": "blocks:4:8"}.get(name, f"{name}:4"),
        )
    return _asked(made, **given)


def _value(text: str, parameter: inspect.Parameter) -> Any:
    if isinstance(parameter.default, bool):
        return {"1": True, "true": True, parameter.name: True, "0": False, "false": False}.get(text.lower(), text)
    return int(text) if text.lstrip("-").isdecimal() else text


def _spelled(name: str, parameters: Any) -> str:
    return ":".join([name, *(each.upper() for each in parameters)])


def _asked(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call the library; its mistakes are those of the command line, not of a line of ours."""
    try:
        return function(*given, **named)
    except SwizzleError as error:
        raise SwizzleError(error.found, expected=error.expected, fix=error.fix) from None


# ---- what is said -------------------------------------------------------------------------------------------------

_KINDS: Final = (".svg", ".cuh", ".h", ".cu")


def _check_outputs(arguments: LayoutArguments) -> None:
    if not is_c_name(arguments.name):
        raise SwizzleError(f"--name {arguments.name}", expected="a name in C++", fix="--name cell")
    for path in arguments.output:
        if path.suffix not in _KINDS:
            raise SwizzleError(
                f"-o {path}",
                expected="a figure, NAME.svg, or a header, NAME.cuh",
                fix=f"-o {path.with_suffix('.svg')}",
            )
        check_folder(path.parent)


def _tell(
    arguments: LayoutArguments, out: TextIO, text: str, code: str, said: dict[str, Any], figure: str
) -> None:  # fmt: skip
    contents = {
        path: figure if path.suffix == ".svg" else f"#pragma once\n\n{code}"
        for path in arguments.output if code
    }  # fmt: skip
    write_all(contents)
    files = list(map(str, contents))
    if arguments.json_object:
        out.write(json.dumps({**said, "files": files}, indent=2) + "\n")
        return
    out.write(f"{text}\n" + "".join(f"  wrote {printable(file)}\n" for file in files) + (f"\n{code}" if code else ""))
