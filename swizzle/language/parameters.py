"""Declared parameters: the sizes and choices of a sketch file, each an int with a domain, set by `-D NAME=VALUE`.

A choice is a parameter that `swizzle tune` searches. What may not be chosen together, `require` says.

A module's parameters are stored in the module itself. So the same file can be loaded twice with different values, and a
notebook cell can be run again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, Final, NoReturn, TypeVar

from msgspec import Struct, field

from swizzle.language.element_types import caller_place
from symbolic.errors import Place, SwizzleError, near

MODULE_KEY: Final = "__swizzle_parameters__"


T = TypeVar("T")

LARGEST: Final = 2**62
"""The most that a value of a domain may be, and the least, negated."""
MOST_ADDED: Final = 4096
"""The most elements that may be added to an extent by a pad, all of which are tried."""
MOST_VALUES: Final = 1024
"""The most values of a choice."""


class RequirementError(SwizzleError):
    """The values of a file's choices are not allowed together."""


class NotAmongValuesError(RequirementError):
    """A choice is given a value that it does not have, perhaps as others have theirs."""


def declared_twice(name: str, place: Place) -> SwizzleError:
    """Say that a file has two parameters or choices of one name."""
    return SwizzleError(
        f"the parameter {name} is declared twice", place=place, expected="one declaration", fix="rename one of them"
    )


class Refused(Struct, frozen=True, eq=False):
    """What stands in the place of a mistaken sketch or host function."""

    error: SwizzleError

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise self.error


class Declared(Struct, frozen=True):
    """One parameter: its value now, and the values it may have.

    A pad's value is chosen by the search for a filling, that of a choice by `swizzle tune`.
    """

    name: str
    value: int
    default: int
    domain: Sequence[int]
    place: Place
    pad: bool = False
    choice: bool = False

    def __str__(self) -> str:
        return f"{self.name} (default {self.default}; {describe_domain(self.domain)})"


class Parameters(Struct):
    """The parameters declared by one file; `overrides` are values that are set from outside.

    `chosen` are the values of choices that are not set: the first ones that all requirements allow.
    `operators` are those that were handed in, by name. `again(name, values)` gives the object that the file calls
    `name`, with other values, if the file can be loaded again.
    Mistakes of sketches and host functions are kept in `refused`, by name, so that others of the file can be asked for;
    where it is None, they are raised.
    """

    overrides: Mapping[str, int] = field(default_factory=dict)
    once: bool = False
    declared: dict[str, Declared] = field(default_factory=dict)
    again: Callable[[str, Mapping[str, int]], Any] | None = None
    operators: Mapping[str, Any] = field(default_factory=dict)
    chosen: Mapping[str, int] = field(default_factory=dict)
    refused: dict[str, SwizzleError] | None = None

    def made(self, name: str, make: Callable[[], T]) -> T:
        """Return what the file defines under a name; with a mistake that is kept, what raises it when it is used."""
        try:
            return make()
        except SwizzleError as error:
            if self.refused is None:
                raise
            self.refused.setdefault(name, error)
            return Refused(error)  # type: ignore[return-value]

    def declare(
        self, name: object, default: object, domain: object, place: Place, *, pad: bool = False, choice: bool = False
    ) -> int:
        """Declare a parameter and return its value."""

        def fail(found: str, expected: str, fix: str, kind: type[SwizzleError] = SwizzleError) -> NoReturn:
            raise kind(found, place=place, expected=expected, fix=fix)

        if not isinstance(name, str) or not name.isidentifier():
            fail(
                f"{name!r} is not a parameter's name",
                "a string that is a name",
                'choice("BM", (16, 32, 64))' if choice else 'parameter("K", 3, domain=range(1, 9))',
            )
        if self.once and name in self.declared:
            raise declared_twice(name, place)
        whole = isinstance(domain, range | tuple | list) and all(map(_is_int, _ends(domain)))
        if not isinstance(domain, range | tuple | list) or not whole or not domain:
            fail(f"the domain of {name} is {domain!r}", "a range, a tuple or a list of ints", "domain=range(1, 33)")
        if (largest := max(map(abs, _ends(domain)))) > LARGEST:
            digits = str(largest) if largest < 10**40 else f"a number of {largest.bit_length()} bits"
            fail(f"the domain of {name} reaches {digits}", f"at most {LARGEST}", "domain=range(1, 33)")
        for value, what in ((default, "the default"), (self.overrides.get(name, default), "the value given")):
            if not _is_int(value):
                fail(f"{what} of {name} is {value!r}", "an int", fix="write an int: a size, a count")
            if value not in domain:
                fail(
                    f"{what} of {name} is {value}, which is not in its domain",
                    describe_domain(domain),
                    _nearest(name, value, domain, what),
                    NotAmongValuesError if choice else SwizzleError,
                )
        value, usual = self.overrides.get(name, self.chosen.get(name, default) if choice else default), default
        assert isinstance(value, Integral) and isinstance(usual, Integral)
        self.declared[name] = Declared(name, int(value), int(usual), domain, place, pad, choice)
        return int(value)

    def require(self, condition: object, why: object, place: Place) -> None:
        """Refuse the values of the choices where a condition on them does not hold."""
        if not isinstance(why, str):
            raise SwizzleError(
                f"the reason of a requirement is {why!r:.60}", place=place, expected="a text, for messages",
                fix='require(BM <= 64, "both tiles fit")',
            )  # fmt: skip
        if type(condition).__name__ not in ("bool", "bool_"):
            raise SwizzleError(
                f"require of {condition!r:.60}", place=place, expected="a comparison, which is True or False",
                fix='require(BM <= 64, "both tiles fit")',
            )  # fmt: skip
        if not condition:
            values = {each.name: each.value for each in self.declared.values() if each.choice}
            listing = ", ".join(f"{name} = {value}" for name, value in values.items())
            raise RequirementError(
                f"{repr(why) if why else 'a requirement'} does not hold with {listing or 'these values'}",
                place=place, expected="values of the choices that every `require` allows",
                fix="set others with -D; of choices that are not set, the first allowed values are taken",
            )  # fmt: skip

    @property
    def values(self) -> dict[str, int]:
        """The value of each declared parameter."""
        return {declared.name: declared.value for declared in self.declared.values()}

    def require_all_used(self, file: str) -> None:
        """Refuse an override that names no declared parameter."""
        for name in self.overrides:
            if name not in self.declared:
                listing = "; ".join(map(str, self.declared.values())) or "the file declares no parameters"
                raise SwizzleError(
                    f"{file} declares no parameter {name}",
                    expected=listing,
                    fix=near(name, self.declared) or "leave it out: -D sets what the file declares with parameter(...)",
                )


def given_operators(module: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the operators that were handed in to a file, given its global names."""
    parameters = module.get(MODULE_KEY)
    return parameters.operators if isinstance(parameters, Parameters) else {}


def parameter(name: str, default: int, *, domain: Sequence[int]) -> int:
    """Declare a parameter of this file and return its value: the default, or the value given by `-D NAME=VALUE`.

    `domain` (a range, a tuple or a list of ints) holds the allowed values.
    """
    module: dict[str, Any] = sys._getframe(1).f_globals
    parameters: Parameters = module.setdefault(MODULE_KEY, Parameters())
    return parameters.declare(name, default, domain, caller_place())


def choice(name: str, values: Sequence[int]) -> int:
    """Declare a choice of this file, one of some ints: a parameter that `swizzle tune` searches.

    Its value is the one given by `-D NAME=VALUE`, or else the first one that all of the file's `require` allow.
    """
    module: dict[str, Any] = sys._getframe(1).f_globals
    parameters: Parameters = module.setdefault(MODULE_KEY, Parameters())
    return declare_choice(parameters, name, values, caller_place())


def declare_choice(parameters: Parameters, name: object, values: Any, place: Place) -> int:
    """Declare a choice and return its value."""
    several = isinstance(values, range | tuple | list) and 0 < len(values) <= MOST_VALUES
    if not several or not all(map(_is_int, values)) or len(set(values)) < len(values):
        raise SwizzleError(
            f"the values of the choice {name} are {values!r:.60}", place=place,
            expected=f"a tuple, a list or a range of 1 to {MOST_VALUES} different ints",
            fix='choice("BM", (16, 32, 64))',
        )  # fmt: skip
    return parameters.declare(name, values[0], values, place, choice=True)


def require(condition: bool, why: str = "") -> None:
    """Demand a condition of the values of this file's choices and parameters; `why` is what messages say of it.

    `swizzle tune` looks only at values for which it holds. Elsewhere values for which it does not are a mistake.
    """
    module: dict[str, Any] = sys._getframe(1).f_globals
    parameters: Parameters = module.setdefault(MODULE_KEY, Parameters())
    parameters.require(condition, why, caller_place())


def sw_pad(n: int, most: int = 32) -> int:
    """A hole in a shape: an extent of n to n + most, at a file's top level. `PITCH = sw_pad(32)`.

    The search takes the least extent with the least costs, such as `--cost conflicts`. It is a parameter `pad1`,
    `pad2`, ... in the order of the text, so that `-D pad1=33` chooses it by hand.
    """
    module: dict[str, Any] = sys._getframe(1).f_globals
    parameters: Parameters = module.setdefault(MODULE_KEY, Parameters())
    return declare_pad(parameters, n, most, caller_place())


def declare_pad(parameters: Parameters, n: Any, most: Any, place: Place) -> int:
    """Declare the parameter that a hole in a shape is, and return its value."""
    for value, what, least in ((n, "the extent", 1), (most, "the most that is added", 0)):
        if not _is_int(value) or value < least:
            raise SwizzleError(
                f"{what} of sw_pad is {value!r}", place=place, expected=f"an int, at least {least}",
                fix="write the extent that the array needs, as in sw_pad(32), and how much may be added at most",
            )  # fmt: skip
    if most > MOST_ADDED:
        raise SwizzleError(
            f"the most that is added of sw_pad is {most}", place=place, expected=f"at most {MOST_ADDED}",
            fix="write fewer: banks come round after 32 words",
        )  # fmt: skip
    number = 1 + sum(each.pad and each.place != place for each in parameters.declared.values())
    return parameters.declare(f"pad{number}", n, range(n, n + most + 1), place, pad=True)


def _nearest(name: str, value: Any, domain: Sequence[int], what: str) -> str:
    """Return what to write instead: the nearest value of the domain, or a larger domain."""
    nearest = min(domain if len(domain) <= 4096 else _ends(domain), key=lambda one: abs(one - value))
    return f"-D {name}={nearest}" if what == "the value given" else f"write {nearest}, or another domain"


def describe_domain(domain: Sequence[int]) -> str:
    """Spell a domain for a reader."""
    if isinstance(domain, range) and abs(domain.step) == 1:
        return f"{min(_ends(domain))} to {max(_ends(domain))}"
    shown = ", ".join(map(str, domain[:12]))
    return f"one of {shown}" + (", ..." if len(domain) > 12 else "")


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _ends(domain: Sequence[Any]) -> Sequence[Any]:
    """Return the values of a domain between which all others are: of a range, which may be long, two."""
    return (domain[0], domain[-1]) if isinstance(domain, range) and domain else domain


def neighbours(domain: Sequence[int], value: int) -> tuple[int | None, int | None]:
    """Return the values of a domain next to one of it, above and below.

    >>> neighbours(range(0, 10**9, 8), 16), neighbours((4, 8), 8)
    ((24, 8), (None, 4))
    """
    around = [value - domain.step, value + domain.step] if isinstance(domain, range) else domain
    there = [each for each in around if each in domain]
    return min((v for v in there if v > value), default=None), max((v for v in there if v < value), default=None)
