"""The house keeps its arrows, read off the syntax trees: who may import whom, no circle of files, imports on top."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

PACKAGES = {
    "symbolic": {"symbolic"},
    "templates": {"symbolic", "templates"},
    "cuda_out": {"symbolic", "cuda_out"},
    "swizzle": {"symbolic", "templates", "cuda_out", "swizzle"},
    "case_studies": {"swizzle"},
}
"""The packages that each package may import."""

ROOMS: dict[str, str] = {
    "symbolic": "",
    "symbolic.ir": "symbolic",
    "symbolic.algebra": "symbolic symbolic.ir",
    "symbolic.values": "symbolic symbolic.ir symbolic.algebra",
    "symbolic.machine": "symbolic symbolic.ir symbolic.algebra symbolic.values",
    "symbolic.solve": "symbolic symbolic.values",
    "symbolic.core": "symbolic symbolic.solve",
    "symbolic.lifting": "symbolic symbolic.solve symbolic.values symbolic.core symbolic.expressions",
    "symbolic.expressions": "symbolic symbolic.solve",
    "symbolic.choices": "",
    "symbolic.patterns": "symbolic symbolic.ir symbolic.expressions",
    "symbolic.rewriting": "symbolic symbolic.expressions symbolic.patterns",
    "symbolic.second": "symbolic symbolic.ir symbolic.algebra symbolic.machine symbolic.solve",
    "templates": "",
    "templates.second": "templates",
    "cuda_out.analysis": "",
    "cuda_out.passes": "cuda_out.analysis",
    "cuda_out.tiling": "cuda_out.analysis cuda_out.passes",
    "cuda_out.c": "cuda_out.analysis cuda_out.passes cuda_out.tiling",
    "cuda_out.numba": "cuda_out.analysis cuda_out.passes cuda_out.tiling cuda_out.c cuda_out.compile cuda_out.ptx "
    "cuda_out.ptx.reading",
    "cuda_out.compile": "",
    "cuda_out.devices": "",
    "cuda_out.emulate": "cuda_out.compile cuda_out.c",
    "cuda_out.ptx": "",
    "cuda_out.ptx.instructions": "cuda_out.ptx cuda_out.compile",
    "cuda_out.ptx.reading": "cuda_out.ptx cuda_out.ptx.instructions",
    "cuda_out.ptx.running": "cuda_out.ptx cuda_out.ptx.instructions cuda_out.ptx.reading cuda_out.compile",
    "cuda_out.ptx.every_length": "cuda_out.ptx cuda_out.ptx.instructions cuda_out.ptx.running cuda_out.tiling",
}
"""The rooms of its own package that each room may import. The public faces know all rooms."""

IN_SWIZZLE = {
    "language.source": "",
    "language": "language.source",
    "language.specs": "language.source language",
    "language.frontend": "language.source language language.specs",
    "sketches": "language.source language language.specs language.frontend operators",
    "operators": "language",
    "layouts": "layouts.conversions",
    "layouts.conversions": "layouts",
    "scans": "language.source language language.specs sketches layouts",
    "solving.problem": "language.specs",
    "solving.costs": "solving.problem",
    "solving.homes": "language.specs layouts layouts.conversions",
    "solving.solution": "language language.specs sketches",
    "solving": "language language.specs sketches solving.solution solving.audit scans solving.homes",
    "solving.audit": "language.specs solving.problem solving.solution",
    "solving.audit.paper": "language.specs sketches solving.problem solving.costs",
    "solving.search": "language.specs sketches solving.problem solving.costs solving.solution solving solving.audit "
    "solving.audit.paper",
    "solving.cache": "language.specs sketches solving.problem solving.costs solving.solution solving solving.search",
    "answers.emit.any_length": "language.specs sketches",
    "answers.emit": "language.specs sketches solving.solution answers.emit.any_length",
    "answers.explain": "language language.specs sketches solving.problem solving.solution solving.search",
    "answers.show": "language.specs solving.solution answers.emit",
    "answers.device_scans": "language.source language language.specs language.frontend operators solving.solution "
    "answers.emit answers.emit.any_length",
    "answers": "",
    "answers.hosts": "language.specs sketches solving.solution solving.search answers.emit answers.emit.any_length",
    "answers.checking": "language.specs sketches solving.solution answers answers.emit answers.emit.any_length "
    "answers.hosts",
    "strangers.reading": "",
    "strangers.doctor": "layouts strangers.reading",
    "strangers.proving": "strangers.reading language.specs sketches answers.emit answers.emit.any_length "
    "answers.checking",
    "derive.schedules": "language.source language.specs sketches answers.emit.any_length",
    "derive.patterns": "language language.specs sketches",
    "derive.tuning": "derive.schedules language language.specs sketches solving.cache solving.solution answers.emit "
    "answers.emit.any_length answers.show sweeps",
    "sweeps": "solving.solution solving.cache strangers.reading",
    "commands": "language.source language language.specs sketches solving.costs solving.solution operators "
    "answers answers.checking answers.device_scans answers.hosts solving.search solving.cache answers.emit "
    "answers.emit.any_length answers.explain answers.show layouts strangers.reading strangers.doctor "
    "strangers.proving scans derive.patterns derive.tuning sweeps",
}
"""The same of the rooms of `swizzle`, by wing, the names without `swizzle.`."""
ROOMS |= {
    f"swizzle.{room}": " ".join(f"swizzle.{other}" for other in others.split()) for room, others in IN_SWIZZLE.items()
}

FACES = {"swizzle", "symbolic"}
"""The public faces, the only modules that know all rooms of their package."""
ON_DEMAND = {*FACES, *(f"swizzle.commands.{name}" for name in ("cli", "completion", "options", "process"))}
"""The doors, which load what they are asked for, when they are asked: the public faces and the command line."""

SOLVERS = {"pysmt", "z3", "cvc5", "pysat", "pysolvers", "ortools"}
HEAVY = {*SOLVERS, "numpy", "numba", "rich", "click", "cuda"}
"""Third-party packages that are slow to import, or may be missing where a solved kernel only runs."""
PRINTING = {"cuda_out.passes", "cuda_out.c", "cuda_out.numba", "cuda_out.compile"}
"""Rooms of ours that are heavy together (fifty files): what only solves does not load them."""
LIFTING = "symbolic.lifting"
"""The interpreter of `.swz` files and lifted functions is heavy, too: what only has `.py` files does not load it."""
LAYOUTS = {"swizzle.layouts", "swizzle.layouts.conversions"}
"""The search of layouts and conversions is heavy together, too: a sketch without exchanges does not load it."""
CHOICES = "symbolic.choices"
"""Spaces of choices are for files that have some."""
FIRST_PARTY = {*PACKAGES, "tests", "bench"}


@dataclass(frozen=True)
class Import:
    """One import: the line, the dotted name of what is imported, and whether importing the module leaves it out:
    it stands inside a function, or is for type checkers only."""

    line: int
    name: str
    indented: bool


def imports(source: str, package: tuple[str, ...]) -> Iterator[Import]:
    """Yield everything imported, also inside functions and by `import_module("name")`.

    `package` is the dotted path of the package that holds the module, against which relative imports resolve. Of
    `from a import b` both `a` and `a.b` may be modules: `a.b` is given.
    """

    in_expressions = "import_module" in source or "__import__" in source

    def visit(node: ast.AST, indented: bool) -> Iterator[Import]:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield Import(node.lineno, alias.name, indented)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = package[: len(package) - level + 1] if level else ()
                for alias in names:
                    yield Import(node.lineno, ".".join((*base, *([module] if module else []), alias.name)), indented)
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if ast.unparse(function).split(".")[
                -1
            ] in ("import_module", "__import__"):
                yield Import(node.lineno, name, indented)
        below = indented or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        below |= isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.iter_child_nodes(node):
            if in_expressions or not isinstance(child, ast.expr):
                yield from visit(child, below)

    yield from visit(ast.parse(source), False)


def room_of(module: str, modules: Mapping[str, object]) -> str:
    """Return the folder of a module, with dots; a package is its own folder."""
    return module if any(other.startswith(module + ".") for other in modules) else module.rpartition(".")[0]


@dataclass(frozen=True)
class House:
    """The modules by dotted name, each with its imports; of the tree, or of a test."""

    modules: dict[str, list[Import]]

    @staticmethod
    def of(sources: Mapping[str, str]) -> House:
        """Read sources by their paths, relative to the root."""
        found = {}
        for path, source in sources.items():
            *package, file = Path(path).with_suffix("").parts
            name = ".".join(package if file == "__init__" else (*package, file))
            found[name] = list(imports(source, tuple(package)))
        return House(found)

    @cached_property
    def rooms(self) -> dict[str, str]:
        return {module: room_of(module, self.modules) for module in self.modules}

    def target(self, name: str) -> str | None:
        """Return the module of ours that an import names: itself, or the one that defines it; None for others."""
        if name in self.modules:
            return name
        parent = name.rpartition(".")[0]
        return parent if parent in self.modules else None

    def arrows(self, *, top_level: bool = False) -> dict[str, set[str]]:
        """Return whom each module imports; with `top_level`, without those inside functions."""
        return {
            module: {
                found
                for each in some
                if not (top_level and each.indented) and (found := self.target(each.name)) not in (None, module)
            }
            for module, some in self.modules.items()
        }

    def loads(self) -> dict[str, set[str]]:
        """Return what is heavy of all that importing each module loads."""
        arrows = self.arrows(top_level=True)
        found = {m: {e.name.split(".")[0] for e in some if not e.indented} & HEAVY for m, some in self.modules.items()}
        for module, heavy in found.items():
            heavy |= {"printing"} if self.rooms[module] in PRINTING else set()
            heavy |= {"lifting"} if self.rooms[module] == LIFTING else set()
            heavy |= {"choices"} if self.rooms[module] == CHOICES else set()
            heavy |= {"layouts"} if self.rooms[module] in LAYOUTS else set()
        changed = True
        while changed:
            changed = False
            for module, others in arrows.items():
                more = set().union(*(found[other] for other in others)) - found[module]
                found[module] |= more
                changed |= bool(more)
        return found

    def circles(self) -> list[str]:
        """Return the modules that import each other, around any number of corners; one line a circle."""
        arrows, number, low, stack, found = self.arrows(), {}, {}, [], []

        def visit(module: str) -> None:
            number[module] = low[module] = len(number)
            stack.append(module)
            for other in sorted(arrows[module]):
                if other not in number:
                    visit(other)
                if other in stack:
                    low[module] = min(low[module], low[other])
            if low[module] == number[module]:
                circle = stack[stack.index(module) :]
                del stack[stack.index(module) :]
                if len(circle) > 1:
                    found.append(" <-> ".join(sorted(circle)))

        for module in arrows:
            if module not in number:
                visit(module)
        return found

    def violations(self) -> list[str]:
        """Return what is wrong with the arrows, a line each."""
        wrong, loads = [], self.loads()
        for module, some in self.modules.items():
            package, room = module.split(".")[0], self.rooms[module]
            face = room == "swizzle" or module in FACES
            for each in some:
                at, top, target = f"{module}:{each.line}", each.name.split(".")[0], self.target(each.name)
                if top in FIRST_PARTY and top not in PACKAGES[package]:
                    wrong.append(f"{at}: {package} may not import {each.name}")
                if top in SOLVERS and package != "symbolic":
                    wrong.append(f"{at}: only symbolic may import {each.name}")
                if package == "case_studies" and top not in {"swizzle", "__future__"}:
                    wrong.append(f"{at}: a case study imports swizzle and nothing else, not {each.name}")
                if target is None or package == "case_studies":
                    continue
                other = self.rooms[target]
                if top == package and other != room and not face and other not in ROOMS.get(room, "").split():
                    wrong.append(f"{at}: {room} may not import {target}, which is in {other}")
                if each.indented and module not in ON_DEMAND and not loads[target] - loads[module]:
                    wrong.append(f"{at}: import {target} at the top: nothing heavy comes with it")
        return [*wrong, *(f"a circle: {circle}" for circle in self.circles())]


def tree() -> House:
    """Return the real house."""
    files = [path for folder in PACKAGES for path in sorted((ROOT / folder).rglob("*.py"))]
    return House.of({str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files})


def test_the_house_keeps_its_arrows() -> None:
    """No package, room or file imports what it must not know about; no circle; nothing light is imported late."""
    assert tree().violations() == []


def test_every_room_is_on_the_plan() -> None:
    """A new folder is drawn into ROOMS, and what is drawn there exists."""
    folders = {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    rooms = {".".join(folder.relative_to(ROOT).parts) for folder in folders if set(folder.glob("[!_]*.py"))}
    assert rooms - {"case_studies", "case_studies.cookbook", "case_studies.tuning", "case_studies.tensor_cores"} == set(
        ROOMS
    )


def test_wings_import_each_other_without_a_circle() -> None:
    """`swizzle` has at most eleven wings, and what one of them imports does not import it."""
    wings: dict[str, set[str]] = {}
    for room, others in IN_SWIZZLE.items():
        wing = room.split(".")[0]
        wings.setdefault(wing, set()).update({other.split(".")[0] for other in others.split()} - {wing})
    assert len(wings) <= 11
    while ground := [wing for wing, others in wings.items() if not others & wings.keys()]:
        for wing in ground:
            del wings[wing]
    assert wings == {}


def test_only_the_public_face_lies_at_the_root() -> None:
    """Everything else has a room."""
    assert {path.name for path in (ROOT / "swizzle").glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize(
    "sources",
    [
        {"symbolic/a.py": "import templates.holes"},
        {"symbolic/a.py": "from cuda_out import printer"},
        {"symbolic/a.py": "def f():\n    from swizzle.solving.solution import Result"},
        {"symbolic/a.py": "import tests.test_layering"},
        {"templates/a.py": "from cuda_out.printer import print_cuda"},
        {"templates/deep/a.py": "from z3 import Solver"},
        {"cuda_out/a.py": "import numpy, templates"},
        {"cuda_out/passes/a.py": "from swizzle import sketch"},
        {"cuda_out/a.py": "import importlib\nimportlib.import_module('pysmt.shortcuts')"},
        {"swizzle/a.py": "import case_studies.conv1d"},
        {"swizzle/a.py": "if True:\n    import pysat.solvers"},
        {"swizzle/a.py": "__import__('cvc5')"},
        {"case_studies/a.py": "from symbolic.ir.program import Program"},
        {"case_studies/a.py": "import os"},
        {"symbolic/ir/a.py": "from symbolic.machine.b import c", "symbolic/machine/b.py": ""},
        {"symbolic/ir/a.py": "from ..machine import b", "symbolic/machine/b.py": ""},
        {"swizzle/solving/search/a.py": "from swizzle.commands.b import c", "swizzle/commands/b.py": ""},
        {"swizzle/solving/costs/a.py": "from swizzle.solving.search import b", "swizzle/solving/search/b.py": ""},
        {
            "swizzle/answers/show/a.py": "from swizzle.answers.show import b",
            "swizzle/answers/show/b.py": "from swizzle.answers.show.a import c",
        },
        {
            "swizzle/answers/show/a.py": "from swizzle.answers.show import b",
            "swizzle/answers/show/b.py": (
                "import typing\nif typing.TYPE_CHECKING:\n    from swizzle.answers.show.a import c"
            ),
        },
        {
            "swizzle/answers/show/a.py": "def f():\n    from swizzle.answers.show import b",
            "swizzle/answers/show/b.py": "import swizzle.answers.show.c",
            "swizzle/answers/show/c.py": "from swizzle.answers.show.a import f",
        },
        {
            "swizzle/answers/show/a.py": "def f():\n    from swizzle.answers.show.b import g",
            "swizzle/answers/show/b.py": "import os",
        },
        {
            "symbolic/solve/a.py": "import pysmt\ndef f():\n    from symbolic.solve.b import g",
            "symbolic/solve/b.py": "from pysmt.fnode import FNode",
        },
    ],
)
def test_a_bad_house_is_found(sources: dict[str, str]) -> None:
    """Every arrow that must not be there is reported."""
    assert House.of(sources).violations() != []


@pytest.mark.parametrize(
    "sources",
    [
        {"symbolic/ir/a.py": "import pysmt.shortcuts\nfrom symbolic import errors", "symbolic/errors.py": ""},
        {
            "templates/a.py": "from symbolic.ir.program import Program\nfrom .holes import Hole",
            "templates/holes.py": "",
        },
        {"cuda_out/passes/a.py": "from ..analysis.facts import Facts", "symbolic/ir/facts.py": ""},
        {"swizzle/commands/a.py": "import templates, cuda_out.c.printer, symbolic.machine.machine, numpy"},
        {"case_studies/a.py": "from __future__ import annotations\nfrom swizzle import sketch"},
        {"swizzle/__init__.py": "def f():\n    from swizzle.answers.show.b import g", "swizzle/answers/show/b.py": ""},
        {"symbolic/solve/a.py": "def f():\n    import z3\n    import numpy"},
        {
            "symbolic/solve/a.py": "def f():\n    from symbolic.solve.b import g",
            "symbolic/solve/b.py": "from symbolic.solve.c import h",
            "symbolic/solve/c.py": "import z3",
        },
    ],
)
def test_a_good_house_is_not_blamed(sources: dict[str, str]) -> None:
    """The arrows that the house is built on are free."""
    assert House.of(sources).violations() == []


READMES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("README.md"))
"""The page of each room, or of a wing for all its rooms."""


def test_design_and_contributing_name_files_that_are_there() -> None:
    """Each path in backticks that ends in `.py` is a file, by its whole name or by its last part."""
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if ".venv" not in path.parts}
    known = {ending for file in files for ending in _endings(file)}
    for page in ("docs/design.md", "docs/not-done-yet.md", "docs/contributing.md", "bench/README.md"):
        named = re.findall(r"`([\w/]+\.py)`", (ROOT / page).read_text(encoding="utf-8"))
        assert named, f"{page} names no files"
        assert not [name for name in named if name not in known], page


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.parent.relative_to(ROOT).as_posix())
def test_a_room_says_what_is_there_and_what_it_may_import(readme: Path) -> None:
    """Files and folders exist, in the room, from the root, or for links; the last line names whom the plan allows."""
    text, room = readme.read_text(encoding="utf-8"), readme.parent
    named = re.findall(r"`([\w/]+(?:\.(?:py|h|cpp|swz|md)|/[\w/]+))`", text)
    assert any(name.endswith(".py") for name in named)
    assert not [name for name in named if not ((room / name).exists() or (ROOT / name).exists())]
    assert not [link for link in re.findall(r"\]\(([^)#]+)\)", text) if not (room / link).exists()]
    own = ".".join(room.relative_to(ROOT).parts)
    allowed = {
        ".".join(other.split(".")[:2]) for each in ROOMS if _readme(each) == readme for other in ROOMS[each].split()
    }
    stated = re.search(r"^\*\*May import\*\* of its own package: ([^.]+)\.$", text, re.MULTILINE)
    assert stated is not None
    assert set(re.findall(r"`([\w/]+)`", stated[1])) == {other.replace(".", "/") for other in allowed - {own}}


def test_every_room_has_a_page_in_the_table() -> None:
    """A room's README stands in its folder, or in the folder of its wing; docs/design.md leads to all of them."""
    assert {_readme(room) for room in ROOMS} == set(READMES)
    linked = re.findall(r"\]\(\.\./([\w/]+/README\.md)\)", (ROOT / "docs/design.md").read_text(encoding="utf-8"))
    assert sorted(linked) == [path.relative_to(ROOT).as_posix() for path in READMES]


def _readme(room: str) -> Path | None:
    folder = ROOT.joinpath(*room.split("."))
    return next((path for at in (folder, *folder.parents) if (path := at / "README.md") in READMES), None)


def _endings(file: str) -> list[str]:
    parts = file.split("/")
    return ["/".join(parts[first:]) for first in range(len(parts))]
