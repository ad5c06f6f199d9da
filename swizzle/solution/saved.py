"""A solution in a file (NAME.json): which sketch, which parameters, and the constants of each hole.

The file contains no kernel. Loading it reads the sketch again and gives each hole its function; `swizzle check` then
verifies the result. So a file from a stranger, or an outdated one, is never believed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from swizzle.language.operators import HandedIn, find_operator, handed_in, handing_in
from swizzle.sketches.hole_formula import holes_as_json
from swizzle.sketches.loading import load, operators_called
from swizzle.sketches.sketch import Sketch
from swizzle.solution.refill import is_plain_k, refill
from swizzle.solution.solution import Result, Solution
from swizzle.solution.version import __version__
from swizzle.solution.words import proved_by_name
from symbolic.errors import SwizzleError
from symbolic.extensions import extension
from symbolic.ir.program import Program
from symbolic.ir.walk import operators_of
from templates.registry import register, users_family

FORMAT = "swizzle solution 1"


def saved_text(result: Result, sketch_file: Path, parameters: Mapping[str, int], folder: Path) -> str:
    """Return the file's text for the best solution of a result; the sketch's path is relative to `folder`."""
    best = result.best
    holes = []
    for shown, hole in zip(holes_as_json(best.holes), best.holes, strict=True):
        users = users_family(hole.kind, hole.constants)
        family = {} if users is None else {"family": users}
        holes.append({**shown, "kind": hole.kind, **family, "constants": dict(hole.constants)})
    content = {
        "format": FORMAT,
        "made_by": f"swizzle {__version__}",
        "file": Path(os.path.relpath(sketch_file, folder)).as_posix(),
        "sketch": result.sketch,
        "parameters": dict(parameters),
        **_named_operators(best.program, folder),
        "warp_size": result.warp_size,
        "space": result.space,
        "optimal": result.optimal,
        "cost": dict(best.cost),
        "proved": proved_by_name(result),
        "holes": holes,
    }
    return json.dumps(content, indent=2) + "\n"


def load_saved(path: Path, overrides: Mapping[str, int]) -> tuple[Sketch, Solution]:
    """Read a solution file, read its sketch again and fill the holes; `overrides` win over the saved parameters.

    Raises SwizzleError if the file is not a solution, if its sketch now has other holes, if a hole's formula is not
    what its constants say, or if a hole's family of templates is not installed.
    """
    content = _content(path)
    for entry in content["holes"]:
        if "family" in entry:
            _require_family(path, entry["name"], entry["family"])
    sketch_file = path.parent / content["file"]
    with handing_in(_operators(path, content)):
        (sketch,) = load(sketch_file, content["sketch"], {**content["parameters"], **overrides})
    saved, open_holes = content["holes"], sketch.program.holes
    if [(h["name"], h["kind"]) for h in saved] != [(h.name, h.kind) for h in open_holes]:
        raise SwizzleError(
            f"{path} fills {_named((h['name'], h['kind']) for h in saved)}, but {sketch.name} has "
            f"{_named((h.name, h.kind) for h in open_holes)}",
            place=sketch.program.place,
            expected="the sketch that was solved",
            fix=f"solve it again: swizzle solve {sketch_file}",
        )
    constants = [
        (entry["constants"], is_plain_k(hole, entry["formula"])) for hole, entry in zip(open_holes, saved, strict=True)
    ]
    try:
        solution = refill(sketch.program, constants, content["cost"])
    except ValueError as error:
        raise _no_solution(path, str(error)) from None
    if sketch.parameters == content["parameters"]:
        _compare_formulas(path, solution, saved)
    sources = [str(entry.get("found_in", "")) for entry in saved]
    holes = [replace(hole, found_in=source) for hole, source in zip(solution.holes, sources, strict=True)]
    return sketch, replace(solution, holes=tuple(holes))


def _named_operators(program: Program, folder: Path) -> dict[str, list[dict[str, str]]]:
    """Return the users' operators that a sketch names, those of files with their files, to be found again."""
    given, found = handed_in(), dict[str, dict[str, str]]()
    for op, _ in operators_of(program):
        name = str(op)
        if name in given and given[name].law == op.law:
            file = given.files.get(name)
            found[name] = {"file": Path(os.path.relpath(file, folder)).as_posix()} if file else {}
        elif getattr(extension("operators", name), "law", None) == op.law:
            found[name] = {}
    return {"operators": [{"name": name, **where} for name, where in found.items()]} if found else {}


def _operators(path: Path, content: Mapping[str, Any]) -> HandedIn:
    """Return the operators that a solution names; those that were handed in now come first."""
    files, given = [], handed_in()
    for entry in content["operators"]:
        name, file = entry["name"], entry.get("file")
        if name in given:
            continue
        if file is not None and (path.parent / file).is_file():
            files.append(str(path.parent / file))
        elif file is not None or find_operator(name, {}) is None:
            raise SwizzleError(
                f"{path} needs the operator {name}, "
                + (f"and {path.parent / file} is not there" if file else "which no installed package has"),
                expected="the operator that the sketch was solved with",
                fix="install its package in this Python's environment, or write --operators FILE.py",
            )
    return operators_called(list(dict.fromkeys(files)))


def _require_family(path: Path, hole: str, family: Any) -> None:
    """Find the user's family that a hole's function is of, which a package provides."""
    try:
        register(str(family))
    except SwizzleError as error:
        raise SwizzleError(
            f"{hole} of {path} has a function of the family {family!r}: {error.found}",
            expected=f"a package that names {family} under swizzle.families in its metadata (docs/extend.md)",
            fix="install that package in this Python's environment",
        ) from None


def _compare_formulas(path: Path, solution: Solution, saved: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a file of which one half was edited: it is the constants that count, and the formulas that are read."""
    for hole, entry in zip(solution.holes, saved, strict=True):
        if entry["formula"] != hole.formula:
            raise SwizzleError(
                f"{path} says {hole.name} = {entry['formula']}, and its constants say {hole.name} = {hole.formula}",
                place=hole.place,
                expected="a formula that is the constants in words; a solution is read from its constants",
                fix=f'write "formula": {json.dumps(hole.formula)}, or solve it again',
            )


def _content(path: Path) -> dict[str, Any]:
    """Return the file's object after looking at the type of everything that is used."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SwizzleError(
            f"{path} cannot be read: {error.strerror}",
            expected="a solution file, NAME.json",
            fix="write one: swizzle solve FILE -o DIR",
        ) from error
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
    operators = content.setdefault("operators", [])
    if not isinstance(operators, list) or not all(_names_operator(entry) for entry in operators):
        raise _no_solution(path, f"'operators' is {operators!r}")
    for hole in content["holes"]:
        texts = isinstance(hole, dict) and all(isinstance(hole.get(key), str) for key in ("name", "kind", "formula"))
        if not texts or not isinstance(hole.get("constants"), dict):
            raise _no_solution(path, f"a hole is {hole!r}")
    return content


def _names_operator(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("name"), str) and isinstance(entry.get("file", ""), str)


def _named(holes: Iterable[tuple[str, str]]) -> str:
    """Return 'the holes xform1, cond1'; with its kind where the name says another one."""
    texts = [name if name.startswith(kind) else f"{name} (sw_{kind})" for name, kind in holes]
    return f"the holes {', '.join(texts)}" if texts else "no holes"


def _no_solution(path: Path, why: str) -> SwizzleError:
    return SwizzleError(
        f"{path} is not a solution file: {why}",
        expected="a NAME.json that `swizzle solve -o DIR` wrote",
        fix="write it again: swizzle solve FILE -o DIR",
    )
