"""Where the public face leaves what can be done with solutions; light, as the face is always loaded."""

from __future__ import annotations

from typing import Any

HANDED_IN: list[Any] = []
"""One `swizzle.solving.solution.solution.Abilities`, once the package is imported."""
