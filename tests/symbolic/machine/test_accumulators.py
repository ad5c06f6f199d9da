"""Accumulators: small cases of products and of counting, each in all assignments."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from symbolic.machine.accumulators import Reduced
from symbolic.machine.contributions import Entry
from symbolic.values.data import Need, kinds_of_term
from symbolic.values.guard import TRUE, Guard
from symbolic.values.mapped import Mapped
from symbolic.values.vector import Encoding
from tests.symbolic.assignments import assignments
from tests.symbolic.values.test_data import HERE, ON, choice, lanes, new_encoding, two_way

PRODUCTS = ["x y, x z", "s x, y z", "x y, z 0", "x y, y x", "x 0, y 0", "p z, x z"]


def products(texts: list[str], certain: bool) -> tuple[Encoding, Reduced, list[Guard], Callable[[Sequence[bool]], int]]:
    """Return a sum of products of two values each, the guards that decide it, and what it is by brute force."""
    encoding = new_encoding()
    guards, terms = encoding.guards, encoding.terms
    value = {name: terms.atom("data", i) for i, name in enumerate("xyz")} | {"0": terms.const(0)}
    value["p"] = terms.apply("*", [value["x"], value["y"]])
    value["s"] = terms.apply("+", [terms.times(2, value["x"]), terms.times(2, value["y"])])
    inputs: list[Guard] = []
    entries = []
    for text in texts:
        operands = []
        for side in text.split(", "):
            operand, free = two_way(guards, *(value[name] for name in side.split()))
            operands.append(operand)
            inputs += free or [guards.fresh()]
        inputs.append(TRUE if certain else guards.fresh())
        entries.append(Entry(ON if certain else choice(inputs[-1]), tuple(operands)))

    def total(values: Sequence[bool]) -> int:
        given, found = iter(values), []
        for text in texts:
            factors = [value[side.split()[0 if next(given) else 1]] for side in text.split(", ")]
            if certain or next(given):
                found.append(terms.apply("*", factors))
        return terms.apply("+", found)

    return encoding, Reduced(terms, "+", "*", entries, None, HERE), [g for g in inputs if g != TRUE], total


@pytest.mark.parametrize(
    "texts",
    [
        *([each] for each in PRODUCTS),
        *(pytest.param(list(two), marks=pytest.mark.slow) for two in itertools.combinations(PRODUCTS, 2)),
    ],
)
@pytest.mark.parametrize("certain", [False, True])
def test_sums_of_products_are_asked_like_brute_force(texts: list[str], certain: bool) -> None:
    """Each factor one of two, perhaps 0, which frees the other factor; every sum that can come out is asked for."""
    _, _, inputs, total = products(texts, certain)
    results = {values: total(values) for values in itertools.product((False, True), repeat=len(inputs))}
    for wanted in sorted(set(results.values())):
        encoding, reduced, inputs, again = products(texts, certain)
        assert [again(values) for values in results] == list(results.values())  # terms have the same numbers
        when = encoding.guards.fresh()
        reduced.require(encoding, 0, wanted, (-when,))
        for values, holds in assignments(encoding.guards, [when, *inputs]):
            assert (holds is not None) == (not values[0] or results[values[1:]] == wanted), values


@pytest.mark.parametrize("with_init", [False, True])
@pytest.mark.parametrize("count", range(4))
def test_need_is_the_fewest_entries_that_make_the_term(count: int, with_init: bool) -> None:
    """The initial value is there without any entry."""
    encoding = new_encoding()
    guards, terms = encoding.guards, encoding.terms
    x = [terms.atom("x", i) for i in range(4)]
    init = terms.atom("start", 0) if with_init else None
    entries = [Entry(choice(guards.fresh()), (lanes(each),), tag) for tag, each in enumerate(x)]
    start = [init] if init is not None else []
    wanted = terms.apply("+", [*start, *x[:count]])
    fewest = min(
        len(chosen)
        for size in range(5)
        for chosen in itertools.combinations(x, size)
        if terms.apply("+", [*start, *chosen]) == wanted
    )
    assert Reduced(terms, "+", None, entries, init, HERE).need(0, wanted) == Need(fewest, (0, 1, 2, 3))


@pytest.mark.parametrize("outer", ["+", "^"])
@pytest.mark.parametrize("certain", range(4))
@pytest.mark.parametrize("optional", range(2))
def test_kinds_are_those_of_every_value(outer: str, certain: int, optional: int) -> None:
    """A sum is a sum only where two entries join it in any case."""
    encoding = new_encoding()
    guards, terms = encoding.guards, encoding.terms
    x = [terms.atom("x", i) for i in range(4)]
    entries = [Entry(ON, (lanes(each),)) for each in x[:certain]]
    entries += [Entry(choice(guards.fresh()), (lanes(x[3]),))] * optional
    found = Reduced(terms, outer, None, entries, None, HERE).kinds(terms, 0)
    values = [terms.apply(outer, [*x[:certain], *more]) for more in ([], x[3:])[: 1 + optional]]
    assert found == (frozenset((outer,)) if all(terms.nodes[value][0] == outer for value in values) else None)


@pytest.mark.parametrize("number", [1, 2, -3])
def test_kinds_of_a_product_are_those_of_every_value(number: int) -> None:
    """A number that a factor is multiplied by is one of the product's."""
    encoding = new_encoding()
    guards, terms = encoding.guards, encoding.terms
    factor, *x = (terms.atom("x", i) for i in range(20))
    entries = [Entry(ON, (lanes(each),)) for each in x[:2]]
    entries += [Entry(choice(guards.fresh()), (lanes(each),)) for each in x[2:]]  # too many ways to look at each
    parity = Reduced(terms, "^", None, entries, None, HERE)
    found = Mapped(terms, "*", (parity, lanes(terms.times(number, factor))), HERE).kinds(terms, 0)
    values = [terms.apply("*", [terms.apply("^", x[:n]), terms.times(number, factor)]) for n in (2, 19)]
    assert [kinds_of_term(terms, value) for value in values] == [found, found]
