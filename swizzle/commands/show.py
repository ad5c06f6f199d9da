"""`swizzle show`: draw what a kernel moves, as a figure or as a page, and say it in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Literal, TextIO

from msgspec import Struct, field
from msgspec.structs import replace

from swizzle.answers.emit.files import write_whole
from swizzle.answers.show.picture import Picture, drawable, picture_of
from swizzle.commands.bounds import Bounds
from swizzle.commands.output import DONE
from swizzle.commands.progress import wants_colour
from swizzle.commands.solve import SolveArguments, answer, exit_status, solved
from swizzle.commands.target import Target
from swizzle.derive.patterns.deriving import SCRIPT
from swizzle.derive.patterns.picture import derivation_svg
from swizzle.solving.solution.in_words import count
from swizzle.solving.solution.saved import load_saved
from swizzle.solving.solution.solution import Solution
from symbolic.errors import SwizzleError, printable
from symbolic.rewriting.derivation import replay


class ShowArguments(Struct, frozen=True):
    """`swizzle show`."""

    target: str
    overrides: Mapping[str, int] = field(default_factory=dict)
    output: Path | None = None
    block: int = 0
    warp: int = 0
    colour: Literal["element", "lane"] = "element"
    timeout: float | None = None
    quiet: bool = False
    cost: Sequence[str] = ("accumulates",)
    trust: bool = False
    memory: int | None = None


def show(arguments: ShowArguments, out: TextIO, err: TextIO) -> int:
    """Draw a kernel, solved first where it has holes; print what its holes do and what its accesses cost.

    Of a saved derivation its steps are drawn.
    """
    if arguments.target.endswith(SCRIPT):
        return _derivation(arguments, out)
    if arguments.output is not None:
        drawable(arguments.output)
    bounds = Bounds(arguments.timeout, arguments.memory)
    with redirect_stdout(err), bounds.hold():  # what a sketch's own file prints is no part of the answer
        found = _kernel(arguments, bounds, out, err)
        if isinstance(found, int):
            return found
        solution, spec = found
        picture = picture_of(solution, spec, block=arguments.block, warp=arguments.warp, colour=arguments.colour)
        for line in summary(picture):
            out.write(line + "\n")
        if arguments.output is not None:
            picture.save(arguments.output)
            out.write(f"  wrote {printable(str(arguments.output))}\n")
        else:
            name = picture.program.name
            out.write(f"  to see it: -o {name}.html, a page to explore, or -o {name}.svg, a figure\n")
    return DONE


def _derivation(arguments: ShowArguments, out: TextIO) -> int:
    """Print the steps of a derivation that `swizzle derive -o` wrote, taken again, and draw them."""
    path = Path(arguments.target)
    name = path.name.removesuffix(SCRIPT)
    try:
        made = replay(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SwizzleError(
            f"{printable(str(path))} cannot be read: {error}", expected="a derivation that `swizzle derive -o` wrote",
            fix="write it again",
        ) from None  # fmt: skip
    out.write(f"{name}: derived in {count(len(made.steps), 'step')}\n{made.text()}\n")
    if arguments.output is None:
        out.write(f"  to see it: -o {name}.svg, a figure\n")
        return DONE
    if arguments.output.suffix != ".svg":
        raise SwizzleError(f"{arguments.output} for a derivation", expected="a figure", fix=f"-o {name}.svg")
    write_whole(arguments.output, derivation_svg(made, name))
    out.write(f"  wrote {printable(str(arguments.output))}\n")
    return DONE


def _kernel(
    arguments: ShowArguments, bounds: Bounds, out: TextIO, err: TextIO
) -> tuple[Solution, Callable[..., Any]] | int:
    """Return the solution to draw with its specification, or what to leave with where there is none."""
    if arguments.target.endswith(".json"):
        sketch, solution = load_saved(Path(arguments.target), arguments.overrides, trust=arguments.trust)
        return replace(solution, posed=sketch), sketch.spec
    try:
        sketch = Target.of(arguments.target, arguments.overrides).sketch()
    except SwizzleError:
        if ".py:" not in arguments.target:
            raise
        from swizzle.commands.networks import shown

        found = shown(arguments.target, arguments.overrides, arguments.output, out)
        if found is None:
            raise
        if isinstance(found, int):
            return found
        sketch = found
    if not sketch.program.holes:
        return Solution(sketch.program, (), {}, posed=sketch), sketch.spec
    asked = SolveArguments(arguments.target, timeout=arguments.timeout, quiet=arguments.quiet, cost=arguments.cost)
    result = solved(sketch, asked, err, bounds)
    if result.status != "sat":
        out.write(answer(result, [], asked, colour=wants_colour(out)))
        return exit_status(result)
    return result.best, sketch.spec


def summary(picture: Picture) -> list[str]:
    """Return in words what the picture shows: the holes, the memory accesses by line, what is wrong."""
    trace = picture.trace
    lines = [f"{picture.program.name}: {picture.where}, {count(len(picture.panels), 'step')}"]
    names = max((len(table.name) for table in picture.holes), default=0)
    words = max((len(table.words) for table in picture.holes), default=0)
    lines += [f"    {table.name:<{names}}  {table.words:<{words}}   at {table.place}" for table in picture.holes]
    accesses: dict[tuple[int, str], int] = {}
    for row in trace.rows:
        if row.access is not None and row.access.memory != "local" and row.on.any():
            verb = "stores to" if row.access.writes else "loads from"
            what = f"{verb} {row.access.array} ({row.access.memory}): {row.access.summary()}"
            accesses[row.place.line, what] = accesses.get((row.place.line, what), 0) + 1
    for (line, what), times in accesses.items():
        lines.append(f"    line {line} {what}" + (f" ({times} times)" if times > 1 else ""))
    if trace.wrong:
        lines.append(
            f"  {count(len(trace.wrong), 'output')} of the grid differ from the specification's terms; "
            "the picture marks those of this warp"
        )
    return lines
