"""`match` in lifted functions: the ways in which a pattern matches a value, each with its guard and what it binds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from symbolic.lifting import builtins, comparisons
from symbolic.lifting.assignments import Assignments
from symbolic.lifting.conditions import conditions
from symbolic.lifting.merging import merge
from symbolic.lifting.states import UNSET, State, join
from symbolic.lifting.values import Alternatives, Fields, Items, SharedName, SymbolicRange, inward
from symbolic.values.guard import FALSE, TRUE, Guard

Matchings: TypeAlias = list[tuple[Guard, dict[str, Any]]]
"""When a pattern matches and what its names are then; guards exclude each other."""
WHOLE: Final = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose one positional pattern is matched with the value itself."""


class PatternMatching(Assignments):
    """One call of a function, as far as its expressions, calls and patterns go."""

    def match(self, node: ast.Match, state: State) -> State | None:
        """Run the first case whose pattern matches and whose guard holds; on each path it may be another."""
        value, ended = self.value(node.subject, state), list[State | None]()
        for case in node.cases:
            matching, found = self._matched(case.pattern, value, state)
            missed = [state.on(-matching)]
            if found is not None and case.guard is not None:
                guard = self.condition(case.guard, found)
                missed.append(found.on(-guard))
                found = found.on(guard)
            ended.append(self.block(case.body, found))
            rest = join(missed)
            if rest is None:
                return join(ended)
            state = rest
        return join([*ended, state])

    def _matched(self, pattern: ast.pattern, value: Any, state: State) -> tuple[Guard, State | None]:
        """Return when a pattern matches, and the state of these paths with its names; None where there are none."""
        table = conditions()
        ways = [(guard, bound) for guard, bound in self._ways(pattern, value, state) if guard != FALSE]
        matching = table.any(guard for guard, _ in ways)
        found = state.on(matching)
        if found is not None:
            guards = table.apart([table.both(state.path, guard) for guard, _ in ways])
            for name in dict.fromkeys(name for _, bound in ways for name in bound):
                old = state.names.get(name, UNSET)
                before = old.at(0) if isinstance(old, SharedName) else old
                matched = merge(
                    (guard, bound.get(name, before)) for guard, (_, bound) in zip(guards, ways, strict=True)
                )
                self.give(name, pattern, matched, found)
        return matching, found

    def _ways(self, pattern: ast.pattern, value: Any, state: State) -> Matchings:
        table = conditions()
        if isinstance(value, Alternatives):
            return [
                (table.both(guard, way), bound)
                for guard, part in value.parts
                if (on := state.on(guard)) is not None
                for way, bound in self._ways(pattern, part, on)
            ]
        site = self.site(pattern, state)
        match pattern:
            case ast.MatchValue(value=expression):
                return [(comparisons.compare(site, "==", value, self.value(expression, state)), {})]
            case ast.MatchSingleton(value=constant):
                return [(comparisons.compare(site, "is", value, constant), {})]
            case ast.MatchAs(pattern=inner, name=name):
                ways = [(TRUE, {})] if inner is None else self._ways(inner, value, state)
                return ways if name is None else [(guard, {**bound, name: value}) for guard, bound in ways]
            case ast.MatchOr(patterns=patterns):
                found, none = list[tuple[Guard, dict[str, Any]]](), TRUE
                for each in patterns:
                    on = state.on(none)
                    ways = [] if on is None else self._ways(each, value, on)
                    found += [(table.both(none, guard), bound) for guard, bound in ways]
                    none = table.both(none, -table.any(guard for guard, _ in ways))
                return found
            case ast.MatchSequence(patterns=patterns):
                return self._sequence_ways(pattern, patterns, value, state)
            case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
                if not isinstance(value, dict):
                    return []
                known = [self.value(key, state) for key in keys]
                if any(key not in value for key in known):
                    return []
                others = {} if rest is None else {rest: {k: v for k, v in value.items() if k not in known}}
                return self._all(zip(patterns, (inward(value[key]) for key in known), strict=True), state, others)
            case ast.MatchClass(cls=cls):
                return self._class_ways(pattern, self.value(cls, state), value, state)
        raise self.error(
            pattern, f"the pattern `{ast.unparse(pattern)}`", "another pattern", "if ...: ... elif ...: ..."
        )

    def _all(self, pairs: Iterable[tuple[ast.pattern, Any]], state: State, bound: dict[str, Any]) -> Matchings:
        """Return the ways in which each pattern matches its value."""
        table, found = conditions(), [(TRUE, bound)]
        for pattern, value in pairs:
            found = [
                (both, {**before, **more})
                for guard, before in found
                if (on := state.on(guard)) is not None
                for way, more in self._ways(pattern, value, on)
                if (both := table.both(guard, way)) != FALSE
            ]
        return found

    def _sequence_ways(self, node: ast.pattern, patterns: Sequence[ast.pattern], value: Any, state: State) -> Matchings:
        if not isinstance(value, Items | tuple | range | SymbolicRange):
            return []
        items = self.items(self.site(node, state), value)
        stars = [place for place, each in enumerate(patterns) if isinstance(each, ast.MatchStar)]
        if len(items) < len(patterns) - len(stars) or (not stars and len(items) != len(patterns)):
            return []
        if not stars:
            return self._all(zip(patterns, items, strict=True), state, {})
        before, after = stars[0], len(patterns) - stars[0] - 1
        star = patterns[before]
        assert isinstance(star, ast.MatchStar)
        end = len(items) - after
        middle = {} if star.name is None else {star.name: Items.new(items[before:end])}
        pairs = [
            *zip(patterns[:before], items[:before], strict=True),
            *zip(patterns[before + 1 :], items[end:], strict=True),
        ]
        return self._all(pairs, state, middle)

    def _class_ways(self, pattern: ast.MatchClass, kind: Any, value: Any, state: State) -> Matchings:
        site = self.site(pattern, state)
        if builtins.HANDLED[isinstance](self, site, pattern, [value, kind], {}) is not True:
            return []
        if len(pattern.patterns) == 1 and kind in WHOLE:
            return self._ways(pattern.patterns[0], value, state)
        names = getattr(kind, "__match_args__", ())
        if len(pattern.patterns) > len(names):
            raise self.error(
                pattern, f"{kind.__name__} with {len(pattern.patterns)} positional patterns", f"at most {len(names)}",
                f"{kind.__name__}(field=...)",
            )  # fmt: skip
        asked = [
            *zip(names, pattern.patterns, strict=False),
            *zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True),
        ]
        pairs: list[tuple[ast.pattern, Any]] = []
        for name, each in asked:
            if not (value.has(name) if isinstance(value, Fields) else hasattr(value, name)):
                return []
            look = ast.copy_location(ast.Attribute(ast.Name(name, ast.Load()), name, ast.Load()), each)
            pairs.append((each, self.looked_up(look, value, state)))
        return self._all(pairs, state, {})
