"""The files of the best candidate: its kernel as `.cu` and as a header, and how it was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from swizzle.answers.emit.emitters import FILE_KINDS, about_sizes, proved, provenance
from swizzle.answers.emit.files import write_all
from swizzle.answers.emit.sizes import sizes_of
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.saved import saved_text
from swizzle.solving.solution.solution import Result


def winner_files(sketch: Sketch, result: Result, tuned: dict[str, Any], folder: Path) -> list[Path]:
    """Write NAME.cu, NAME.cuh, the solution NAME.json and NAME.tuned.json, all or none; return them.

    `tuned` is what is said of the search, as JSON.
    """
    best, sizes = result.best, sizes_of(result.best.program, sketch)
    name = best.program.name
    claims = [*proved(result, False), *about_sizes(best.program, sizes)]
    table = tuned["device"]
    claims += [f"Tuned for {table['name']} (table {table['hash']}) in the space {tuned['space']['hash']}."]
    head = provenance(best, claims, sketch.parameters)
    solution = saved_text(result, Path(sketch.place.file), sketch.parameters, folder)
    contents: dict[Path, str | bytes] = {
        folder / f"{name}.json": solution,
        folder / f"{name}.tuned.json": json.dumps(tuned, indent=2) + "\n",
        **{folder / f"{name}{FILE_KINDS[kind].suffix}": FILE_KINDS[kind].text(best.program, head, sizes)
           for kind in ("cuda", "header")},
    }  # fmt: skip
    write_all(contents)
    return list(contents)
