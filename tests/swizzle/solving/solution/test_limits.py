"""Limits that are none are one message, and every public name can be asked for help."""

from __future__ import annotations

import pydoc
from typing import Any

import pytest

import swizzle
import symbolic
from symbolic.errors import SwizzleError
from tests.sketches import kernel


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout": "x"}, "a timeout of 'x'"),
        ({"timeout": "5"}, "a timeout of '5'"),
        ({"timeout": True}, "a timeout of True"),
        ({"timeout": float("nan")}, "a timeout of nan"),
        ({"timeout": 10**400}, "a timeout of an int of 1329 bits"),
        ({"timeout": [5]}, r"a timeout of \[5\]"),
        ({"memory": "x"}, "a memory limit of 'x'"),
        ({"limits": 3}, "limits of 3"),
    ],
)
def test_what_is_no_limit(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SwizzleError, match=f"^error: {said}"):
        swizzle.solve(kernel("y[cuda.laneid] = x[cuda.laneid]"), **given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"space": "9"}, "a space of '9'"),
        ({"space": 1}, "a space of 1"),
        ({"solver": "x"}, "a solver of 'x'"),
        ({"template": None}, "a template of None"),
        ({"memory": "4G"}, "a memory limit of '4G'"),
    ],
)
def test_what_no_limits_have(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SwizzleError, match=f"^error: {said}"):
        swizzle.Limits(**given)


@pytest.mark.parametrize("package", [swizzle, symbolic])
def test_help_of_every_public_name(package: Any) -> None:
    """Its annotations can be read, also of classes that are loaded when they are needed."""
    assert package.__all__ and all(pydoc.render_doc(getattr(package, name)) for name in package.__all__)
