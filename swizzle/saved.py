"""A solution on file (NAME.json): which sketch, which parameters, and the constants of each hole.

The file holds no kernel: loading it reads the sketch again, gives each hole its function, and leaves it to
`swizzle check` to verify the result, so that a file from a stranger, or an outdated one, is never believed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import assert_never

from swizzle.commands.report import holes_as_json
from swizzle.loading import load
from swizzle.sketch import Sketch
from swizzle.solution import HoleFormula, Result, Solution
from swizzle.version import __version__
from symbolic.errors import SwizzleError
from symbolic.program import Hole
from templates.chooser import Choice
from templates.formula import fill
from templates.holes import template

FORMAT = "swizzle solution 1"
_XFORM = ("gs", "c_f", "d_f", "wrap", "c_r", "d_r", "c")
_COND = ("left", "sign", "right", "equal", "negated", "threshold")


def saved_text(result: Result, sketch_file: Path, parameters: Mapping[str, int], folder: Path) -> str:
    """Return the file's text for the best solution of a result; the sketch's path is relative to `folder`."""
    best = result.best
    holes = [
        {**shown, "kind": hole.kind, "constants": dict(hole.constants)}
        for shown, hole in zip(holes_as_json(best.holes), best.holes, strict=True)
    ]
    content = {
        "format": FORMAT,
        "made_by": f"swizzle {__version__}",
        "file": Path(os.path.relpath(sketch_file, folder)).as_posix(),
        "sketch": result.sketch,
        "parameters": dict(parameters),
        "warp_size": result.warp_size,
        "space": result.space,
        "optimal": result.optimal,
        "cost": dict(best.cost),
        "holes": holes,
    }
    return json.dumps(content, indent=2) + "\n"


def load_saved(path: Path, overrides: Mapping[str, int]) -> tuple[Sketch, Solution]:
    """Read a solution file, read its sketch again and fill the holes; `overrides` win over the saved parameters.

    Raises SwizzleError when the file is not a solution, or its sketch has other holes by now.
    """
    content = _content(path)
    sketch_file = path.parent / content["file"]
    (sketch,) = load(sketch_file, content["sketch"], {**content["parameters"], **overrides})
    saved, open_holes = content["holes"], sketch.program.holes
    if [(h["name"], h["kind"]) for h in saved] != [(h.name, h.kind) for h in open_holes]:
        raise SwizzleError(
            f"{path} fills the holes {_names(saved)}, but {sketch.name} has {', '.join(h.name for h in open_holes)}",
            place=sketch.program.place,
            expected="the sketch that was solved",
            mend=f"solve it again: swizzle solve {sketch_file}",
        )
    templates = [template(hole, (), "3") for hole in open_holes]
    choices = [_choice(path, hole, entry["constants"]) for hole, entry in zip(open_holes, saved, strict=True)]
    formulas = tuple(
        HoleFormula(hole.name, hole.kind, hole.place, entry["formula"], entry["constants"])
        for hole, entry in zip(open_holes, saved, strict=True)
    )
    return sketch, Solution(fill(sketch.program, templates, choices), formulas, content["cost"], sketch.program)


def _content(path: Path) -> dict[str, Any]:
    """Return the file's object after looking at the type of everything that is used."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SwizzleError(f"cannot read {path}: {error.strerror}", expected="a solution file") from error
    except RecursionError:
        raise _no_solution(path, "it is nested too deeply") from None
    except ValueError as error:
        raise _no_solution(path, f"it is not JSON ({error})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _no_solution(path, f'it has no "format": "{FORMAT}"')
    wanted = {"file": str, "sketch": str, "parameters": dict, "holes": list, "cost": dict}
    for key, kind in wanted.items():
        if not isinstance(content.get(key), kind):
            raise _no_solution(path, f"{key!r} is {content.get(key)!r}")
    for number in (*content["parameters"].values(), *content["cost"].values()):
        if type(number) is not int:
            raise _no_solution(path, f"a parameter or cost is {number!r}")
    for hole in content["holes"]:
        texts = isinstance(hole, dict) and all(isinstance(hole.get(key), str) for key in ("name", "kind", "formula"))
        if not texts or not isinstance(hole.get("constants"), dict):
            raise _no_solution(path, f"a hole is {hole!r}")
    return content


def _choice(path: Path, hole: Hole, constants: Mapping[str, object]) -> Choice:
    """Return a hole's choice, in the form of Space 3, from its constants."""
    match hole.kind:
        case "xform":
            gs, c_f, d_f, wrap, c_r, d_r, c = _integers(path, hole, constants, _XFORM)
            if gs < 1 or d_f < 1 or hole.size % gs or gs % d_f or d_r < 0:
                raise _no_solution(path, f"gs = {gs}, d_f = {d_f}, d_r = {d_r} is no xform of size {hole.size}")
            return ((gs, c_f, d_f, bool(wrap)), (c_r, d_r), c)
        case "part":
            names = [[f"{name}_{j}" for name in _COND] for j in range(hole.size - 1)]
            return tuple(part for some in names for part in _condition(path, hole, constants, some))
        case "cond":
            return _condition(path, hole, constants, _COND)
        case _:
            assert_never(hole.kind)


def _condition(path: Path, hole: Hole, constants: Mapping[str, object], names: Sequence[str]) -> Choice:
    left, sign, right, equal, negated, threshold = _integers(path, hole, constants, names)
    arity = max(1, len(hole.arguments))
    if not (0 <= left < arity and 0 <= right < arity and sign in (-1, 1)):
        raise _no_solution(path, f"arguments {left} and {right}, sign {sign} in {hole.name}, which takes {arity}")
    return ((left, sign, right), ("==" if equal else "<=", bool(negated)), threshold)


def _integers(path: Path, hole: Hole, constants: Mapping[str, object], names: Sequence[str]) -> list[int]:
    found = []
    for name in names:
        value = constants.get(name)
        if type(value) is not int:
            raise _no_solution(path, f"{name} of {hole.name} is {value!r}")
        found.append(value)
    return found


def _names(holes: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(hole["name"] for hole in holes) or "of nothing"


def _no_solution(path: Path, why: str) -> SwizzleError:
    return SwizzleError(
        f"{path} is not a solution file: {why}", expected="a NAME.json that `swizzle solve -o DIR` wrote"
    )
