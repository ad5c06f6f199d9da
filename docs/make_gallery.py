"""Make docs/gallery.md and its figures, docs/images/gallery: `make gallery`.

Every sketch of case_studies is solved and drawn at a small warp size, at which one can follow each lane.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from swizzle import Sketch, solve  # noqa: E402
from swizzle.answers.show.picture import Picture, picture_of  # noqa: E402
from swizzle.sketches.loading import load_declared  # noqa: E402

DOCS = ROOT / "docs"
LARGEST: Final = 200_000
"""The bytes of a figure on the page."""
SMALL: Final[Mapping[str, int]] = {"warp_size": 8, "warps": 1, "grid": 1, "grid_x": 1, "grid_y": 1}
"""The sizes of figures, where a case study declares such a parameter."""
SMALLER: Final[Mapping[str, Mapping[str, int]]] = {
    "mult32": {"warp_size": 4},
    "mult64": {"warp_size": 4},
    "field": {"degree": 32},
}
"""Other sizes for case studies whose figures would be long otherwise."""
HEAD: Final = """\
# Gallery

The kernels of the Swizzle Inventor paper, as sketches in [case_studies](../case_studies): what each hole became, and
what one warp then moves. The figures and formulas are of small instances, which you can follow lane by lane. The
command above each figure draws it again; without `-D`, it draws the kernel at its real size. [show.md](show.md)
explains the figures. `make gallery` makes this page.
"""


def sketches(file: Path) -> tuple[list[Sketch], dict[str, int]]:
    """Return a case study's sketches at small sizes, and the sizes that were set."""
    declared = load_declared(file)[1]
    wanted = {**SMALL, **SMALLER.get(file.stem, {})}
    sizes = {
        name: size
        for name, size in wanted.items()
        if name in declared and size in declared[name].domain and size != declared[name].default
    }
    return load_declared(file, None, sizes)[0], sizes


def drawn(sketch: Sketch) -> Picture:
    """Solve a sketch and draw its first warp."""
    return picture_of(solve(sketch).best, sketch.spec)


def table(picture: Picture) -> Iterator[str]:
    """Yield the formulas of the holes; conditions that never hold take one line together."""
    never = [hole.name for hole in picture.holes if hole.words == "never"]
    yield "| hole | became | in words |"
    yield "|---|---|---|"
    for hole in picture.holes:
        if hole.name not in never:
            yield f"| `{hole.name}` | `{hole.formula}` | {hole.words} |"
    if never:
        yield f"\nNever true, so that their accumulates are gone: {', '.join(f'`{name}`' for name in never)}."


def section(file: Path, figures: dict[str, str]) -> Iterator[str]:
    """Yield a case study's part of the page, and put its figures into `figures`."""
    made, sizes = sketches(file)
    doc = re.search(r'\A"""(.*?)"""', file.read_text(encoding="utf-8"), re.DOTALL)
    assert doc is not None, f"{file} has no docstring"
    title, _, rest = doc[1].partition("\n")
    yield f"\n## {file.stem}\n\n{title}\n\n{rest.strip()}".rstrip()
    for sketch in made:
        picture = drawn(sketch)
        name = f"{file.stem}-{sketch.name}" if len(made) > 1 else file.stem
        drawable = len(picture.svg.encode()) < LARGEST
        if drawable:
            figures[f"{name}.svg"] = picture.svg
        target = f"case_studies/{file.name}" + (f":{sketch.name}" if len(made) > 1 else "")
        options = "".join(f" -D {parameter}={size}" for parameter, size in sizes.items())
        if len(made) > 1:
            yield f"\n### {file.stem}: {sketch.name}"
        yield f"\n```sh\nswizzle show {target}{options} -o {name}.svg\n```\n"
        yield from table(picture)
        if drawable:
            yield f"\n![What a warp moves in {name}](images/gallery/{name}.svg)"
        else:
            yield f"\nThe figure is too large for this page; to explore it: `-o {name}.html`."


def gallery() -> tuple[str, dict[str, str]]:
    """Return the page's text, and its figures by file name."""
    figures: dict[str, str] = {}
    files = sorted((ROOT / "case_studies").glob("*.py"))
    lines = [HEAD.rstrip(), *(line for file in files for line in section(file, figures))]
    return "\n".join(lines) + "\n", figures


def main() -> None:
    folder = DOCS / "images" / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    page, figures = gallery()
    for old in folder.glob("*.svg"):
        old.unlink()
    for name, text in figures.items():
        (folder / name).write_text(text, encoding="utf-8")
    (DOCS / "gallery.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
