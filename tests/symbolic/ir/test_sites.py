"""Sites: every node has one, they tell all nodes apart, and equal programs have equal sites."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from swizzle import load
from symbolic.ir import program as ir
from symbolic.ir.sites import Sites, walk
from symbolic.ir.walk import bodies, children, own_expressions, rewrite_program
from tests.cuda_out.random_programs import RandomKernel

CASES = Path(__file__).parents[3] / "case_studies"


def at(program: ir.Program, site: tuple[int, ...]) -> object:
    """Walk to a site, by the definition of sites."""
    steps = list(site)
    body, node = program.body, None
    while steps:
        step = steps.pop(0)
        if step < 0:
            final = [node.final.body] if isinstance(node, ir.DeclareAccumulator) and node.final else []
            node = [*own_expressions(node), *final][-1 - step]
            for place in steps:
                node = children(node)[place]
            return node
        if node is not None:
            body = bodies(node)[step]
            step = steps.pop(0)
        node = body[step]
    return node


def programs() -> list[ir.Program]:
    """Return the case studies' programs and random ones."""
    cases = [sketch.program for path in sorted(CASES.glob("*.py")) for sketch in load(path)]
    return [*cases, *(RandomKernel(seed).program() for seed in range(20))]


def test_a_site_leads_to_its_node():
    """Following the steps of a site comes to the node; no two nodes have one site."""
    for program in programs():
        found = list(walk(program))
        assert len({site for site, _ in found}) == len(found)
        assert all(at(program, site) is node for site, node in found)


def test_equal_programs_have_equal_sites():
    """A copy of a program, node for node, has the same sites."""
    for program in programs():
        copy = rewrite_program(program, lambda expr: replace(expr))
        assert [site for site, _ in walk(copy)] == [site for site, _ in walk(program)]
        known = Sites.in_program(program)
        assert all(known.of(node) == site or at(program, known.of(node)) is node for site, node in walk(program))


def test_a_node_of_another_program_has_no_site():
    """An equal node is not the same node, until it is said to stand in for it."""
    program = programs()[0]
    sites = Sites(program)
    _, original = next((s, n) for s, n in walk(program) if isinstance(n, ir.Load))
    other = replace(original)
    with pytest.raises(KeyError):
        sites.of(other)
    sites.stand_in(other, original)
    assert sites.of(other) == sites.of(original)


def test_the_last_programs_are_kept():
    """Asked twice for one program, its sites are worked out once."""
    program = programs()[0]
    assert Sites.in_program(program) is Sites.in_program(program)
