"""Lifted functions as users write them: what they prove, what they keep from Python, what they note."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from symbolic import (
    SwizzleError,
    all_of,
    assert_,
    assume,
    bitvector,
    boolean,
    boolean_hole,
    choose,
    cost,
    grammar,
    hole,
    implies,
    integer,
    lifted,
    obligations,
    select,
    solve,
    synthesize,
    verify,
)  # fmt: skip
from symbolic.lifting.environment import Closure, NameTable
from symbolic.lifting.interpreter import Activation
from symbolic.lifting.lifted_text import TextOrigin, code_of
from symbolic.lifting.values import inward
from symbolic.values.guard import TRUE

X, Y, Z = integer("lifted_test_x"), integer("lifted_test_y"), integer("lifted_test_z")
P = boolean("lifted_test_p")
V, W = bitvector("lifted_test_v", 8), bitvector("lifted_test_w", 8)


@dataclass(frozen=True)
class Best:
    """The greatest element so far and its place."""

    value: Any
    place: Any

    def doubled(self) -> Any:
        """A method, which is lifted with its record."""
        if self.value > 0:
            return self.value * 2
        return 0

    @property
    def first(self) -> Any:
        """A property."""
        return self.place == 0


class Range(NamedTuple):
    """A record that is a tuple."""

    low: Any
    high: Any


@lifted(bound=9)
def root(n: Any) -> Any:
    """The integer square root, by recursion."""
    if n < 2:
        return n
    small = root(n >> 2) << 1
    large = small + 1
    return small if large * large > n else large


@lifted(bound=10)
def find(xs: Any, key: Any) -> Any:
    """Binary search."""
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] == key:
            return middle
        if xs[middle] < key:
            low = middle + 1
        else:
            high = middle
    return -1


@lifted
def insertion_sort(given: Any) -> Any:
    """By exchanging neighbours."""
    xs = list(given)
    for i in range(1, len(xs)):
        j = i
        while j > 0 and xs[j - 1] > xs[j]:
            xs[j - 1], xs[j] = xs[j], xs[j - 1]
            j -= 1
    return xs


@lifted
def greatest(xs: Any) -> Any:
    """A record that goes through a loop."""
    best = Best(xs[0], 0)
    for i in range(1, len(xs)):
        if xs[i] > best.value:
            best = Best(xs[i], i)
    return best


def test_plain_values_are_pythons() -> None:
    """With plain values the function itself is called: same objects, same errors."""
    things: list[object] = []

    @lifted
    def same(value: Any) -> Any:
        try_me = [value]
        return try_me[0]

    assert same(things) is things
    assert [root(n) for n in (0, 1, 15, 16, 80)] == [0, 1, 3, 4, 8]
    assert (find([1, 3, 5], 5), find([1, 3, 5], 4)) == (2, -1)
    with pytest.raises(IndexError):
        greatest([])
    assert root.__name__ == "root" and "square root" in (root.__doc__ or "")


def test_square_root() -> None:
    """Proved with as many calls as it needs; with too few there is a counterexample, which says what was too few."""
    n = bitvector("lifted_test_n", 12)
    with obligations():
        assume(n < 2**11)
        r = root(n)
        assert_((r * r <= n) & (n < (r + 1) * (r + 1)))
        assert verify(timeout=60).status == "unsat"

    @lifted(bound=3)
    def short(n: Any) -> Any:
        return n if n < 2 else short(n >> 2) << 1

    with obligations():
        short(n)
        outcome = verify()
    assert outcome[n] >= 16
    assert "more than" in outcome.broken[0].text
    assert outcome.broken[0].place is not None and outcome.broken[0].place.called_from is not None


def test_binary_search() -> None:
    """Of sorted keys it finds the one that is there, and nothing where there is none; indices are all in range."""
    keys = [integer(f"lifted_test_key_{i}") for i in range(7)]
    with obligations():
        for low, high in pairwise(keys):
            assume(low < high)
        place = find(keys, X)
        assert verify(implies(place < 0, all_of(*(key != X for key in keys)))).status == "unsat"
        assert all(verify(implies(place == i, key == X)).status == "unsat" for i, key in enumerate(keys))
        assert solve(place == 5).status == "sat"


def test_sorting() -> None:
    """Sorted, and nothing is lost; each of the rounds ran once."""
    xs = [bitvector(f"lifted_test_xs_{i}", 4) for i in range(4)]
    ys = insertion_sort(xs)
    assert verify(all_of(*(a <= b for a, b in pairwise(ys)))).status == "unsat"
    count = lifted(lambda_free_count)
    assert verify(count(xs, V.resize(4)) == count(ys, V.resize(4)), timeout=60).status == "unsat"


def lambda_free_count(xs: Any, wanted: Any) -> Any:
    """How often a value is there."""
    return sum(1 if x == wanted else 0 for x in xs)


def test_records_methods_and_properties() -> None:
    """They merge field by field, and methods are lifted with them."""
    xs = [X, Y, Z]
    best = greatest(xs)
    assert isinstance(best, Best)
    assert verify(all_of(*(best.value >= x for x in xs))).status == "unsat"
    assert solve(best.place == 2, X == 5)[best].place == 2

    @lifted
    def use(best: Any) -> Any:
        return best.doubled() if best.first else 1

    assert verify(implies((X > 0) & (X > Y) & (X > Z), use(best) == 2 * X)).status == "unsat"

    @lifted
    def order(a: Any, b: Any) -> Any:
        return Range(a, b) if a < b else Range(low=b, high=a)

    found = order(X, Y)
    assert isinstance(found, Range)
    assert verify(found.low <= found.high).status == "unsat"


def test_values_of_several_kinds() -> None:
    """They stay alternatives, which only lifted functions look into."""

    @lifted
    def classify(x: Any) -> Any:
        if x < 0:
            return None
        return [x] if x == 0 else (x, "many")

    @lifted
    def size(value: Any) -> Any:
        return 0 if value is None else len(value)

    found = classify(X)
    assert verify(size(found) <= 2).status == "unsat"
    assert solve(size(found) == 1)[found] == [0]
    assert solve(X == 4)[found] == (4, "many")
    assert solve(X == -4)[found] is None
    assert repr(found).startswith("one of None, [")
    with pytest.raises(SwizzleError, match="depending on a condition"):
        found.append(1)
    with obligations() as made:

        @lifted
        def length(value: Any) -> Any:
            return len(value)

        length(found)
        outcome = verify()
    assert [each.text for each in made.made] == ["TypeError: object of type 'NoneType' has no len()"]
    assert outcome[X] < 0


def test_assume_beyond_the_bound() -> None:
    """What would go on is left out of all queries."""

    @lifted(bound=10, beyond="assume")
    def steps(n: Any) -> Any:
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    with obligations() as made:
        n = bitvector("lifted_test_collatz", 10)
        assume((n > 0) & (n < 100))
        found = steps(n)
        outcome = solve(found == 9, timeout=60)
        assert steps(outcome[n]) == 9
    assert not made.assertions


def test_assumptions_and_assertions_know_their_path() -> None:
    """Also those that the core's functions make, and what helpers that are not lifted call."""

    def helper(y: Any) -> Any:
        assert_(y != 3)
        return y + 1

    @lifted
    def f(x: Any, y: Any) -> Any:
        if x > 0:
            assume(y > 0)
            return helper(y)
        assert y < 5, "small"
        return 0

    with obligations() as made:
        f(X, Y)
        assert {each.text for each in verify().broken} <= {each.text for each in made.made if each.demanded}
        texts = {each.text: each for each in made.made}
    assert texts["AssertionError: small"].place is not None
    for x, y, holds in ((1, 3, [True, False, True]), (1, -1, [False, True, True]), (0, 7, [True, True, False])):
        model = solve(x == X, y == Y)
        assert [model[each.condition] for each in made.made] == holds


@dataclass(frozen=True)
class Guarded:
    """A number with an operator of its own, which is not lifted, and asserts."""

    value: Any

    def __add__(self, more: int) -> Guarded:
        assert_(self.value > 3)
        return Guarded(self.value + more)


def test_operators_of_ones_own_know_their_path() -> None:
    """What one asserts is asked only where it is called."""

    @lifted
    def f(x: Any) -> Any:
        return Guarded(x) + 1 if x > 0 else Guarded(x)

    with obligations() as made:
        found = f(X)
    assert verify(found.value == select(X > 0, X + 1, X)).status == "unsat"
    for x, holds in ((-1, True), (2, False), (5, True)):
        model = solve(x == X)
        assert [model[each.condition] for each in made.made] == [holds]


def test_a_lifted_function_knows_the_path_of_a_helper_that_is_not() -> None:
    """What it asserts is asked only where the outer function calls the helper."""

    @lifted
    def inner(y: Any) -> Any:
        if y > 9:
            assert y != 13
        return y

    @lifted
    def f(x: Any, y: Any) -> Any:
        return (lambda: helper(y))() if x > 0 else 0

    def helper(y: Any) -> Any:
        return inner(y)

    with obligations() as made:
        f(X, Y)
    (asked,) = made.made
    for x, y, holds in ((1, 13, False), (0, 13, True), (1, 12, True), (1, 3, True)):
        assert solve(x == X, y == Y)[asked.condition] == holds


def test_division_is_an_obligation() -> None:
    """As Python divides by zero nowhere; below a test that excludes it, nothing is noted."""

    @lifted
    def divide(a: Any, b: Any) -> Any:
        return a // b if b != 0 else 0

    with obligations() as made:
        divide(V, W)
        divide(X, Y)
        assert not made.made
        lifted(lambda_free_division)(X, Y)
        assert verify()[Y] == 0


def lambda_free_division(a: Any, b: Any) -> Any:
    """Divides."""
    return a // b


def test_a_loop_whose_length_is_known_needs_no_bound() -> None:
    """`bound` counts rounds that some input would not run."""

    @lifted(bound=2)
    def total(x: Any) -> Any:
        found, i = 0, 0
        while i < 40:
            found += x
            i += 1
        for _ in range(40):
            found += x
        return found

    assert verify(total(X) == 80 * X).status == "unsat"


def test_functions_inside_functions() -> None:
    """Lambdas and nested definitions see what was there, and recurse."""

    @lifted
    def f(x: Any, n: Any) -> Any:
        twice = lambda y: y * 2  # noqa: E731

        def power(k: Any) -> Any:
            if k <= 0:
                return 1
            return twice(power(k - 1))

        return max(map(lambda y: y + x, (power(n), 0)), key=lambda y: y)  # noqa: C417

    n = bitvector("lifted_test_small", 2)
    with obligations():
        found = f(X, n)
        for number in range(4):
            assert verify(implies((n == number) & (X > -2), found == 2**number + X)).status == "unsat"


def test_holes_are_those_of_the_text() -> None:
    """One unknown a place, for all calls; what was found is source, and runs."""

    @lifted
    def f(x: Any) -> Any:
        """Find me."""
        if x > hole():
            return choose(x, -x, x * x)
        return choose(x, -x) + hole()

    outcome = synthesize(inputs=[X], guarantee=(f(X) == abs(X)) & (f(3) == 3), timeout=60)
    made = outcome[f]
    assert str(made) == outcome.show() == made.source
    assert [made(n) for n in (-7, -1, 0, 1, 9)] == [7, 1, 0, 1, 9]
    assert verify(made(X) == abs(X)).status == "unsat"
    assert "hole" not in made.source and "choose" not in made.source and "Find me" in made.source


def test_a_truth_value_that_is_not_known_is_one_of_its_place() -> None:
    """All calls share it; another place has its own."""

    @lifted
    def f(x: Any) -> Any:
        """One is true and the other is not."""
        return (x if boolean_hole() else -x) + (0 if boolean_hole() else 1)

    outcome = synthesize(inputs=[X], guarantee=(f(X) == -X) & (f(3) == -3), timeout=60)
    assert len(f.unknowns()) == 2
    assert [outcome[f](n) for n in (-7, 0, 2)] == [7, 0, -2]
    assert synthesize(inputs=[X], guarantee=(f(X) == -X) & (f(3) == 3), timeout=60).status == "unsat"


@grammar
def expression(x: Any, y: Any, depth: int) -> Any:
    """Sums and masks."""
    if depth == 0:
        return choose(x, y, hole(width=8))
    return choose(
        expression(x, y, depth - 1),
        expression(x, y, depth - 1) + expression(x, y, depth - 1),
        expression(x, y, depth - 1) & expression(x, y=y, depth=depth - 1),
    )


def test_the_cheapest_program_of_a_grammar() -> None:
    """Every call of a grammar chooses by itself; a program of one operation is found where one is enough."""

    @lifted
    def f(v: Any, w: Any) -> Any:
        return expression(v, w, 2)

    for wanted, operations in ((V & (V - 1), 2), (V + W + W, 2), (V & W, 1), (W, 0)):
        outcome = synthesize(inputs=[V, W], guarantee=f(V, W) == wanted, minimize=cost(f), timeout=60)
        assert (outcome.status, outcome.optimal, outcome[cost(f)]) == ("sat", True, operations)
        found = outcome[f]
        assert verify(found(V, W) == wanted).status == "unsat"
        assert sum(found.source.count(symbol) for symbol in "+&") == operations
    outcome = synthesize(inputs=[V, W], guarantee=f(V, W) == V * W, minimize=cost(f), timeout=60)
    assert outcome.status == "unsat"


@lifted
def displays(x: Any, y: Any) -> Any:
    """Sequences put into others, of one length and of several."""
    some = [y] if x < 0 else [x, *range(2), y]
    pair = (*some, x)
    return [*some, *pair, *[x, y][1:], (*(), *pair[1:])]


def test_sequences_are_put_into_others() -> None:
    """`*` in a list or tuple, also of what has several lengths; it is a new list."""
    for a, b in [(-2, 1), (0, 4), (3, 1)]:
        outcome = solve(all_of(a == X, b == Y))
        assert outcome[displays(X, Y)] == displays(a, b) == displays.function(a, b)


@lifted
def repeated(x: Any, y: Any) -> Any:
    """Lists and tuples put behind each other and repeated, as often as a number says that is not known."""
    times = 1 if x < 0 else 3
    first = [x]
    second = first + [y, x]  # noqa: RUF005
    second.append(times)
    return first, second, (x,) + (y,), 2 * [y], [x, y] * times, times * (y,)  # noqa: RUF005


def test_sequences_are_joined_and_repeated() -> None:
    """What comes out is new: what is appended to it is in no other list."""
    for a, b in [(-2, 1), (0, 4)]:
        outcome = solve(all_of(a == X, b == Y))
        assert outcome[repeated(X, Y)] == repeated(a, b) == repeated.function(a, b)


@lifted
def few(x: Any) -> Any:
    """Arithmetic on numbers that are one of a few."""
    i, total = 1 if x < 0 else 2, 0
    for j in range(3 * i - i // 2):
        total += j * x
    return total, [x, 10, 20, 30, 40][i * i]


def test_numbers_of_a_few_alternatives_stay_numbers() -> None:
    """What is computed of them says how long a loop is, and indexes a list."""
    for a in (-2, 5):
        outcome = solve(a == X)
        assert outcome[few(X)] == few(a) == few.function(a)


@lifted
def nested(x: Any, y: Any) -> Any:
    """What is lazy, inside what is lazy, run over at once."""
    return list(zip(map(abs, (x, y)), reversed([x, y]), strict=True)), sum(
        a * b for a, b in zip((x, 2), (y, 3), strict=True)
    )


def handed_on(x: Any) -> Any:
    """A generator that another function gets."""
    return only(y for y in (x, 2))


def only(some: Any) -> Any:
    return some


def test_what_is_lazy_is_run_over_at_once() -> None:
    """In a call that does so, however deep; in any other one it is refused."""
    outcome = solve(all_of(X + 3 == 0, Y - 4 == 0))
    assert outcome[nested(X, Y)] == nested.function(-3, 4)
    with pytest.raises(SwizzleError, match="a generator, of which it is not known how far it will be asked"):
        lifted(handed_on)


def test_a_strangers_text_reaches_nothing() -> None:
    """With a table of names, nothing outside of it is called or looked into."""
    import ast

    def run(text: str, **names: Any) -> Any:
        node = ast.parse(text).body[0]
        assert isinstance(node, ast.FunctionDef)
        table = {"len": len, "range": range, "Best": Best, **names}
        function = Closure(code_of(node, TextOrigin("stranger.swz")), NameTable(table))
        return Activation(function, TRUE).run({"x": inward(X)})

    assert verify(run("def f(x):\n    return Best(x, 0).value + len([1, 2])") == X + 2).status == "unsat"
    for text in (
        "def f(x):\n    return open('file')",
        "def f(x):\n    return tool(x)",
        "def f(x):\n    return x.formula",
        "def f(x):\n    return (1).to_bytes",
        "def f(x):\n    return Best.__init__",
        "def f(x):\n    return Best(x, 0)._private",
        "def f(x):\n    return len.__self__",
    ):
        with pytest.raises(SwizzleError) as caught:
            run(text, tool=lambda x: x)
        assert str(caught.value).startswith("stranger.swz:2:")


def test_sorted_by_a_key_is_stable_in_both_directions():
    """Of all words of four values below three, with their places: the same as Python's."""

    @lifted
    def by_key(xs):
        pairs = [(x, i) for i, x in enumerate(xs)]
        up = sorted(pairs, key=lambda pair, half=2: pair[0] // half)
        return up, sorted(pairs, key=lambda pair: pair[0], reverse=True), sorted(xs, reverse=True)

    xs = [integer(f"keyed {i}") for i in range(3)]
    found = by_key(xs)
    for values in itertools.product(range(3), repeat=3):
        outcome = solve(*(x == value for x, value in zip(xs, values, strict=True)))
        assert outcome[found] == by_key(list(values))


def test_a_default_is_what_it_is_when_a_function_is_made():
    """Also where its name changes later; of a lambda and of a `def`."""

    @lifted
    def late(a):
        t = a
        f = lambda u, w=t: u + w  # noqa: E731

        def g(u, *, w=t):
            return u - w

        t = t + 100
        return f(1), g(1), f(1, t), t

    x = integer("late x")
    assert solve(x == 5)[late(x)] == late(5) == (6, -4, 106, 105)


class Move(Enum):
    """What a walker does."""

    STAY = 0
    LEFT = 1
    RIGHT = 2


def test_members_of_an_enumeration_are_themselves():
    """`is` and `==` of members, which a test may have chosen, in either order."""

    @lifted
    def walked(a, b):
        move = Move.LEFT if a < 0 else Move.RIGHT if a > 0 else Move.STAY
        if move is Move.LEFT:
            return b - 1
        return b + 1 if Move.RIGHT is move and move != Move.STAY and move is not None else b

    a, b = integer("walk a"), integer("walk b")
    for steps in (-2, 0, 3):
        assert solve(a == steps, b == 5)[walked(a, b)] == walked(steps, 5) == 5 + (steps > 0) - (steps < 0)


def test_named_arguments_of_builtins_are_pythons():
    """`start=` and `default=`, also of what a test leaves empty."""

    @lifted
    def named(xs, a):
        kept = [x for x in xs if x > a]
        counted = [i * x for i, x in enumerate(xs, start=2)]
        return max(kept, default=-1), min(kept, default=a, key=lambda x: -x), sum(kept, start=10), counted

    xs, a = [integer(f"named {i}") for i in range(3)], integer("named a")
    found = named(xs, a)
    for least in range(4):
        outcome = solve(*(x == i for i, x in enumerate(xs)), a == least)
        assert outcome[found] == named([0, 1, 2], least)


def test_an_end_of_a_slice_may_be_left_out_on_some_paths() -> None:
    """An end that is None on one path and a number on another is right on both."""

    @lifted
    def cut(n: Any, items: Any) -> Any:
        if n < 0:
            end = None
        elif n < 2:
            end = 1
        else:
            end = 2
        return items[:end], items[end:], items[end::-1], (items if n < 1 else "abc")[:end], items[: n < 1]

    n, items = integer("slice_end"), [integer(f"sliced{i}") for i in range(3)]
    with obligations():
        found = cut(n, items)
        assert verify().status == "unsat"
    for number in (-1, 0, 1, 5):
        outcome = solve(n == number, all_of(*(item == 7 + place for place, item in enumerate(items))))
        assert outcome[found] == cut(number, [7, 8, 9])


def test_an_end_of_a_slice_that_is_no_number_is_an_obligation() -> None:
    """Only on the path where it is none."""

    @lifted
    def cut(n: Any, items: Any) -> Any:
        return items[(n if n > 0 else "a") :]

    n = integer("slice_text")
    with obligations():
        cut(n, [1, 2, 3])
        outcome = verify()
        assert outcome[n] <= 0
    with obligations():
        assume(n > 0)
        cut(n, [1, 2, 3])
        assert verify().status == "unsat"


def test_the_type_of_a_symbolic_value_is_the_plain_ones() -> None:
    """As `isinstance` says it; a record's is its class, which makes another one."""

    @dataclass(frozen=True)
    class Typed:
        value: Any

        def more(self) -> Any:
            return type(self)(self.value + 1)

    @lifted
    def kinds(n: Any, items: Any) -> Any:
        some = items if n > 2 else n
        typed = Typed(n).more()
        told = (type(n) in (int,), type(n > 0) in (bool,), type(items) in (list,), type(some) in (list, tuple))
        return told, type(typed) in (Typed,), typed.value

    n, items = integer("typed"), [integer("typed0")]
    found = kinds(n, items)
    for number in (1, 3):
        assert solve(n == number)[found] == kinds(number, [0])


def test_symbolic_ends_of_slices_before_the_first_element_and_behind_the_last() -> None:
    """Backward, an end before the first element is another one than the first element's place."""

    @lifted
    def cuts(n: Any, items: Any) -> Any:
        return items[n::-1], items[:n:-1], items[n:], items[:n], items[n::2], items[n::-2], items[:n:-2]

    n = integer("far_end")
    found = cuts(n, [1, 2, 3])
    for number in range(-6, 7):
        assert solve(n == number)[found] == cuts(number, [1, 2, 3])
