"""Through how many trips of a loop an element may be handed on before it is left out.

What a trip does with data that it takes from the one before, all trips do. So an accumulator of few trips tells of
many. Registers that hand on their elements, `r2 = r1; r1 = r0; r0 = x[k]`, do not: the sum of fifty such is right for
fifty trips, and for no more. An element is gone after as many trips as there are places on its way, so a run of more
trips shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from symbolic.algebra.terms import Term


def longest_way(
    places: Iterable[tuple[Term, Term]], made_of: Callable[[Term], Sequence[Term]], alike: Mapping[Term, int]
) -> int:
    """Return how many places the longest way goes through, given what each holds before a trip and after it.

    `alike` says how many places that may go on to each other hold the same term, where it is more than one: they are
    not told apart.

    A place goes on to those whose values are made of its own. Places that go on to each other in a circle count each.

        >>> after = {10: [1, 7], 20: [10], 3: []}
        >>> longest_way([(1, 10)], lambda term: after.get(term, []), {})  # an accumulator
        1
        >>> longest_way([(1, 10), (2, 1), (3, 2)], lambda term: after.get(term, []), {})  # what it was, and before
        3
        >>> longest_way([(1, 2), (2, 1)], lambda term: [], {})  # two that change places
        2
    """
    goes_to: dict[Term, set[Term]] = {}
    after: dict[Term, set[Term]] = {}
    for old, new in places:
        after.setdefault(old, set()).add(new)
        goes_to.setdefault(old, set())
    for old, values in after.items():
        for source in _reached(values, goes_to, made_of):
            goes_to[source].add(old)
    longest = dict[Term, int]()
    for circle in _circles(goes_to):  # those that they go on to come first
        behind = [longest[each] for place in circle for each in goes_to[place] if each in longest]
        here = sum(alike.get(each, 1) for each in circle)
        longest |= dict.fromkeys(circle, here + max(behind, default=0))
    return max(longest.values(), default=0)


def _reached(
    terms: Iterable[Term], known: Mapping[Term, object], made_of: Callable[[Term], Sequence[Term]]
) -> set[Term]:
    found, seen, waiting = set[Term](), set[Term](), list(terms)
    while waiting:
        term = waiting.pop()
        if term in known:
            found.add(term)
        elif term not in seen:
            seen.add(term)
            waiting += made_of(term)
    return found


def _circles(goes_to: Mapping[Term, Iterable[Term]]) -> list[list[Term]]:
    """Return the strongly connected components, those that others go on to first (Tarjan, SIAM J. Computing 1972)."""
    number, low, done = dict[Term, int](), dict[Term, int](), set[Term]()
    found, stack = list[list[Term]](), list[Term]()
    for start in goes_to:
        if start in number:
            continue
        number[start] = low[start] = len(number)
        stack.append(start)
        way = [(start, iter(goes_to[start]))]
        while way:
            place, rest = way[-1]
            for each in rest:
                if each not in number:
                    number[each] = low[each] = len(number)
                    stack.append(each)
                    way.append((each, iter(goes_to[each])))
                    break
                if each not in done:
                    low[place] = min(low[place], number[each])
            else:
                way.pop()
                if way:
                    low[way[-1][0]] = min(low[way[-1][0]], low[place])
                if low[place] == number[place]:
                    at = stack.index(place)
                    found.append(stack[at:])
                    done.update(stack[at:])
                    del stack[at:]
    return found
