"""The versions of PTX that there are, and from which one on an architecture is known ("PTX ISA", release notes).

Before sm_70 the lanes of a warp meet at a shuffle only where they have converged, of which nothing is interpreted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_LAST_MINOR: Final[Mapping[int, int]] = {4: 3, 5: 0, 6: 5, 7: 8, 8: 8, 9: 9}
"""The last version of each number before the point; the versions of CUDA 13 are 9.0 and what follows it."""
_SINCE: Final[Mapping[int, tuple[int, int]]] = {
    70: (6, 0), 72: (6, 1), 75: (6, 3),
    80: (7, 0), 86: (7, 1), 87: (7, 4), 88: (7, 3), 89: (7, 8), 90: (7, 8), 100: (8, 6), 101: (8, 6), 103: (8, 8),
    110: (9, 0), 120: (8, 7), 121: (8, 8),
}  # fmt: skip
_WITH_SUFFIX: Final[Mapping[str, tuple[int, int]]] = {"": (0, 0), "a": (8, 0), "f": (8, 8)}
_FIRST_WITH_SUFFIX: Final[Mapping[str, int]] = {"": 0, "a": 90, "f": 100}


def unknown_version(version: str) -> bool:
    """Return whether no compiler has made PTX of a version.

    >>> [unknown_version(version) for version in ("8.8", "9.0", "8.9", "99.9")]
    [False, False, True, True]
    """
    major, minor = map(int, version.split("."))
    return not minor <= _LAST_MINOR.get(major, -1)


def unknown_target(target: str, version: str) -> str:
    """Return why a version of PTX has no such architecture, '' where it has.

    >>> unknown_target("sm_90a", "8.0"), unknown_target("sm_90", "7.0"), unknown_target("sm_999", "9.0")
    ('', 'PTX 7.0 is older than sm_90', 'no such architecture is known')
    """
    parts = re.fullmatch(r"sm_(\d+)([af]?)", target)
    if parts is None or int(parts[1]) not in _SINCE or int(parts[1]) < _FIRST_WITH_SUFFIX[parts[2]]:
        return "no such architecture is known"
    major, minor = map(int, version.split("."))
    if (major, minor) < max(_SINCE[int(parts[1])], _WITH_SUFFIX[parts[2]]):
        return f"PTX {version} is older than {target}"
    return ""
