"""The choices of a sketch file as a space: what values each has, and what its `require` allow together.

A requirement may use whatever the file computes above it. So its *slice* is run: those statements of the top level that
it needs, with values for the choices among them. Kernels and specifications are no part of it, so that this takes
microseconds, and a requirement is about the few choices of its slice alone, which is what propagation needs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, product
from math import prod
from typing import Final, NoReturn, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from swizzle.language.parameters import (
    Declared,
    NotAmongValuesError,
    Parameters,
    RequirementError,
    declare_choice,
    declared_twice,
)
from symbolic.choices.conditions import ChoiceOf, holds
from symbolic.choices.grounding import GroundSpace, ground
from symbolic.choices.propagation import PartialAssignment, Propagator
from symbolic.choices.search import assignments, contradictory_rules
from symbolic.choices.space import ChoiceSpace
from symbolic.errors import Place, SwizzleError

SliceRun: TypeAlias = "Callable[[Parameters], object]"
"""Runs some statements of a file on its parameters, which it declares there."""
MOST_COUNTED: Final = 20_000
"""Combinations of values that are looked at to say how many a requirement leaves."""


class FileRequirement(Struct, frozen=True, eq=False):
    """A requirement: what it says, where, about which choices; `allows` takes their values in this order.

    `failures` are those of the values that `allows` was asked about with which the file does not run, and why.
    """

    why: str
    place: Place
    names: tuple[str, ...]
    allows: Callable[..., bool]
    failures: Mapping[tuple[int, ...], str]

    @property
    def words(self) -> str:
        return f"line {self.place.line}: {self.why}"

    @property
    def failed(self) -> str:
        """Say with which values it cannot be computed; '' where there were none."""
        for values, why in self.failures.items():
            first = ", ".join(f"{name} = {value}" for name, value in zip(self.names, values, strict=True))
            more = f", and with {len(self.failures) - 1:,} more" if len(self.failures) > 1 else ""
            return f"cannot be computed with {first}{more}: {why}"
        return ""


class FileChoices(Struct, frozen=True):
    """The choices of a file in the order of their declaration, its requirements, and the values that are set.

    `parameters` are those that the file declares beside its choices.
    """

    file: str
    declared: Mapping[str, Declared]
    rules: Sequence[FileRequirement]
    fixed: Mapping[str, int]
    parameters: Mapping[str, Declared]

    def require_known(self) -> None:
        """Refuse a value that is set of what the file does not declare."""
        every = {**self.declared, **self.parameters}
        Parameters(self.fixed, declared=every).require_all_used(self.file)

    def why_not(self, name: str, value: int) -> list[str]:
        """Return the fewest rules that leave nothing where a choice has a value; none where something is left."""
        if name in self.fixed:
            return [f"{name} = {self.fixed[name]} is set"]
        asked = replace(self, fixed={**self.fixed, name: value})
        rules = asked.least_rules(asked.space())
        return [words for words in rules if words != f"{name} = {value} is set"]

    def space(self) -> GroundSpace:
        """Return the choices and what has to hold of them; a value that is set is a rule, too."""
        made = ChoiceSpace(self.file)
        of: dict[str, ChoiceOf] = {
            name: made.enum(name, [], tuple(each.domain))() for name, each in self.declared.items()
        }
        for rule in self.rules:
            some = [of[name] for name in rule.names]
            if some:
                made.require(rule.words, [], lambda rule=rule, some=some: holds(rule.allows, *some))
            elif not rule.allows():
                made.require(rule.words, [], lambda: False)
        for name in self.declared:
            if name in self.fixed:
                made.require(
                    f"{name} = {self.fixed[name]} is set", [], lambda name=name: of[name].is_(self.fixed[name])
                )
        return ground(made)

    def first(self) -> dict[str, int]:
        """Return the first values that are allowed together; raises SwizzleError where there are none."""
        if not self.declared:
            return {}
        propagation = Propagator(self.space())
        found = next(assignments(propagation, next_variable=_first_open), None)
        if found is None:
            self.none_left(propagation.space)
        return values_of(propagation, found)

    def none_left(self, space: GroundSpace) -> NoReturn:
        """Say that no values are left: a least set of rules that leaves none, and which rule leaves the fewest."""
        raise NothingLeftError(self, self.least_rules(space))

    def least_rules(self, space: GroundSpace) -> list[str]:
        """Return the fewest rules that leave nothing, all of them where finding out takes too long."""
        try:
            return contradictory_rules(space) or []
        except RuntimeError:
            return [rule.words for rule in self.rules]

    def share_left(self, rule: FileRequirement) -> tuple[int, int]:
        """Return how many combinations of its own choices a rule allows, of how many that were looked at."""
        values = [self.declared[name].domain for name in rule.names]
        looked = [rule.allows(*some) for some in islice(product(*values), MOST_COUNTED)]
        return sum(looked), len(looked)


class NothingLeftError(SwizzleError):
    """No values of a file's choices are allowed together."""

    def __init__(self, choices: FileChoices, rules: Sequence[str]) -> None:
        self.rules = tuple(rules)
        counts = {rule.words: choices.share_left(rule) for rule in choices.rules}
        strictest = min(counts, key=lambda words: counts[words][0] / counts[words][1], default="")
        left, of = counts.get(strictest, (0, 0))
        most = f"; {strictest} removes most by itself, {of - left:,} of {of:,} combinations" if strictest else ""
        named = [rule for rule in choices.rules if rule.words in rules]
        failed = "".join(f"; {rule.words} {rule.failed}" for rule in named if rule.failed)
        super().__init__(
            f"no values are left for {', '.join(choices.declared)}",
            place=named[0].place if named else None,
            expected=f"values that all requirements allow; these together leave none, and each is needed: "
            f"{'; '.join(rules)}{most}{failed}",
            fix="leave one of them out, or add values to a choice",
        )


def values_of(propagation: Propagator, candidate: PartialAssignment) -> dict[str, int]:
    """Return the values of a file's choices by name, of a complete assignment."""
    return {choice.name: int(value) for (choice, _), value in propagation.assignment(candidate).items()}


def _first_open(propagation: Propagator, candidate: PartialAssignment) -> int:
    return min(propagation.open_variables(candidate))


def read_choices(
    file: str, body: Sequence[ast.stmt], runner: Callable[[Sequence[ast.stmt]], SliceRun], overrides: Mapping[str, int]
) -> FileChoices:
    """Read a file's choices and requirements off its statements, of which those are run that these need.

    Args:
        file: the file's name.
        body: the statements of its top level.
        runner: makes something of some of them that runs them.
        overrides: values of parameters and choices that are set.
    """
    slices = _Slices(body)
    sizes, places = Parameters(dict(overrides)), dict[str, Place]()

    def declare_once(names: Mapping[str, Declared]) -> None:
        for name, each in names.items():
            if places.setdefault(name, each.place) != each.place:
                raise declared_twice(name, each.place)

    for number in slices.calling("parameter", "sw_pad"):
        runner([body[each] for each in slices.of(number)])(sizes)
        declare_once(sizes.declared)
    declared: dict[str, Declared] = {}
    by_statement: dict[int, tuple[str, ...]] = {}
    rules = list[FileRequirement]()
    for number in slices.calling("choice"):
        needed = slices.of(number)
        run = runner([body[each] for each in needed])
        parameters = Parameters(dict(overrides))
        others = tuple(name for each in needed if each != number for name in by_statement.get(each, ()))
        if others:
            given = {n: v for n, v in overrides.items() if n in sizes.declared and not sizes.declared[n].choice}
            for name, (place, values) in _by_others(run, others, declared, given).items():
                every = tuple(dict.fromkeys(value for some in values.values() for value in some))
                declare_choice(parameters, name, every, place)
                if any(len(some) < len(every) for some in values.values()):
                    rules.append(FileRequirement(f"the values of {name}", place, (*others, name), _among(values), {}))
        else:
            run(parameters)
        own = {name: each for name, each in parameters.declared.items() if each.choice}
        declare_once(own)
        declared |= own
        by_statement[number] = tuple(own)
    for number in slices.calling("require"):
        needed = slices.of(number)
        names = tuple(name for each in needed for name in by_statement.get(each, ()))
        run = runner([body[each] for each in needed])
        place = Place(file, body[number].lineno, body[number].col_offset + 1)
        failures = dict[tuple[int, ...], str]()
        rules.append(
            FileRequirement(_why(body[number]), place, names, _allows(run, names, overrides, failures), failures)
        )
    return FileChoices(file, declared, rules, overrides, sizes.declared)


def _by_others(
    run: SliceRun, others: Sequence[str], declared: Mapping[str, Declared], given: Mapping[str, int]
) -> dict[str, tuple[Place, dict[tuple[int, ...], Sequence[int]]]]:
    """Return the choices of a slice, each with its place and its values for each combination of other choices' values.

    Combinations that a requirement refuses are left out. `given` are values of parameters.
    """
    asked = ", ".join(others)
    if (number := prod(len(declared[name].domain) for name in others)) > MOST_COUNTED:
        raise SwizzleError(
            f"the values of a choice depend on {asked}, which have {number:,} combinations",
            place=declared[others[0]].place, expected=f"at most {MOST_COUNTED:,}",
            fix="list all values, and say with `require` which go with which",
        )  # fmt: skip
    made = dict[str, tuple[Place, dict[tuple[int, ...], Sequence[int]]]]()
    tried = 0
    for some in product(*(declared[name].domain for name in others)):
        parameters = Parameters({**given, **dict(zip(others, some, strict=True))})
        try:
            run(parameters)
        except RequirementError:
            continue
        tried += 1
        for name, each in parameters.declared.items():
            if each.choice and name not in others:
                made.setdefault(name, (each.place, {}))[1][some] = each.domain
    for name, (place, values) in made.items():
        if len(values) < tried:
            raise SwizzleError(
                f"{name} is a choice with some values of {asked} alone", place=place,
                expected="a choice that is declared whatever else is chosen",
                fix=f"declare {name} always, and require its first value where it means nothing",
            )  # fmt: skip
    return made


def _among(values: Mapping[tuple[int, ...], Sequence[int]]) -> Callable[..., bool]:
    """Return whether a choice has its value, the last one, where those that it depends on have the others.

    Of what others may not have together, their own rules speak.
    """
    return lambda *some: some[:-1] not in values or some[-1] in values[some[:-1]]


def _allows(
    run: SliceRun, names: Sequence[str], overrides: Mapping[str, int], failures: dict[tuple[int, ...], str]
) -> Callable[..., bool]:
    """Return a function from values of some choices to whether a slice runs to its end with them.

    Why the file does not run with some is kept in `failures`.
    """

    @lru_cache(maxsize=1 << 16)
    def allows(*values: int) -> bool:
        try:
            run(Parameters({**overrides, **dict(zip(names, values, strict=True))}))
        except NotAmongValuesError:
            return True  # the rule of that choice's values says so
        except RequirementError:
            return False
        except SwizzleError as error:
            if isinstance(error.__cause__, ArithmeticError | LookupError | ValueError):
                failures[values] = str(error.__cause__)
                return False
            raise
        return True

    return allows


def _why(statement: ast.stmt) -> str:
    """Return the reason that a requirement gives, or its condition."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "require":
            given = [*node.args[1:], *(each.value for each in node.keywords if each.arg == "why")]
            if given and isinstance(given[0], ast.Constant) and given[0].value:
                return str(given[0].value)
            if node.args:
                return ast.unparse(node.args[0])
    return ast.unparse(statement).partition("\n")[0]


class _Slices:
    """Which statements of a file's top level each of them needs: those that may bind, or change, a name it reads."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.body = body
        self.mentioned = [frozenset(_mentioned(statement)) for statement in body]
        self.binding: dict[str, list[int]] = {}
        for number, statement in enumerate(body):
            for name in set(_bound(statement)):
                self.binding.setdefault(name, []).append(number)

    def calling(self, *functions: str) -> list[int]:
        """Return the statements that may call one of Swizzle's functions, by themselves or in functions above."""
        names = set(functions)
        for statement in self.body:
            for alias in statement.names if isinstance(statement, ast.Import | ast.ImportFrom) else ():
                if isinstance(statement, ast.Import) and alias.name == "swizzle":
                    names.update(f"{alias.asname or alias.name}.{function}" for function in functions)
                elif isinstance(statement, ast.ImportFrom) and alias.name in functions and alias.asname:
                    names.add(alias.asname)
        for statement, mentioned in zip(self.body, self.mentioned, strict=True):
            if isinstance(statement, ast.FunctionDef) and mentioned & names:
                names.add(statement.name)
        passive = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
        return [
            number
            for number, statement in enumerate(self.body)
            if self.mentioned[number] & names and not isinstance(statement, passive)
        ]

    def of(self, number: int) -> list[int]:
        """Return a statement with all those that it needs, in the order of the text."""
        needed, names = {number}, set(self.mentioned[number])
        seen = set[str]()
        while waiting := names - seen:
            seen |= waiting
            for name in waiting:
                for other in self.binding.get(name, ()):
                    if other not in needed:
                        needed.add(other)
                        names |= self.mentioned[other]
        needed.update(self.binding.get("*", ()))
        return sorted(needed)


def _mentioned(statement: ast.stmt) -> Iterator[str]:
    """Yield the names in a statement, and `name.attribute`."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement may bind, or whose value it may change; those of a comprehension are its own."""
    within = [each.target for each in ast.walk(statement) if isinstance(each, ast.comprehension)]
    own = {name for target in within for name in ast.walk(target)}
    for node in ast.walk(statement):
        match node:
            case _ if node in own:
                pass
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in names)
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                yield from (each.id for each in ast.walk(node) if isinstance(each, ast.Name))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                yield name  # such as `sizes.append(4)`
