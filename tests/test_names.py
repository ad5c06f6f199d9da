"""One name, one meaning: no two public classes of the four packages share a name, and no alias has a class's name."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("symbolic", "templates", "cuda_out", "swizzle")


@cache
def names() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the modules of each public class, and those of each public type alias."""
    classes: dict[str, list[str]] = defaultdict(list)
    aliases: dict[str, list[str]] = defaultdict(list)
    for file in sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py")):
        module = str(file.relative_to(ROOT))
        text = file.read_text(encoding="utf-8")
        for name in re.findall(r"^class ([A-Za-z]\w*)", text, re.MULTILINE):
            classes[name].append(module)
        for name in re.findall(r"^(\w+): TypeAlias\b", text, re.MULTILINE):
            aliases[name].append(module)
    return classes, aliases


def test_no_two_classes_share_a_name() -> None:
    """Classes that are for one module only begin with an underscore and may be called alike."""
    classes, _ = names()
    assert len(classes) > 500
    assert {name: modules for name, modules in classes.items() if len(modules) > 1} == {}


def test_no_type_alias_has_the_name_of_a_class() -> None:
    """An alias may repeat another alias: each says in one line what it stands for, in its own module."""
    classes, aliases = names()
    assert len(aliases) > 100
    assert {name: (classes[name], aliases[name]) for name in classes.keys() & aliases.keys()} == {}
