"""Structures times decisions: counted as another reading counts them, ranked, and the best proved."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from msgspec.structs import replace

from swizzle.derive.patterns.deriving import derivations_of, lowered
from swizzle.derive.patterns.scope import only_moves
from swizzle.derive.patterns.search import KINDS, MOVES, SIZES, _cost, _Decisions
from symbolic.patterns.terms import Map, Reorder, Term, term
from symbolic.rewriting.derivation import positions, replaced_at
from symbolic.rewriting.nesting import faults
from symbolic.rewriting.structures import explore
from tests.swizzle.derive.patterns.test_derive import BLAS, derive


def test_candidates_are_counted_as_the_hierarchy_of_a_grid_allows(tmp_path: Path) -> None:
    """Every choice of kinds is tried, and those that nest rightly are counted; no grid stands in a loop."""
    path = tmp_path / "blas.py"
    path.write_text(BLAS)
    (declared,) = derivations_of(str(path), "dots", {})
    start, _ = declared.traced()
    structures = explore(start, declared.types, MOVES, 2).structures
    assert len(structures) > 5
    for reached in structures:
        every = list(positions(reached.term, declared.types))
        maps = [each for each in every if isinstance(each.term, Map) and not only_moves(each.term)]
        orders = sum(isinstance(each.term, Reorder) for each in every)
        sizes = {name for each in every if hasattr(each.term, "size") for name in each.term.size.names} & {*SIZES}
        right = 0
        for kinds in product(KINDS, repeat=len(maps)):
            made: Term = reached.term
            for each, kind in zip(maps, kinds, strict=True):
                node = next(found for found in positions(made, declared.types) if found.path == each.path).term
                made = term(replaced_at(made, each.path, replace(node, kind=kind)))  # type: ignore[type-var]
            loops = [each.path for each, kind in zip(maps, kinds, strict=True) if kind == "seq"]
            grids = [each.path for each, kind in zip(maps, kinds, strict=True) if kind in ("block", "global")]
            inside = any(path[: len(loop) + 1] == (*loop, 0) for loop in loops for path in grids)
            right += not list(faults(made)) and not inside
        space = _Decisions(declared, reached, 0)
        assert sum(1 for _ in space.all()) == right * len(space._divisors()) ** len(sizes) * (1 + len(SIZES)) ** orders


def test_the_best_is_proved_and_its_derivation_shown(tmp_path: Path) -> None:
    status, out, _ = derive(BLAS, tmp_path, "dots", "--search", "6")
    assert status == 0
    assert out.splitlines()[1].endswith("candidates; 6 tried") and "refused; the best of the rest" in out
    assert "lower_map" in out


def test_what_is_read_in_whole_lines_costs_less(tmp_path: Path) -> None:
    """Neighbouring threads that read neighbouring elements move fewer lines than those whose elements are apart."""
    path = tmp_path / "blas.py"
    costs = []
    for stride in ("strided(256).", ""):
        text = BLAS.replace("n=32", "n=2048").replace("strided(16).chunks(16)", f"{stride}chunks(512)")
        path.write_text(text.replace("chunks(2)", "chunks(8)"))
        (declared,) = derivations_of(str(path), "dots", {})
        costs.append(_cost(lowered(declared, declared.derived())))
    assert costs[0] < costs[1]
