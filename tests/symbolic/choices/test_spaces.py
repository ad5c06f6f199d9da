"""What is declared, decided and refused, on spaces small enough to be counted by hand."""

from __future__ import annotations

import math
import pickle
import re
from itertools import permutations
from statistics import fmean

import pytest

from symbolic.choices.conditions import holds
from symbolic.choices.grounding import ground
from symbolic.choices.propagation import ContradictionError, Propagator
from symbolic.choices.search import assignments, contradictory_rules, estimate
from symbolic.choices.space import ChoiceSpace


def orders(objects: int) -> tuple[ChoiceSpace, Propagator]:
    space = ChoiceSpace("orders")
    things = space.set("things", [f"t{n}" for n in range(objects)])
    order = space.enum("order", [things, things], ("BEFORE", "AFTER"), opposite={"BEFORE": "AFTER"})
    space.algebra(order, {("BEFORE", "BEFORE"): ["BEFORE"], ("AFTER", "AFTER"): ["AFTER"]})
    return space, Propagator(ground(space))


def test_a_transitive_order_has_an_assignment_for_each_permutation() -> None:
    for objects in (2, 3, 4, 5):
        assert sum(1 for _ in assignments(orders(objects)[1])) == math.factorial(objects)


def test_an_order_decided_one_way_round_is_known_the_other_way_round_and_through_others() -> None:
    space, propagation = orders(3)
    (order,) = space.choices
    at = propagation.choose(propagation.root(), order("t1", "t0"), "BEFORE")
    assert propagation.left(at, order("t0", "t1")) == ("AFTER",)
    at = propagation.choose(at, order("t2", "t1"), "BEFORE")
    assert propagation.left(at, order("t0", "t2")) == ("AFTER",)
    assert propagation.left(at, order("t2", "t0")) == ("BEFORE",)
    with pytest.raises(ContradictionError, match=r"order\(t0, t2\) has none of these values left"):
        propagation.choose(at, order("t0", "t2"), "BEFORE")


def test_two_rules_about_a_pair_remove_what_both_together_forbid() -> None:
    space = ChoiceSpace()
    things = space.set("things", ["a", "b"])
    kind = space.enum("kind", [things], ("x", "y", "z"))
    space.require("first", [things, things], lambda a, b: a > b or kind(a).is_("x") | kind(b).is_("x"))
    space.require("second", [things, things], lambda a, b: a > b or kind(a).is_("y", "x") | kind(b).is_("x"))
    space.require("third", [things, things], lambda a, b: a > b or kind(a).is_not("x") | kind(b).is_("x"))
    propagation = Propagator(ground(space))
    assert propagation.left(propagation.root(), kind("b")) == ("x",)


def test_sizes_of_a_tile_that_fit_are_left_before_anything_is_decided() -> None:
    space = ChoiceSpace("tile")
    one = space.set("parameters", ["BM", "BN", "BK"])
    size = space.integer("size", [one], lambda name: (4, 8) if name == "BK" else (16, 32, 64, 128))

    def fit(m: int, n: int, k: int) -> bool:
        return 4 * k * (m + n) <= 3072

    space.require("both tiles fit", [], lambda: holds(fit, size("BM"), size("BN"), size("BK")))
    space.require("a square", [], lambda: size("BM").same_as(size("BN")))
    propagation = Propagator(ground(space))
    root = propagation.root()
    assert propagation.left(root, size("BM")) == (16, 32, 64)
    at = propagation.choose(root, size("BM"), 64)
    assert propagation.left(at, size("BK")) == (4,)
    found = [propagation.assignment(one)[size, ("BM",)] for one in assignments(propagation)]
    assert sorted(found) == [16, 16, 32, 32, 64]


def test_a_counter_keeps_both_bounds() -> None:
    space = ChoiceSpace()
    dims = space.set("dims", ["a", "b", "c"])
    thread = space.enum("thread", [dims], (False, True))
    size = space.integer("size", [dims], lambda d: (4, 32))
    space.counter(
        "threads", [dims], lambda d: size(d), when=lambda d: thread(d).is_(True), product=True, least=64, most=1024
    )
    propagation = Propagator(ground(space))
    found = [propagation.assignment(candidate) for candidate in assignments(propagation)]
    products = [math.prod(one[size, (d,)] for d in "abc" if one[thread, (d,)]) for one in found]
    assert set(products) == {64, 128, 512, 1024}
    # Threads by threads: pairs (32, 4), (4, 32), (32, 32) of three, the third dimension's size free; and all three.
    assert len(found) == 3 * 3 * 2 + sum(64 <= 4 ** (3 - n) * 32**n <= 1024 for n in (0, 1, 1, 1, 2, 2, 2, 3))


def test_a_counter_of_constants_alone_is_looked_at() -> None:
    space = ChoiceSpace()
    dims = space.set("dims", ["a", "b", "c"])
    space.enum("kind", [dims], ("x", "y"))
    space.counter("three", [dims], lambda d: 1, most=2)
    with pytest.raises(ContradictionError, match="three"):
        Propagator(ground(space)).root()


def test_an_object_that_must_not_count_may_still_be_there() -> None:
    space = ChoiceSpace()
    base, cached = space.set("base", ["a"]), space.set("cached")
    on = space.enum("on", [base], (False, True))
    cache = space.enum("cache", [cached], ("L1", "L2"))
    space.trigger("stored", [base], lambda a: on(a).is_(True), lambda a: {cached: ["s"]})
    space.counter("caches", [cached], lambda c: 1, when=lambda c: cache(c).is_("L2"), most=0)
    propagation = Propagator(ground(space))
    found = [propagation.assignment(candidate) for candidate in assignments(propagation)]
    assert found == [{(on, ("a",)): False}, {(on, ("a",)): True, (cache, ("s",)): "L1"}]


def test_what_triggers_add_has_the_same_assignments_as_counted_by_hand() -> None:
    space = ChoiceSpace()
    values = space.set("values", ["u", "v"])
    insts = space.set("insts", ["iu", "iv"])
    memory = space.enum("memory", [values], ("REGISTER", "SHARED", "GLOBAL"))
    cache = space.enum("cache", [insts], ("L1", "L2"))
    order = space.enum("order", [insts, insts], ("BEFORE", "AFTER"), opposite={"BEFORE": "AFTER"})
    space.algebra(order, {("BEFORE", "BEFORE"): ["BEFORE"], ("AFTER", "AFTER"): ["AFTER"]})
    space.require(
        "one is shared", [values, values], lambda a, b: memory(a).is_not("SHARED") | memory(b).is_not("SHARED")
    )
    pairs = {("su", "lu"), ("sv", "lv")}
    space.require("stores before loads", [insts, insts], lambda a, b: (a, b) not in pairs or order(a, b).is_("BEFORE"))
    space.require("cached alike", [insts, insts], lambda a, b: (a, b) not in pairs or cache(a).same_as(cache(b)))
    space.trigger("stored", [values], lambda v: memory(v).is_("SHARED"), lambda v: {insts: [f"s{v}", f"l{v}"]})
    space.trigger("written", [values], lambda v: memory(v).is_("GLOBAL"), lambda v: {insts: [f"w{v}"]})
    by_hand = 0
    for there in (
        ["iu", "iv"],
        *[["iu", "iv", f"w{v}"] for v in "uv"],
        ["iu", "iv", "wu", "wv"],
        *[["iu", "iv", f"s{v}", f"l{v}"] for v in "uv"],
        *[["iu", "iv", f"s{v}", f"l{v}", f"w{w}"] for v, w in ("uv", "vu")],
    ):
        for line in permutations(there):
            if all(line.index(a) < line.index(b) for a, b in pairs if a in line):
                by_hand += 2 ** (len(there) - sum(name[0] == "s" for name in there))
    propagation = Propagator(ground(space))
    assert sum(1 for _ in assignments(propagation)) == by_hand


def test_a_space_without_assignments_names_a_least_set_of_rules() -> None:
    space = ChoiceSpace("tile")
    dims = space.set("dims", ["a", "b"])
    size = space.integer("size", [dims], lambda d: (16, 32))
    kind = space.enum("kind", [dims], ("LOOP", "THREAD"))
    space.require("sizes differ", [dims, dims], lambda a, b: ~size(a).same_as(size(b)))
    space.require("loops only", [dims], lambda d: kind(d).is_("LOOP"))
    space.counter("threads", [dims], lambda d: size(d), when=lambda d: kind(d).is_("THREAD"), least=32)
    grounded = ground(space)
    assert contradictory_rules(grounded) == ["loops only", "threads"]
    with pytest.raises(ContradictionError, match="threads"):
        Propagator(grounded).root()
    assert estimate(Propagator(grounded)).high == 0


def test_an_estimate_holds_the_number() -> None:
    """Candidates of a stratum look alike, and hold different numbers: the one that is kept is drawn, not the first."""
    space = ChoiceSpace("sums")
    first, *others = [space.enum(f"c{n}", [], tuple(range(4)))() for n in range(5)]
    space.require(
        "even sums behind all but 0",
        [],
        lambda: holds(lambda one, *sum_of: not (one and sum(sum_of) % 2), first, *others),
    )
    propagation, number = Propagator(ground(space)), 4**4 + 3 * 4**4 // 2
    sizes = [estimate(propagation, seed, walks=10) for seed in range(20)]
    assert sum(size.low <= number <= size.high for size in sizes) >= 17
    assert all(size.high < 4 * size.low for size in sizes)
    assert fmean(size.estimate for size in sizes) == pytest.approx(number, rel=0.1)


def test_a_candidate_is_plain_data() -> None:
    propagation = orders(3)[1]
    root = propagation.root()
    assert pickle.loads(pickle.dumps(root)) == root


def refused(space: ChoiceSpace, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        ground(space)


def test_mistakes_are_told() -> None:
    space = ChoiceSpace()
    things, others = space.set("things", ["a", "b"]), space.set("others", ["c"])
    kind = space.enum("kind", [things], ("x", "y"))
    with pytest.raises(ValueError, match=re.escape("kind(a) has no value 'z'; it has x, y")):
        kind("a").is_("z")
    with pytest.raises(TypeError, match="kind is a choice about 1 objects, not 2"):
        kind("a", "b")
    with pytest.raises(ValueError, match="kind is declared twice"):
        space.enum("kind", [things], ("x",))
    with pytest.raises(ValueError, match="order has opposites, so it is about two objects of one set"):
        space.enum("order", [things, others], ("B", "A"), opposite={"B": "A"})
    with pytest.raises(TypeError, match=r"write \|, & and ~"):
        bool(kind("a").is_("x"))
    space.require("of others", [others], lambda c: kind(c).is_("x"))
    refused(space, "there is no kind(c): these objects are not different ones of its sets")


def test_triggers_that_do_not_end_or_wait_for_each_other_are_refused() -> None:
    space = ChoiceSpace()
    things = space.set("things", [0])
    space.trigger("one more", [things], lambda n: True, lambda n: {things: [n + 1]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("symbolic.choices.grounding.MOST_OBJECTS", 50)
        refused(space, "one more: this adds more than 50 objects, without end")
    space = ChoiceSpace()
    first, second = space.set("first"), space.set("second")
    start = space.set("start", ["s"])
    on = space.enum("on", [start], (False, True))
    space.trigger("from s", [start], lambda s: on(s).is_(True), lambda s: {first: ["a"]})
    space.trigger("there", [first], lambda a: True, lambda a: {second: ["b"]})
    space.trigger("back", [second], lambda b: True, lambda b: {first: ["a"]})
    refused(space, "triggers wait for each other to add")


def test_numbers_that_are_counted_are_not_negative() -> None:
    space = ChoiceSpace()
    things = space.set("things", ["a"])
    space.counter("sum", [things], lambda a: -1, most=3)
    refused(space, "sum: what is counted has to be whole numbers from 0 on")
