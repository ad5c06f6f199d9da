"""From a file with derivations to proved kernels: derive, lower, solve, and say what was done."""

from __future__ import annotations

import json
import linecache
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from msgspec import Struct

from swizzle.derive.patterns.declared import DeclaredDerivation, declared_by
from swizzle.derive.patterns.launches import LoweredKernels, kernels
from swizzle.derive.patterns.steps import HOLES, DerivationProgress
from swizzle.derive.patterns.written import file_text, spec_text
from swizzle.sketches.loading import load_names
from swizzle.sketches.swz_file import DerivationText
from symbolic.errors import SwizzleError, near
from symbolic.patterns.reading import read_pattern
from symbolic.patterns.terms import canonical
from symbolic.patterns.types import Typing
from symbolic.rewriting.derivation import replay

SCRIPT: Final = ".derivation.json"


class LoweredDerivation(Struct, frozen=True):
    """A derivation that was made: the steps, the kernels' names, the text of the file."""

    declared: DeclaredDerivation
    progress: DerivationProgress
    kernels: LoweredKernels
    text: str

    @property
    def file(self) -> str:
        """The name of the file: of the kind that the derivation's own is."""
        return self.declared.name + Path(self.declared.place.file).suffix


def derivations_of(
    path: str, selector: str | None, overrides: Mapping[str, int], mistakes: list[SwizzleError] | None = None
) -> list[DeclaredDerivation]:
    """Return the derivations of a file, or the one of that name; mistakes beside them go into `mistakes`, if given."""
    refused = dict[str, SwizzleError]()
    names = load_names(path, overrides, refused)
    if selector in refused:
        raise refused[selector]
    if selector is None and refused:
        if mistakes is None:
            raise next(iter(refused.values()))
        mistakes += refused.values()
    every = [declared_by(each) if isinstance(each, DerivationText) else each for each in names.values()]
    found = {each.name: each for each in every if isinstance(each, DeclaredDerivation)}
    if not found and not mistakes:
        raise SwizzleError(
            f"{path} has no derivation", fix="docs/derive.md begins with one",
            expected="@derivation(spec=..., ...) above a function, at the file's top level",
        )  # fmt: skip
    if selector is not None and selector not in found:
        raise SwizzleError(
            f"{path} has no derivation {selector}", expected=f"one of {', '.join(found)}",
            fix=near(selector, found) or f"write {path}:{next(iter(found))}",
        )  # fmt: skip
    return list(found.values()) if selector is None else [found[selector]]


def lowered(declared: DeclaredDerivation, progress: DerivationProgress) -> LoweredDerivation:
    """Return the file of a derivation's kernels; nothing of it is proved yet."""
    asked = declared.request(progress)
    of, returns = declared.function, Typing().type_of(progress.derivation.start, declared.types)
    name, spec = spec_text(of, returns, [declared.name])
    made = kernels(asked, name, of.known)
    of.require_named(declared.place)
    title = f"{declared.name}, derived from {of.name} in {len(progress.derivation.steps)} steps by swizzle derive."
    return LoweredDerivation(declared, progress, made, file_text(title, of, spec, made))


# ---- steps as data -----------------------------------------------------------------------------------------------


def script_of(made: DeclaredDerivation, progress: DerivationProgress) -> dict[str, Any]:
    """Return a derivation as JSON has it, to be replayed."""
    return {"derivation": made.name, "holes": sorted(progress.holes), **progress.derivation.as_data()}


def replayed(declared: DeclaredDerivation, script: Any, file: str) -> DerivationProgress:
    """Return the derivation that a script says; refused at the first step that no longer holds."""
    progress = declared.begun()
    try:
        if canonical(read_pattern(script["expression"])) != canonical(progress.derivation.start):
            raise SwizzleError(
                f"{file} derives another expression than {declared.name} of {declared.place.file}",
                place=declared.place, expected="a derivation of the same specification", fix="derive it anew",
            )  # fmt: skip
        found = replay(script)
        holes = script.get("holes", [])
        if not isinstance(holes, list) or not set(map(str, holes)) <= {*HOLES}:
            raise TypeError(f"holes {holes!r:.60}, where {', '.join(HOLES)} are some")
    except SwizzleError as error:
        raise SwizzleError(
            error.found if error.place else f"{file}: {error.found}", place=error.place or declared.place,
            expected=error.expected, fix=error.fix,
        ) from None  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SwizzleError(
            f"{file} is no derivation: {error}", expected="what `swizzle derive -o` wrote", fix="write it again"
        ) from None
    return DerivationProgress(found, set(holes))


# ---- solving -----------------------------------------------------------------------------------------------------


class DerivedAnswer(Struct, frozen=True):
    """What the house's solver says of a derived file: an exit status, its JSON, the files that it wrote."""

    status: int
    said: Mapping[str, Any]
    files: Mapping[str, str]


def solved(made: LoweredDerivation, solve: Callable[[str, Path], tuple[int, str]]) -> DerivedAnswer:
    """Write a derived file apart, have it solved by `solve`, which gets FILE:NAME and a folder; return the answer."""
    name = made.declared.name
    with TemporaryDirectory(prefix="swizzle-derive-") as folder:
        path = Path(folder) / made.file
        path.write_text(made.text, encoding="utf-8")
        try:
            status, said = solve(f"{path}:{name}", Path(folder))
        except SwizzleError as error:
            if error.place is None or error.place.file != str(path):
                raise
            raise _of_the_kernel(error, made.declared, folder) from None
        files = {
            each.name: each.read_text(encoding="utf-8")
            for each in sorted(Path(folder).iterdir()) if each.is_file()
        }  # fmt: skip
    script = json.dumps(script_of(made.declared, made.progress), indent=2) + "\n"
    return DerivedAnswer(status, json.loads(said.replace(f"{folder}/", "")), {**files, name + SCRIPT: script})


def _of_the_kernel(error: SwizzleError, declared: DeclaredDerivation, folder: str) -> SwizzleError:
    """Say what is wrong with a written kernel at the derivation: its file is gone, and is not the user's."""
    assert error.place is not None
    line = linecache.getline(error.place.file, error.place.line).strip()
    text = error.found.replace(f"{folder}/", "")
    return SwizzleError(
        f"the kernel that the steps of {declared.name} lead to is refused: {text}\n  in its line: {line}",
        place=declared.place, expected=error.expected.replace(f"{folder}/", ""),
        fix="take other steps, or other lengths; without its last steps a derivation shows which one leads there",
    )  # fmt: skip
