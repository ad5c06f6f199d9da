"""Bring along what a machine with a GPU and without a network lacks: `python -m bench.gpu.wheels`.

Downloads wheels into .whl, in the versions of constraints.txt, and says how much travels: the files that git knows,
`build/gpu`, which `python -m bench.gpu --prepare` writes, and the wheels.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from bench.gpu.solved import ROOT, STORE

LACKING: Final = ("msgspec", "pysmt", "python-sat", "z3-solver")
"""What an environment with PyTorch, CuPy, numba-cuda, pytest, hypothesis, click and rich has not. cvc5 is as large as
z3, and only its own tests need it."""
PLATFORMS: Final = ("manylinux1_x86_64", "manylinux2014_x86_64", *(f"manylinux_2_{n}_x86_64" for n in range(17, 36)))
"""pip asks for each by name."""
MIB: Final = 1 << 20


def pinned(names: Iterable[str], constraints: str) -> list[str]:
    """Return packages with their versions by constraints.txt; of several versions the first, which newer Pythons get.

    >>> pinned(["six", "numpy"], "numpy==2.4 ; python_version >= '3.11'\\nsix==1.17.0\\n")
    ['six==1.17.0', 'numpy==2.4']
    """
    found = [re.search(rf"(?mi)^{re.escape(name)}==[^\s;]+", constraints) for name in names]
    assert all(found), "constraints.txt has a version of each"
    return [match[0] for match in found if match]


def size_of(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths if path.is_file())


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu.wheels", description=__doc__)
    parser.add_argument("names", nargs="*", default=LACKING, help=f"packages instead of {' '.join(LACKING)}")
    parser.add_argument("--python", default="3.12", help="the version of the Python there (default 3.12)")
    parser.add_argument("--into", type=Path, default=ROOT / ".whl", metavar="DIR", help="default .whl")
    options = parser.parse_args(arguments)
    wanted = pinned(options.names, (ROOT / "constraints.txt").read_text(encoding="utf-8"))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--implementation", "cp", "--python-version", options.python, "-d", str(options.into)]
    command += [word for platform in PLATFORMS for word in ("--platform", platform)]
    if status := subprocess.run([*command, *wanted]).returncode:
        return status
    known = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    parts = {
        "the tree": size_of(ROOT / name for name in known.split("\0") if name),
        "build/gpu": size_of(STORE.parent.rglob("*")),
        str(options.into): size_of(options.into.rglob("*")),
    }
    for name, size in {**parts, "together": sum(parts.values())}.items():
        print(f"{size / MIB:6.1f} MiB  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
