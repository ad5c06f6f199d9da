"""Take the pictures of docs/images: `make screenshots`; needs chromium, its driver and pngquant."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from swizzle import load, solve  # noqa: E402
from swizzle.answers.show.picture import Picture, picture_of  # noqa: E402
from tests.swizzle.answers.show.browser import Browser, browser  # noqa: E402

LARGEST = 250_000


def drawn(file: str, name: str, **sizes: int) -> Picture:
    (sketch,) = load(ROOT / "case_studies" / file, name, sizes)
    return picture_of(solve(sketch).best, sketch.spec)


def take(session: Browser, picture: Picture, scheme: str, steps: int, cell: str, to: Path) -> None:
    """Photograph a page at a step, with one cell looked at."""
    with tempfile.TemporaryDirectory() as folder:
        session.prefer(scheme)
        session.open(picture.save(Path(folder) / "page.html"))
        session.press(*["right"] * steps)
        strip, lane = cell.split(",")
        session.hover(f'#figure .cell[data-at="{strip}"][data-lane="{lane}"]')
        session.settle()
        whole = session.picture()
    small = subprocess.run(["pngquant", "--nofs", "256", "-"], input=whole, capture_output=True, check=True).stdout
    to.write_bytes(small)
    size = to.stat().st_size
    assert size < LARGEST, f"{to} has {size} bytes"
    print(f"{to}: {size} bytes")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    small, large = drawn("conv1d.py", "conv1d"), drawn("mult64.py", "shared")
    tile = drawn("transpose.py", "transpose")
    small.save(folder / "conv1d.svg")
    with browser(1360, 1120) as session:
        for scheme in ("light", "dark"):
            take(session, small, scheme, 2, "3,31", folder / f"show-conv1d-{scheme}.png")
            take(session, large, scheme, 9, "1,20", folder / f"show-mult64-{scheme}.png")
        take(session, tile, "light", 0, "2,4", folder / "show-transpose-light.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images")
