"""Names that functions share (`nonlocal`), and records whose fields are set: what one changes, all who hold it see."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from symbolic.core.obligations import obligations
from symbolic.core.query import solve, verify
from symbolic.core.values import integer, select
from symbolic.errors import SwizzleError
from symbolic.lifting.functions import lifted

x, y = integer("shared_name_x"), integer("shared_name_y")


@dataclass
class Account:
    """A record that changes."""

    balance: Any
    count: Any = 0
    history: list[Any] = field(default_factory=list)

    @property
    def doubled(self) -> Any:
        """Twice what is there."""
        return self.balance * 2

    @lifted
    def deposit(self, amount: Any) -> Any:
        """Add what is positive; return what was there before."""
        before = self.balance
        if amount > 0:
            self.balance += amount
            self.history.append(amount)
        return before


@dataclass(frozen=True)
class Fixed:
    """A record that does not."""

    left: Any


def proved(*conditions: Any) -> bool:
    """Tell whether conditions hold for all inputs, and whatever they depend on."""
    return verify(*conditions).status == "unsat"


def error_of(function: Any, *arguments: Any) -> str:
    """Return the text of the mistake that a call is."""
    with pytest.raises(SwizzleError) as caught, obligations():
        function(*arguments)
    return str(caught.value)


def test_a_function_changes_a_name_of_the_one_around_it() -> None:
    """On the paths that call it, and on no others."""

    @lifted
    def counted(x: Any) -> Any:
        total = 0

        def add(amount: Any) -> Any:
            nonlocal total
            total += amount
            return total

        if x > 0:
            add(1)
        add(2)
        last = add(x)
        return total, last

    assert counted(5) == (8, 8) and counted(-5) == (-3, -3)
    total, last = counted(x)
    assert proved(total == select(x > 0, 3, 2) + x, last == total)


def test_a_function_sees_the_newest_value() -> None:
    """Of a name that changes after it was made: in a loop, in a branch, in two functions within each other."""

    @lifted
    def late(x: Any) -> Any:
        k = 1
        see = lambda v: v + k  # noqa: E731
        k = 2 if x > 3 else k
        return see(x)

    @lifted
    def deep(x: Any) -> Any:
        n = x

        def outer() -> Any:
            def inner() -> Any:
                nonlocal n
                n = n * 2

            inner()
            inner()

        for _ in range(2):
            if n < 100:
                outer()
        return n

    with obligations():
        assert proved(late(x) == x + select(x > 3, 2, 1))
        assert proved(deep(x) == select(x >= 100, x, select(4 * x >= 100, 4 * x, 16 * x)))


def test_two_counters_are_apart() -> None:
    """Each call makes names of its own, and which of two is asked may depend on a condition."""

    @lifted
    def counter(start: Any) -> Any:
        n = start

        def more() -> Any:
            nonlocal n
            n += 1
            return n

        return more

    @lifted
    def both(x: Any) -> Any:
        a, b = counter(0), counter(10)
        chosen = a if x > 0 else b
        first = chosen()
        second = a()
        third = b()
        return first, second, third

    first, second, third = both(x)
    assert both(1) == (1, 2, 11) and both(-1) == (11, 1, 12)
    assert proved(first == select(x > 0, 1, 11), second == select(x > 0, 2, 1), third == select(x > 0, 11, 12))


def test_names_of_comprehensions_and_parameters_are_their_own() -> None:
    """Though a shared name is called alike."""

    @lifted
    def own(x: Any) -> Any:
        n = 1

        def see() -> Any:
            return n

        def other(n: Any) -> Any:
            n = n + 1
            return n

        n = x
        many = [n * 2 for n in range(3)] + [n + m for n, m in [(1, 2), (3, 4)]]
        match x > 0:
            case True:
                n = 10
            case _:
                n = 20
        return see() + sum(many) + other(5)

    with obligations():
        assert proved(own(x) == select(x > 0, 10, 20) + 6 + 10 + 6)


def test_a_list_in_a_shared_name() -> None:
    """Is changed where it is, and the name may be another list."""

    @lifted
    def listed(x: Any) -> Any:
        xs = [0]

        def put(v: Any) -> Any:
            nonlocal xs
            xs.append(v)
            if v > 3:
                xs = [v, v]

        first = xs
        xs[0] = 7
        xs += [1]
        put(x)
        return first, xs

    with obligations():
        first, xs = listed(x)
        small, large = solve(x == 1), solve(x == 9)
    assert (small[first], small[xs]) == ([7, 1, 1], [7, 1, 1])
    assert (large[first], large[xs]) == ([7, 1, 9], [9, 9])


def test_an_unset_shared_name_is_an_obligation() -> None:
    """As any other name without a value."""

    @lifted
    def unset(x: Any) -> Any:
        def give() -> Any:
            nonlocal n
            n = 1

        if x > 0:
            give()
            n += 1  # noqa: F821
        return n

    with obligations() as made:
        unset(x)
        outcome = verify()
    assert [each.text for each in made.made] == ["UnboundLocalError: n has no value"]
    assert outcome[x] <= 0


def test_fields_are_set_on_the_paths_that_set_them() -> None:
    """Aliases, methods, properties and lists in fields included."""

    @lifted
    def bank(x: Any, y: Any) -> Any:
        a, b = Account(10), Account(5)
        same = a
        before = same.deposit(x)
        if y > 3:
            b.balance = b.balance - y
            a.balance += y
        return a.balance, b.balance, same.doubled, before, a is same, a is b, a == b, len(a.history), a

    with obligations():
        a, b, doubled, before, same, other, equal, _, record = bank(x, y)
        assert proved(a == 10 + select(x > 0, x, 0) + select(y > 3, y, 0), b == 5 - select(y > 3, y, 0))
        assert proved(doubled == 2 * a) and before == 10
        assert same is True and other is False
        outcome = solve(x == 7, y == 9)
    assert outcome[record] == Account(26, 0, [7])
    assert outcome[equal] is False


def test_a_record_that_was_given_is_changed_for_its_owner() -> None:
    """As a list is; with plain values the function is Python's."""
    account = Account(x)

    @lifted
    def give(account: Any, amount: Any) -> Any:
        if amount > 0:
            account.balance += amount
        account.history.append(amount)

    with obligations():
        give(account, y)
        assert proved(account.balance == x + select(y > 0, y, 0)) and len(account.history) == 1
    plain = Account(3)
    give(plain, 4)
    assert plain == Account(7, 0, [4])


def test_a_record_that_may_be_none() -> None:
    """Is changed where it is one."""

    @lifted
    def maybe(x: Any) -> Any:
        account = Account(1) if x > 0 else None
        if account is not None:
            account.balance += x
            return account.balance
        return replace(Account(2), count=3).count

    assert proved(maybe(x) == select(x > 0, 1 + x, 3))


def test_an_index_that_may_be_none() -> None:
    """An element is stored on the paths on which it is a number; on the others Python raises an error."""

    @lifted
    def stored(x: Any) -> Any:
        xs = [0, 0]
        place = x % 2 if x > 0 else None
        xs[place] = x
        return xs

    with obligations():
        found = stored(x)
        assert verify().status == "sat"
        outcome = solve(x == 7)
    assert outcome[found] == [0, 7]


class Others:
    """Programs that are refused, each with what is said of it."""

    outside = Account(x)

    @staticmethod
    @lifted
    def several(x: Any) -> Any:
        """Which record it is depends on a condition."""
        a, b = Account(1), Account(2)
        chosen = a if x > 0 else b
        chosen.balance = 7
        return a.balance

    @staticmethod
    @lifted
    def itself(x: Any) -> Any:
        """A cycle."""
        a = Account(x)
        a.history.append(a)
        return 1

    @staticmethod
    @lifted
    def misspelt(x: Any) -> Any:
        """No such field."""
        a = Account(x)
        a.blance = 3  # type: ignore[attr-defined]
        return a

    @staticmethod
    @lifted
    def frozen(x: Any) -> Any:
        """A field of a record that does not change."""
        a = Fixed(x)
        a.left = 3  # type: ignore[misc]
        return a

    @staticmethod
    @lifted
    def global_record(x: Any) -> Any:
        """A record that was not given."""
        OUTSIDE.balance = x
        return x

    @staticmethod
    @lifted
    def in_an_expression(x: Any) -> Any:
        """Python's order of evaluation would matter."""
        n = 0

        def add() -> Any:
            nonlocal n
            n += x
            return n

        return add() + add()

    @staticmethod
    @lifted
    def looked_at_elsewhere(x: Any) -> Any:
        """A function that is not lifted changes it."""
        empty(Account(x))
        return x


OUTSIDE = Account(x)


def empty(account: Any) -> None:
    """Change a record, in Python."""
    account.balance = 0


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (Others.several, "chosen changes, and it may be one of several records"),
        (Others.itself, "a.history would hold itself"),
        (Others.misspelt, "Account has no field blance"),
        (Others.frozen, "a field of a is changed, which is a value"),
        (Others.global_record, "OUTSIDE is changed, which was not made in global_record"),
        (Others.in_an_expression, "add changes a name of the function around it inside of an expression"),
        (Others.looked_at_elsewhere, "empty changes the record that it is given"),
    ],
)
def test_refused(function: Any, text: str) -> None:
    """With the place and what to write."""
    said = error_of(function, x)
    assert text in said and "test_shared_names.py:" in said and "expected:" in said


def test_a_nonlocal_of_a_function_that_is_not_lifted() -> None:
    """Its value is in Python's hands."""
    total = 0
    with pytest.raises(SwizzleError, match="a lifted function changes only its own names"):

        @lifted
        def add(amount: Any) -> None:
            nonlocal total
            total += amount


def test_a_record_that_holds_itself_is_not_taken() -> None:
    """As its copy would have no end."""
    account = Account(x)
    account.history.append(account)
    assert "holds itself" in error_of(lifted(lambda_like), account)


def lambda_like(account: Any) -> Any:
    """Look at a record."""
    return account.balance
