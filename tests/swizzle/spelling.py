"""A program spelled as short lines, so that a test can pin what the front end read."""

from collections.abc import Iterator, Sequence

from swizzle.language.parameters import Parameters
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from symbolic.ir.program import (
    Accumulate,
    Assign,
    Barrier,
    CopyAsync,
    CopyGroup,
    DeclareAccumulator,
    DeclareArray,
    Expr,
    For,
    If,
    Stmt,
    Store,
)
from symbolic.ir.python_text import python_text


def lines(body: Sequence[Stmt], indent: str = "") -> Iterator[str]:
    """Yield one line for each statement."""
    for statement in body:
        match statement:
            case Assign(name=name, value=value):
                yield f"{indent}{name} = {python_text(value)}"
            case Store(array=array, indices=indices, value=value):
                yield f"{indent}{array}[{_list(indices)}] = {python_text(value)}"
            case DeclareArray(name=name, memory=memory, shape=shape, dtype=dtype):
                yield f"{indent}{memory} {dtype.value} {name}{list(shape)}"
            case DeclareAccumulator(name=name, outer=outer, inner=inner, shape=shape, dtype=dtype):
                yield f"{indent}accumulator {dtype.value} {name}{list(shape)} {outer} {inner}"
            case Accumulate(accumulator=name, indices=indices, operands=operands, condition=condition):
                when = "" if condition is None else f" when {python_text(condition)}"
                yield f"{indent}{name}[{_list(indices)}] <- {_list(operands)}{when}"
            case Barrier(scope=scope):
                yield f"{indent}barrier {scope}"
            case CopyAsync(array=array, indices=indices, source=source, width=width):
                yield f"{indent}{array}[{_list(indices)}] <- {width} of {python_text(source)}"
            case CopyGroup(left=left):
                yield f"{indent}commit" if left is None else f"{indent}wait {left}"
            case For(variable=variable, start=start, stop=stop, step=step, body=inner):
                yield f"{indent}for {variable} in {_list((start, stop, step))}"
                yield from lines(inner, indent + "  ")
            case If(condition=condition, then=then, otherwise=otherwise):
                yield f"{indent}if {python_text(condition)}"
                yield from lines(then, indent + "  ")
                if otherwise:
                    yield f"{indent}else"
                    yield from lines(otherwise, indent + "  ")


def _list(exprs: Sequence[Expr]) -> str:
    return ", ".join(map(python_text, exprs))


def read(
    body: str, arrays: str = "x=f32[64]; y=f32.out[64]", head: str = "", launch: str = "block=32, grid=2"
) -> Sketch:
    """Return the sketch whose kernel has this body, over these arrays."""
    names = [part.split("=")[0].strip() for part in arrays.split(";")]
    inputs = [part.split("=")[0].strip() for part in arrays.split(";") if ".out" not in part and "[" in part]
    indented = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    text = (
        f"{head}\n@spec\ndef wanted({', '.join(inputs)}):\n    return 0\n"
        f"@sketch(spec=wanted, {launch}, {arrays.replace(';', ',')})\ndef move({', '.join(names)}):\n{indented}\n"
    )
    (sketch,) = read_swz(text, "inline.swz", Parameters())
    return sketch


def spelled(body: str, **options: str) -> list[str]:
    """Return the lines of the kernel with this body."""
    return list(lines(read(body, **options).program.body))
