"""A solution in a file (NAME.json): which sketch, which parameters, and the constants of each hole.

The file contains no kernel. Loading it reads the sketch again and gives each hole its function; `swizzle check` then
verifies the result. So a file from a stranger, or an outdated one, is never believed. Nor does it run anything: a
Python file that it names is run if it is, by its seal, what this user has solved here, or if the user says so.
A `.swz` file, which is only read, may also lie beside it, or be kept in it (docs/what-runs-code.md).
"""

from __future__ import annotations

import json
import linecache
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from swizzle.language.operators import HandedIn, find_operator, handed_in, handing_in
from swizzle.sketches.hole_formula import HoleFormula, holes_as_json
from swizzle.sketches.loading import SketchFile, operators_called
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.answered import misprinted
from swizzle.solving.solution.filling import formula_again, plain_formula, refill
from swizzle.solving.solution.in_words import proved_by_name
from swizzle.solving.solution.seal import digest, is_sealed, seal
from swizzle.solving.solution.solution import Result, Solution, abilities
from swizzle.solving.solution.version import __version__
from symbolic.errors import SwizzleError
from symbolic.extensions import extension
from symbolic.files import file_bytes
from symbolic.ir.program import Program
from symbolic.ir.walk import operators_of
from templates.formula import fill_some, formula_text
from templates.holes import HOME, SCAN_KINDS
from templates.registry import register, users_family

FORMAT = "swizzle solution 1"
MAX_BYTES = 16 << 20
_UNFIT: Final = re.compile("[\0\ud800-\udfff]")
LONGEST_NAME, LONGEST_PATH = 255, 4096
"""Bytes that Linux takes in a file name, and in a path with its end (NAME_MAX, PATH_MAX)."""


def saved_text(result: Result, sketch_file: Path, parameters: Mapping[str, int], folder: Path) -> str:
    """Return the file's text for the best solution of a result; the sketch's path is relative to `folder`."""
    best = result.best
    holes = []
    for shown, hole in zip(holes_as_json(best.holes), best.holes, strict=True):
        written = hole.kind == HOME or hole.kind in SCAN_KINDS
        users = None if written else users_family(hole.kind, hole.constants)
        family = {} if users is None else {"family": users}
        holes.append({**shown, "kind": hole.kind, **family, "constants": dict(hole.constants)})
    content = {
        "format": FORMAT,
        "made_by": f"swizzle {__version__}",
        **_named_file(sketch_file, folder),
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


def load_saved(
    path: Path, overrides: Mapping[str, int], *, trust: bool = False, sketch: Sketch | None = None
) -> tuple[Sketch, Solution]:
    """Read a solution file, read its sketch again and fill the holes; `overrides` win over the saved parameters.

    With `trust`, the files that it names are run, whatever they are and wherever they lie. Where `sketch` is given, no
    file is read or run, and that one is filled.

    With other parameters a hole may be asked at points where its formula is not the function that its constants are:
    then it is written as they say.

    Raises SwizzleError if the file is not a solution, if its sketch now has other holes, if a hole's formula is not
    what its constants say, if a hole's family of templates is not installed, or if a Python file would have to be run.
    """
    content = _content(path)
    for entry in content["holes"]:
        if "family" in entry:
            _require_family(path, entry["name"], entry["family"])
    sketch_file = _beside(path, content["file"])
    if sketch is None:
        with handing_in(_operators(path, content, trust)):
            source = _sketch_source(path, content, trust)
            (sketch,) = source.load(content["sketch"], {**content["parameters"], **overrides})
    saved, open_holes = content["holes"], sketch.program.holes
    if [(h["name"], h["kind"]) for h in saved] != [(h.name, h.kind) for h in open_holes]:
        raise SwizzleError(
            f"{path} fills {_named((h['name'], h['kind']) for h in saved)}, but {sketch.name} has "
            f"{_named((h.name, h.kind) for h in open_holes)}",
            place=sketch.program.place,
            expected="the sketch that was solved",
            fix=f"solve it again: swizzle solve {sketch_file}",
        )
    if sketch.exchanges:
        return _with_homes(path, sketch, content)
    try:
        constants = [entry["constants"] or (None if entry.get("found_in") else {}) for entry in saved]
        texts = [entry["formula"] for entry in saved]
        own = [
            text if some is None or h.kind in SCAN_KINDS else formula_text(h, plain_formula(h, some))
            for h, some, text in zip(open_holes, constants, texts, strict=True)
        ]
        solution = refill(sketch.program, list(zip(constants, texts, strict=True)), content["cost"])
        if texts != own and (wrong := misprinted(solution)):
            if sketch.parameters == content["parameters"]:
                raise _contradiction(path, solution, wrong, own)
            texts = [t if h.name not in wrong else o for h, t, o in zip(open_holes, texts, own, strict=True)]
            solution = refill(sketch.program, list(zip(constants, texts, strict=True)), content["cost"])
    except ValueError as error:
        raise _no_solution(path, str(error)) from None
    sources = [str(entry.get("found_in", "")) for entry in saved]
    holes = [replace(hole, found_in=source) for hole, source in zip(solution.holes, sources, strict=True)]
    return sketch, replace(solution, holes=tuple(holes))


def _with_homes(path: Path, sketch: Sketch, content: Mapping[str, Any]) -> tuple[Sketch, Solution]:
    """Return a sketch with exchanges as its solution has them, which are worked out again, and that solution."""
    chosen, became, homes = {}, list[HoleFormula](), list[str]()
    try:
        for number, (hole, entry) in enumerate(zip(sketch.program.holes, content["holes"], strict=True)):
            constants, text, source = entry["constants"], entry["formula"], str(entry.get("found_in", ""))
            if hole.kind == HOME:
                homes.append(text)
            else:
                chosen[number] = formula_again(hole, constants or (None if source else {}), text)
            became.append(HoleFormula(hole.name, hole.kind, hole.place, text, constants, source))
        posed = abilities().with_homes(
            replace(sketch, program=fill_some(sketch.program, chosen), filled_from=()), homes
        )
    except ValueError as error:
        raise _no_solution(path, str(error)) from None
    return posed, Solution(posed.program, tuple(became), content["cost"])


def _named_operators(program: Program, folder: Path) -> dict[str, list[dict[str, str]]]:
    """Return the users' operators that a sketch names, those of files with their files, to be found again."""
    given, found = handed_in(), dict[str, dict[str, str]]()
    for op, _ in operators_of(program):
        name = str(op)
        if name in given and given[name].law == op.law:
            file = given.files.get(name)
            found[name] = _named_file(file, folder) if file else {}
        elif getattr(extension("operators", name), "law", None) == op.law:
            found[name] = {}
    return {"operators": [{"name": name, **where} for name, where in found.items()]} if found else {}


def _named_file(file: Path, folder: Path) -> dict[str, str]:
    """Return how a solution in `folder` names a file that it was solved from; a text that is only read is kept."""
    text = SketchFile.read(file).text
    kept = {"text": text} if file.suffix == ".swz" else {}
    name = Path(os.path.relpath(file, folder)).as_posix()
    return {"file": name, "sha256": digest(text), "seal": seal(text), **kept}


def _sketch_source(path: Path, content: Mapping[str, Any], trust: bool) -> SketchFile:
    """Return the text of the sketch that a solution names, as far as that may be read or run."""
    file = _beside(path, content["file"])
    kept = content.get("text") if file.suffix == ".swz" else None
    if not isinstance(kept, str):
        source = SketchFile.read(file)
        if (
            trust
            or is_sealed(source.text, content.get("seal"))
            or (file.suffix == ".swz" and _lies_in(file, path.parent))
        ):
            return source
        raise _would_run(path, file) if file.suffix == ".py" else _outside(path, file)
    if digest(kept) != content.get("sha256"):
        raise _no_solution(path, "'sha256' is not that of the 'text' that it keeps")
    why = "is not what was solved here: the text that {path} keeps is used; --trust reads the file"
    try:
        source = SketchFile.read(file)
        if trust or _lies_in(file, path.parent) or is_sealed(source.text, content.get("seal")):
            return source
    except SwizzleError:
        why = "cannot be read: the text that {path} keeps is used"
    print(f"note: {file} {why.format(path=path)}", file=sys.stderr)
    name = f"{path}/{file.name}"
    linecache.cache[name] = (len(kept), None, kept.splitlines(keepends=True), name)
    return SketchFile(name, kept)


def _beside(path: Path, file: str) -> Path:
    """Return the file that a solution names from its own folder, as `k.py` and not as `out/../k.py`."""
    return Path(os.path.normpath(path.parent / file))


def _lies_in(file: Path, folder: Path) -> bool:
    """Tell whether a file lies in a folder, links followed."""
    try:
        return file.is_file() and file.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def _would_run(path: Path, file: Path) -> SwizzleError:
    return SwizzleError(
        f"{path} names the Python file {file}, which would be run, and it is not what you solved here",
        expected="a sketch that was solved here, from this very text: nothing of a stranger's is run unasked",
        fix=f"read {file}; then add --trust, or solve it again: swizzle solve {file} -o {path.parent}",
    )


def _outside(path: Path, file: Path) -> SwizzleError:
    return SwizzleError(
        f"{path} names {file}, outside its own folder",
        expected="a file beside it, or one that was solved here, from this very text",
        fix=f"add --trust, or solve it again: swizzle solve {file} -o {path.parent}",
    )


def _operators(path: Path, content: Mapping[str, Any], trust: bool) -> HandedIn:
    """Return the operators that a solution names; those that were handed in now come first."""
    files, given = [], handed_in()
    for entry in content["operators"]:
        name, file = entry["name"], entry.get("file")
        if name in given:
            continue
        if file is not None and (own := _beside(path, file)).is_file():
            if not trust and not is_sealed(SketchFile.read(own).text, entry.get("seal")):
                raise _would_run(path, own)
            files.append(str(own))
        elif file is not None or find_operator(name, {}) is None:
            raise SwizzleError(
                f"{path} needs the operator {name}, "
                + (f"and {_beside(path, file)} is not there" if file else "which no installed package has"),
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
            fix="install that package in this Python's environment, or write --families FILE.py:NAME",
        ) from None


def _contradiction(path: Path, solution: Solution, wrong: Collection[str], own: Sequence[str]) -> SwizzleError:
    """Refuse a file of which one half was edited: constants and formula are one function where the kernel asks it."""
    hole, says = next((h, says) for h, says in zip(solution.holes, own, strict=True) if h.name in wrong)
    return SwizzleError(
        f"{path} says {hole.name} = {hole.formula}, and its constants say {hole.name} = {says}",
        place=hole.place,
        expected="a formula with the values that the constants give, wherever the kernel asks the hole",
        fix=f'write "formula": {json.dumps(says)}, or solve it again',
    )


def _content(path: Path) -> dict[str, Any]:
    """Return the file's object after looking at the type of everything that is used."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _no_solution(path, f"it is larger than {MAX_BYTES} bytes")
        content = json.loads(file_bytes(path).decode())
        if unfit := next(filter(None, map(_UNFIT.search, _texts(content))), None):
            said = f"{unfit.string[:40]!a} has the character U+{ord(unfit[0]):04X}, which is part of no text"
            raise _no_solution(path, said)
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
    for name in [content["file"], *(entry.get("file", "") for entry in operators)]:
        if not _can_be_a_path(_beside(path, name)):
            raise _no_solution(
                path, f"it names the file {name[:40]!a}... of {len(name)} characters, which no system has"
            )
    for hole in content["holes"]:
        texts = isinstance(hole, dict) and all(isinstance(hole.get(key), str) for key in ("name", "kind", "formula"))
        if not texts or not isinstance(hole.get("constants"), dict):
            raise _no_solution(path, f"a hole is {hole!r}")
    return content


def _texts(content: Any) -> Iterator[str]:
    """Yield the texts of a JSON value, but names of files, which may be any bytes, and are looked at apart."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from _texts(part)
    elif isinstance(content, dict):
        for key, part in content.items():
            yield key
            if key != "file":
                yield from _texts(part)


def _can_be_a_path(file: Path) -> bool:
    """Tell whether a system takes this as the name of a file: no part is too long, nor all of it, and there are bytes
    for each character but zero."""
    try:
        name = os.fsencode(os.path.abspath(file))
    except ValueError:  # a surrogate alone, or a zero
        return False
    return b"\0" not in name and len(name) < LONGEST_PATH and max(map(len, name.split(b"/"))) <= LONGEST_NAME


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
