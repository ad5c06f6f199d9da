"""docs/language.md: every block of code on the page is read by the front end."""

import re
from pathlib import Path

import pytest

from swizzle import load
from swizzle.language.parameters import Parameters
from swizzle.sketches.swz_file import read_swz

PAGE = (Path(__file__).parents[1] / "docs" / "language.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```([^\n]+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CONTEXT = """\
K = 3

@spec
def wanted(alpha, x, w, a, m, z):
    return 0, z

@sketch(spec=wanted, block=64, alpha=f32.scalar, x=f32[64], w=f32.const[3], a=u32[64], m=f32[4, 8], y=f32.out[64],
        z=f32.inout[64], n=16)
def kernel(alpha, x, w, a, m, y, z, n):
"""


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_each_block_is_in_the_language(number: int, tmp_path: Path) -> None:
    """A `swz` block is a file, a `python` block a module, a `python kernel` block the body of a kernel."""
    kind, text = BLOCKS[number]
    if kind == "python":
        (tmp_path / "page.py").write_text(text, encoding="utf-8")
        assert load(tmp_path / "page.py")
    elif kind == "swz":
        assert bool(read_swz(text, "page.swz", Parameters())) is ("@sketch" in text)
    else:
        assert kind == "python kernel"
        body = "".join(f"    {line}\n" for line in text.splitlines())
        (sketch,) = read_swz(CONTEXT + body, "page.swz", Parameters())
        assert sketch.program.body


def test_the_page_names_every_public_name() -> None:
    """What `swizzle` exports for sketches is on the page."""
    import swizzle

    assert len(BLOCKS) >= 15
    missing = [name for name in swizzle.__all__ if name[0].islower() and not re.search(rf"\b{name}\b", PAGE)]
    assert not missing
