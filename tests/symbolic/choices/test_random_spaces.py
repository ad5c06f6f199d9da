"""Random spaces: own propagation finds just the assignments that the declaration means, in every order of decisions."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from symbolic.choices import search
from symbolic.choices.conditions import GenericChoice, ObjectSet, holds
from symbolic.choices.grounding import ground
from symbolic.choices.propagation import ContradictionError, PartialAssignment, Propagator
from symbolic.choices.search import assignments, bits_of, estimate
from symbolic.choices.space import ChoiceSpace
from tests.symbolic.choices.meaning import all_assignments

QUICK, MANY = 120, 5000
MOST = 3000


def random_space(seed: int) -> ChoiceSpace:
    """Return a space of a few objects with rules of some kinds, each by chance, small enough to be tried whole."""
    chance = random.Random(seed)
    space = ChoiceSpace(f"random {seed}")
    a_set = space.set("A", [f"a{n}" for n in range(chance.choice([1, 2, 2, 3, 3]))])
    kind = space.enum("kind", [a_set], "xyz"[: chance.choice([2, 2, 3])])
    features = chance.sample([pairs, links, stored], chance.choice([1, 1, 2]))
    for feature in features:
        feature(space, chance, a_set, kind)
    return space


def pairs(space: ChoiceSpace, chance: random.Random, a_set: ObjectSet, kind: GenericChoice) -> None:
    """A relation between objects, with rules about it, a representative of each class, and an algebra."""
    order = space.enum("order", [a_set, a_set], ("BEFORE", "AFTER", "MERGED"), opposite={"BEFORE": "AFTER"})
    of_one = [lambda a: kind(a).is_("x"), lambda a: kind(a).is_not("y"), lambda a: ~kind(a).is_("x", "y")]
    of_pair = [
        lambda a, c: order(a, c).is_("MERGED"),
        lambda a, c: order(a, c).is_("BEFORE"),
        lambda a, c: order(a, c).is_not("AFTER"),
        lambda a, c: kind(a).same_as(kind(c)),
    ]
    for number in range(chance.randint(0, 2)):
        p, q, r, s = chance.choice(of_one), *(chance.choice(of_pair) for _ in range(3))
        space.require(f"pair {number}", [a_set, a_set], lambda a, c, p=p, q=q, r=r: p(a) | q(a, c) | ~r(c, a))
        if chance.random() < 0.5:
            space.require(
                f"both {number}",
                [a_set, a_set],
                lambda a, c, p=p, q=q, r=r, s=s: (p(a) & q(a, c)) | (r(c, a) & ~s(a, c) & ~p(c)),
            )
    if chance.random() < 0.5:
        space.quotient("first", a_set, lambda a: kind(a).is_("x"), lambda a, b: order(a, b).is_("MERGED"))
        space.require("alike", [a_set, a_set], lambda a, b: order(a, b).is_not("MERGED") | kind(a).same_as(kind(b)))
    if chance.random() < 0.6:
        every = {(x, y): z for x, y, z in COMPOSED}
        kept = chance.sample(sorted(every), chance.randint(1, len(every)))
        space.algebra(order, {pair: [every[pair]] for pair in kept})


COMPOSED = [
    ("BEFORE", "BEFORE", "BEFORE"),
    ("BEFORE", "MERGED", "BEFORE"),
    ("MERGED", "BEFORE", "BEFORE"),
    ("AFTER", "AFTER", "AFTER"),
    ("AFTER", "MERGED", "AFTER"),
    ("MERGED", "AFTER", "AFTER"),
    ("MERGED", "MERGED", "MERGED"),
]


def links(space: ChoiceSpace, chance: random.Random, a_set: ObjectSet, kind: GenericChoice) -> None:
    """Numbers and links of objects of two sets, with rules about many of them and a counter."""
    b_set = space.set("B", [f"b{n}" for n in range(chance.randint(1, 2))])
    universes = {b: sorted(chance.sample([0, 1, 2, 3, 4, 8], 2)) for b in b_set.objects}
    size = space.integer("size", [b_set], universes.__getitem__)
    linked = space.enum("linked", [a_set, b_set], (False, True))
    of_both = [
        lambda a, b: linked(a, b).is_(True),
        lambda a, b: linked(a, b).is_not(True) & (size(b) >= 2),
        lambda a, b: size(b) <= 3,
        lambda a, b: holds(lambda link, n: link or n % 2 == 0, linked(a, b), size(b)),
    ]
    for number in range(chance.randint(0, 2)):
        p = chance.choice(of_both)
        space.require(f"link {number}", [a_set, b_set], lambda a, b, p=p: kind(a).is_("x") | p(a, b))
    if chance.random() < 0.5:
        p, q = chance.choice(of_both), chance.choice(of_both)
        space.require(
            "many", [a_set, a_set, b_set], lambda a, c, b: p(a, b) | kind(a).is_("y") | q(c, b) | kind(c).is_("y")
        )
    if chance.random() < 0.5:
        space.require("sizes rise", [b_set, b_set], lambda b, c: b > c or size(b) <= size(c))
    space.counter(
        "links",
        [a_set, b_set],
        chance.choice([lambda a, b: size(b), lambda a, b: 2]),
        when=chance.choice([lambda a, b: linked(a, b).is_(True), lambda a, b: linked(a, b).is_(False), None]),
        product=chance.random() < 0.5,
        most=chance.choice([3, 4, 8, 16, math.inf]),
        least=chance.choice([-math.inf, 1, 2, 3]),
    )


def stored(space: ChoiceSpace, chance: random.Random, a_set: ObjectSet, kind: GenericChoice) -> None:
    """Objects that triggers add, with choices, rules, counters and representatives of their own."""
    cached = space.set("C", ["c"] if chance.random() < 0.3 else [])
    cache = space.enum("cache", [cached], ("L1", "L2"))
    space.trigger("stored", [a_set], lambda a: kind(a).is_("x"), lambda a: {cached: [f"s{a}"]})
    if chance.random() < 0.4:
        space.trigger(
            "alike", [a_set, a_set], lambda a, b: kind(a).is_("x") & kind(b).is_("y"), lambda a, b: {cached: ["m"]}
        )
    if chance.random() < 0.4:
        space.trigger("deeper", [cached], lambda c: cache(c).is_("L2"), lambda c: {cached: [f"d{c}"][: 4 - len(c)]})
    if chance.random() < 0.5:
        space.require("no two L1", [cached, cached], lambda c, d: cache(c).is_not("L1") | cache(d).is_not("L1"))
    if chance.random() < 0.6:
        space.counter(
            "caches",
            [cached],
            lambda c: 1,
            when=lambda c: cache(c).is_("L2"),
            most=chance.choice([0, 1, 2, math.inf]),
            least=chance.choice([0, 1, 2]),
        )
    if chance.random() < 0.5:
        space.quotient("one", cached, lambda c: cache(c).is_("L1"), lambda c, d: cache(c).same_as(cache(d)))
    if chance.random() < 0.4:
        between = space.enum("between", [cached, a_set], (0, 1))
        space.require("between", [cached, a_set], lambda c, a: between(c, a).is_(0) | kind(a).is_("x"))


def check(seed: int) -> int:
    """Compare a space's assignments with its meaning; return how many there are, or -1 where it is too large."""
    space = random_space(seed)
    try:
        grounded = ground(space)
    except ValueError as error:
        assert "wait for each other" in str(error)
        return -1
    if math.prod(len(grounded.values[n]) for n in range(grounded.choices)) > MOST:
        return -1
    wanted = all_assignments(space)
    propagation = Propagator(grounded)
    for order in range(3):
        found = set()
        for candidate in assignments(propagation, next_variable=shuffled(order)):
            made = {(c.name, objects): v for (c, objects), v in propagation.assignment(candidate).items()}
            assert frozenset(made.items()) not in found, f"seed {seed}: an assignment comes twice"
            found.add(frozenset(made.items()))
        assert found == wanted, f"seed {seed}: {len(found)} assignments, {len(wanted)} wanted"
    if wanted:
        narrowest(seed, propagation)
    return len(wanted)


def shuffled(order: int) -> Callable[[Propagator, PartialAssignment], int]:
    def pick(propagation: Propagator, candidate: PartialAssignment) -> int:
        ranked = random.Random(order)
        ranks = [ranked.random() for _ in propagation.space.names]
        return min(propagation.open_variables(candidate), key=ranks.__getitem__)

    return pick


def narrowest(seed: int, propagation: Propagator) -> None:
    """Decisions commute: the same ones in any order leave the same candidate, or contradict each other in all."""
    chance = random.Random(seed)
    root = propagation.root()
    open_variables = propagation.open_variables(root)
    picked = chance.sample(open_variables, min(4, len(open_variables)))
    decisions = [(variable, chance.choice(bits_of(root.masks[variable]))) for variable in picked]
    ends = set()
    for _ in range(3):
        chance.shuffle(decisions)
        try:
            at = root
            for variable, bit in decisions:
                at = propagation.decide(at, variable, bit)
            ends.add(at)
        except ContradictionError:
            ends.add(None)
    assert len(ends) == 1, f"seed {seed}: the order of decisions matters"


def test_random_spaces_have_the_assignments_that_they_mean() -> None:
    sizes = [check(seed) for seed in range(QUICK)]
    assert sum(size > 0 for size in sizes) > QUICK // 4
    assert sum(size == 0 for size in sizes) > 1


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_random_spaces(part: int) -> None:
    for seed in range(QUICK + part, MANY, 10):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [search.MOST_STEPS, 0])
def test_an_estimate_of_the_size_holds_the_number(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """With the strata of small spaces, and with the wide ones of spaces where a walk would take too long."""
    monkeypatch.setattr(search, "MOST_STEPS", steps)
    inside = tried = 0
    for seed in range(QUICK):
        try:
            propagation = Propagator(ground(random_space(seed)))
        except ValueError:
            continue
        try:
            propagation.root()
        except ContradictionError:
            continue
        number = sum(1 for _ in zip(assignments(propagation), range(MOST + 1), strict=False))
        if 1 < number <= MOST:
            size = estimate(propagation, seed, walks=20)
            tried += 1
            inside += size.low <= number <= size.high or size.estimate == pytest.approx(number)
    assert tried > QUICK // 4
    assert inside >= 0.9 * tried
