"""A grammar in EBNF: sentences made from it at random, and texts of Python's tokens recognised by it."""

from __future__ import annotations

import io
import keyword
import math
import random
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from swizzle.language.source.hole_marks import find_marks

CLASSES = {"NAME": "abcxy", "NUMBER": ("0", "1", "2", "1.5"), "STRING": ('"+"', '"max"')}
LAYOUT = ("NEWLINE", "INDENT", "DEDENT")
MARK = re.compile(r'\s*(?:\(\*.*?\*\)\s*)*("[^"]+"|\w+|[={}\[\]()|;])', re.DOTALL)
CLOSE = {"{": "}", "[": "]", "(": ")"}

Node = tuple[Any, ...]
"""('text', t), ('name', n), ('all', nodes), ('one', nodes), ('many', node), ('maybe', node)."""


@dataclass
class Grammar:
    """The rules by name."""

    rules: dict[str, Node] = field(default_factory=dict)

    @staticmethod
    def read(text: str) -> Grammar:
        marks, found = MARK.findall(text), Grammar()
        while marks:
            name, equals = marks.pop(0), marks.pop(0)
            assert equals == "=" and name not in found.rules, name
            found.rules[name] = _alternatives(marks)
            assert marks.pop(0) == ";", name
        return found

    def terminals(self) -> set[str]:
        """Return every quoted text."""
        return {leaf for rule in self.rules.values() for kind, leaf in _leaves(rule) if kind == "text"}

    def undefined(self) -> set[str]:
        """Return the names that are neither rules nor tokens."""
        used = {leaf for rule in self.rules.values() for kind, leaf in _leaves(rule) if kind == "name"}
        return used - self.rules.keys() - {*CLASSES, *LAYOUT}

    def texts(self, rule: str) -> set[str]:
        """Return the quoted texts of one rule."""
        return {leaf for kind, leaf in _leaves(self.rules[rule]) if kind == "text"}

    # ---- sentences ----

    def sentence(self, rule: str, seed: int, depth: int) -> str:
        """Return a random sentence; beyond `depth` rules the shortest way out is taken."""
        pick = random.Random(seed)

        def emit(node: Node, left: int) -> list[str]:
            kind, body = node
            match kind:
                case "text":
                    return [body]
                case "name" if body in self.rules:
                    return emit(self.rules[body], left - 1)
                case "name":
                    return [body if body in LAYOUT else pick.choice(CLASSES[body])]
                case "all":
                    return [token for part in body for token in emit(part, left)]
                case "one":
                    fits = [part for part in body if self.height(part) <= left] or [min(body, key=self.height)]
                    return emit(pick.choice(fits), left)
                case _:
                    times = pick.choice((0, 0, 0, 1, 2) if kind == "many" else (0, 0, 1))
                    return [t for _ in range(times if self.height(body) <= left else 0) for t in emit(body, left)]

        return _laid_out(emit(("name", rule), depth))

    @cached_property
    def heights(self) -> dict[str, float]:
        """How many rules deep the shortest sentence of each rule is."""
        found = dict.fromkeys(self.rules, math.inf)
        while (better := {name: 1 + _height(rule, found) for name, rule in self.rules.items()}) != found:
            found = better
        return found

    def height(self, node: Node) -> float:
        return _height(node, self.heights)

    # ---- recognition ----

    def accepts(self, rule: str, text: str) -> bool:
        """Tell whether the whole text is a sentence."""
        tokens = _tokens(text)
        memo: dict[tuple[int, int], frozenset[int]] = {}

        def ends(node: Node, at: int) -> frozenset[int]:
            key = (id(node), at)
            if key not in memo:
                memo[key] = frozenset(_ends(node, at))
            return memo[key]

        def _ends(node: Node, at: int) -> set[int]:
            kind, body = node
            match kind:
                case "name" if body in self.rules:
                    return set(ends(self.rules[body], at))
                case "text" | "name":
                    found = tokens[at] if at < len(tokens) else ("", "")
                    return {at + 1} if found[kind == "text"] == body else set()
                case "all":
                    here = {at}
                    for part in body:
                        here = {after for before in here for after in ends(part, before)}
                    return here
                case "one":
                    return {after for part in body for after in ends(part, at)}
                case "maybe":
                    return {at, *ends(body, at)}
                case _:
                    reached, new = {at}, {at}
                    while new:
                        new = {after for before in new for after in ends(body, before)} - reached
                        reached |= new
                    return reached

        return len(tokens) in ends(("name", rule), 0)


def _height(node: Node, heights: Mapping[str, float]) -> float:
    kind, body = node
    match kind:
        case "name":
            return heights.get(body, 0)
        case "all":
            return max((_height(part, heights) for part in body), default=0)
        case "one":
            return min(_height(part, heights) for part in body)
        case _:
            return 0


def _alternatives(marks: list[str]) -> Node:
    options = [_sequence(marks)]
    while marks[0] == "|":
        marks.pop(0)
        options.append(_sequence(marks))
    return ("one", tuple(options)) if len(options) > 1 else options[0]


def _sequence(marks: list[str]) -> Node:
    parts: list[Node] = []
    while marks[0] not in ("|", ";", *CLOSE.values()):
        mark = marks.pop(0)
        if mark in CLOSE:
            inner = _alternatives(marks)
            assert marks.pop(0) == CLOSE[mark]
            parts.append({"{": ("many", inner), "[": ("maybe", inner), "(": inner}[mark])
        else:
            parts.append(("text", mark[1:-1]) if mark.startswith('"') else ("name", mark))
    return ("all", tuple(parts))


def _leaves(node: Node) -> list[tuple[str, str]]:
    kind, body = node
    if kind in ("text", "name"):
        return [(kind, body)]
    return [leaf for part in (body if kind in ("all", "one") else (body,)) for leaf in _leaves(part)]


def _laid_out(tokens: list[str]) -> str:
    text, level, fresh = "", 0, True
    for token in tokens:
        if token in LAYOUT:
            level += {"INDENT": 1, "DEDENT": -1, "NEWLINE": 0}[token]
            text, fresh = (text + "\n", True) if token == "NEWLINE" else (text, fresh)
        else:
            text += "    " * level * fresh + token + " " * (token != "?")
            fresh = False
    return text


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return Python's tokens, (class, text), keywords without a class; a hole's `?` is one of its own."""
    marked, marks = find_marks(text, "page.swz")
    found: list[tuple[str, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(marked).readline):
        kind = tokenize.tok_name[token.type]
        line, column = token.start
        if (line, column + 1) in marks:
            found += [("", "?"), ("", token.string[1:])]
        elif kind in LAYOUT:
            found.append((kind, ""))
        elif kind in ("NAME", "NUMBER", "STRING", "OP"):
            found.append((kind if not keyword.iskeyword(token.string) else "", token.string))
    return found
