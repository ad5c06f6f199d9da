"""Type checkers and editors: users' sketches have no type errors, and every public name says what it is."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import swizzle
from swizzle.language.cuda_namespace import Cuda
from swizzle.language.surface import KERNEL_NAMES

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".mypy_cache" / "users"
"""What mypy knows of our own modules, which are the same from run to run."""
TYPED = """
from swizzle import cuda, f32, load, solve

reveal_type(cuda.laneid)
reveal_type(cuda.grid(2))
reveal_type(f32.out[3, 4])
reveal_type(load("a.py")[0])
reveal_type(solve(load("a.py")[0]).best.holes[0].formula)
"""


def checked(*files: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run mypy as a user would, outside of this project's settings."""
    options = ["--config-file=", "--check-untyped-defs", "--follow-imports=silent", f"--cache-dir={CACHE}"]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", "mypy", *options, *files]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def test_users_sketches_have_no_type_errors(tmp_path: Path) -> None:
    """README's sketch, those of the documentation and the case studies; and what is inferred is what is meant."""
    shutil.copytree(ROOT / "case_studies", tmp_path, dirs_exist_ok=True)
    pages = [ROOT / "README.md", ROOT / "docs" / "language.md", ROOT / "docs" / "solving.md"]
    fence = re.compile(r"^```python(?: \w+\.py)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    blocks = [block for page in pages for block in fence.findall(page.read_text(encoding="utf-8"))]
    for number, block in enumerate(block for block in blocks if "@sketch" in block):
        (tmp_path / f"page{number}.py").write_text(block)
    (tmp_path / "typed.py").write_text(TYPED)
    files = sorted(path.name for path in tmp_path.glob("*.py"))
    assert len(files) >= 14
    done = checked(*files, folder=tmp_path)
    told = [line.partition("note: ")[2] for line in done.stdout.splitlines() if "note: " in line]
    assert done.returncode == 0, done.stdout
    assert [line.replace("builtins.", "") for line in told] == [
        'Revealed type is "int"',
        'Revealed type is "tuple[int, int]"',
        'Revealed type is "swizzle.language.element_types.ArrayType"',
        'Revealed type is "swizzle.sketches.sketch.Sketch"',
        'Revealed type is "str"',
    ]


def test_every_name_has_a_hover_text() -> None:
    """Each function and class that a sketch or a program uses has documentation of its own."""
    names = {name: getattr(swizzle, name) for name in swizzle.__all__}
    names |= {f"cuda.{name}": value.__func__ for name, value in vars(Cuda).items() if isinstance(value, staticmethod)}
    callables = {name: value for name, value in names.items() if inspect.isfunction(value) or inspect.isclass(value)}
    assert len(callables) >= 25
    assert [name for name, value in callables.items() if not inspect.getdoc(value)] == []
    helpers = [KERNEL_NAMES[name] for name in ("sw_xform", "sw_part", "sw_cond", "accumulator", "warp_load")]
    assert all(len(inspect.getdoc(helper) or "") > 200 for helper in helpers)
