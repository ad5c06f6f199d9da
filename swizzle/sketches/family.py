"""A sketch for all values of its file's declared parameters: what is asked for other sizes, and for other choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from msgspec import Struct

from swizzle.language.parameters import Declared, Parameters

S = TypeVar("S")


class SketchFamily(Struct, Generic[S], frozen=True, eq=False):
    """The sketches that one definition makes, by the values of the parameters that its file declares.

    `parameters` are those of the sketch at hand; `make` gives the sketch for other values. A file is read once and
    runs once for each set of values, however often they are asked for.
    """

    parameters: Parameters
    make: Callable[[Mapping[str, int]], S]

    @property
    def declared(self) -> Mapping[str, Declared]:
        """The parameters with their values here and their domains."""
        return self.parameters.declared

    def at(self, values: Mapping[str, int]) -> S:
        """Return the sketch with other values of some parameters.

        Of the others, those that have their defaults here have their defaults there too. Raises SwizzleError for a
        value outside of its domain, a name that is not declared, and wherever the definition fails with these values.
        """
        chosen = {each.name: each.value for each in self.declared.values() if each.value != each.default}
        return self.make(chosen | dict(values))
