"""Every way to spell an instruction, from the pattern that its row has."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

syntax = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")


def spellings(pattern: str) -> list[str]:
    """Return the texts that a pattern of names matches; of numbers that may be any, 16 stands for all.

    >>> spellings(r"(?:min|max)(?:\\.ftz)?\\.(?P<t>f32)")
    ['min.f32', 'min.ftz.f32', 'max.f32', 'max.ftz.f32']
    """
    return [text for text in _texts(syntax.parse(pattern)) if re.fullmatch(pattern, text)]


def _texts(items: Any) -> list[str]:
    found = [""]
    for operator, argument in items:
        match str(operator):
            case "LITERAL":
                parts = [chr(argument)]
            case "SUBPATTERN":
                parts = _texts(argument[3])
            case "BRANCH":
                parts = [text for branch in argument[1] for text in _texts(branch)]
            case "ASSERT_NOT":
                parts = [""]
            case "MAX_REPEAT" if argument[:2] == (0, 1):
                parts = ["", *_texts(argument[2])]
            case "MAX_REPEAT":
                parts = ["16"]
            case "IN":
                parts = [chr(character) for _, character in argument]
            case _:
                raise AssertionError(f"{operator} in a pattern of names")
        found = [before + part for before in found for part in parts]
    return found
