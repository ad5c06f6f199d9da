"""The TextMate grammar knows the language's names and colours an example as it should; the extension finds it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from swizzle.language.surface import ELEMENT_TYPES, HOLES, LOAD_STORE
from swizzle.solving.solution.version import __version__

EDITORS = Path(__file__).resolve().parent.parent / "editors"
GRAMMAR = json.loads((EDITORS / "swizzle.tmLanguage.json").read_text(encoding="utf-8"))


def rules(patterns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules in the order in which an editor tries them; Python's own are another grammar's."""
    found = []
    for rule in patterns:
        name = rule.get("include", "")
        inner = GRAMMAR["repository"][name[1:]] if name.startswith("#") else rule
        found += rules(inner["patterns"]) if "begin" not in inner and "patterns" in inner else [inner]
    return [rule for rule in found if "include" not in rule]


RULES = rules(GRAMMAR["patterns"])


def coloured(text: str) -> list[tuple[str, str]]:
    """Tokenise as TextMate does: at each place the rule that matches first, the earlier one where two do."""
    found, at = [], 0
    while True:
        hits = [(m.start(), n, m) for n, r in enumerate(RULES) if (m := _start(r).search(text, at)) and m.end() > at]
        if not hits:
            return found
        _, number, match = min(hits, key=lambda hit: hit[:2])
        end = match.end()
        if "end" in RULES[number]:
            closing = re.compile(RULES[number]["end"].replace("\\1", re.escape(match[1]))).search(text, end)
            end = closing.end() if closing else len(text)
        found.append((text[match.start() : end], RULES[number]["name"].split(".")[0]))
        at = end


def _start(rule: dict[str, Any]) -> re.Pattern[str]:
    return re.compile(rule.get("match") or rule["begin"], re.MULTILINE)


def test_an_example_is_coloured() -> None:
    """Holes are keywords, but not in comments and strings; a `?` that begins no hole is invalid."""
    text = (
        '"""A ?sw_cond."""\n@spec\n@serial(length=3)\n@cuda.jit(device=True)\nx = f32[4]  # ?sw_xform\n'
        'v = cuda.shfl_sync("?", ?sw_xform(a, 4), ?sw_form(f32x))\n'
    )
    assert coloured(text) == [
        ('"""A ?sw_cond."""', "string"),
        ("@spec", "entity"),
        ("@serial", "entity"),
        ("@cuda.jit", "entity"),
        ("f32", "storage"),
        ("# ?sw_xform", "comment"),
        ("cuda", "support"),
        ("shfl_sync", "support"),
        ('"?"', "string"),
        ("?sw_xform", "keyword"),
        ("?sw_form", "invalid"),
    ]


def test_the_names_are_the_language_s() -> None:
    """Every hole, element type and helper is coloured, and Python follows."""
    for name, scope in [*((f"?{h}", "keyword") for h in HOLES), *((t, "storage") for t in ELEMENT_TYPES)]:
        assert coloured(name) == [(name, scope)]
    for name in (*LOAD_STORE, "permute_local", "exchange", "accumulator", "parameter"):
        assert coloured(f"{name}(") == [(name, "support")]
    assert GRAMMAR["scopeName"] == "source.swizzle"
    assert GRAMMAR["patterns"][-1] == {"include": "source.python"}


def test_every_sketch_of_the_tree_is_coloured_without_a_fault() -> None:
    """No hole of a sketch is invalid, and none is missed."""
    for path in (EDITORS.parent / "case_studies").glob("*.swz"):
        text = path.read_text(encoding="utf-8")
        kinds = [kind for _, kind in coloured(text)]
        assert "invalid" not in kinds
        assert kinds.count("keyword") == text.count("?sw_") > 0


def test_the_extension_names_its_files() -> None:
    """What package.json contributes is there, at this version."""
    package = json.loads((EDITORS / "package.json").read_text(encoding="utf-8"))
    (language,), (grammar,) = package["contributes"]["languages"], package["contributes"]["grammars"]
    assert language["extensions"] == [f".{GRAMMAR['fileTypes'][0]}"]
    assert grammar["scopeName"] == GRAMMAR["scopeName"]
    assert all((EDITORS / path).is_file() for path in (grammar["path"], language["configuration"]))
    json.loads((EDITORS / language["configuration"]).read_text(encoding="utf-8"))
    assert package["version"] == __version__
