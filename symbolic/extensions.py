"""What packages add: families of templates, costs and operators, by entry points, looked up when a name is not known.

A package declares them in its metadata, one group for each kind of thing:

    [options.entry_points]
    swizzle.families =
        bits = my_package.bits:FAMILY

Looking through all installed packages takes longer than solving a small kernel, so that nobody looks before a name
is used that the tree does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from symbolic.errors import SwizzleError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ExtensionKind: TypeAlias = Literal["families", "costs", "operators"]


def extension(group: ExtensionKind, name: str) -> Any | None:
    """Return what an installed package calls `name` in a group, None where no package does.

    Raises SwizzleError where two packages have the name, or the package cannot be imported.
    """
    return _found(group, name)


def extension_names(group: ExtensionKind) -> tuple[str, ...]:
    """Return every name that installed packages have in a group, in order: for messages and completion."""
    return tuple(sorted({point.name for point in _points(group)}))


def _points(group: ExtensionKind) -> Sequence[EntryPoint]:
    """Return what installed packages declare in a group; SwizzleError where the metadata of one is no such list."""
    from importlib.metadata import entry_points

    try:
        return tuple(entry_points(group=f"swizzle.{group}"))
    except Exception as error:  # Python says nothing better of a line without `=`
        raise SwizzleError(
            f"the entry points of an installed package cannot be read: {type(error).__name__}: {error}",
            expected="lines such as `name = module:object` in its entry_points.txt",
            fix="correct the metadata of the package that was installed last, and install it again",
        ) from error


@lru_cache(maxsize=256)
def _found(group: ExtensionKind, name: str) -> Any | None:
    points = {point.value: point for point in _points(group) if point.name == name}
    if len(points) > 1:
        raise SwizzleError(
            f"two packages have {name!r} in swizzle.{group}: {' and '.join(sorted(points))}",
            expected="one",
            fix="uninstall one of them",
        )
    for value, point in points.items():
        try:
            return point.load()
        except SwizzleError:  # it has a place of its own, in the package
            raise
        except (Exception, SystemExit) as error:  # whatever the package's own code raises while it is imported
            raise SwizzleError(
                f"{name!r} of swizzle.{group} cannot be loaded from {value}: {type(error).__name__}: {error}",
                expected="a package that can be imported, and the object that it names",
                fix="correct the package, or what its metadata says of it, and install it again",
            ) from error
    return None
