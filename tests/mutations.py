"""Sources made wrong at random: tokens and lines deleted, doubled, swapped and replaced."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

TOKEN = re.compile(r"\s+|\w+(?:\.\d+)?|[^\w\s]")
STRANGE = (
    *("-1", "0", "1", "2", "33", "10**9", "10**30", "1e400", "0.5", "None", "True", '"text"', "...", "lambda: 0"),
    *(
        "*",
        "**",
        "/",
        "//",
        "%",
        "<<",
        ">>",
        "&",
        "^",
        "==",
        "<",
        "=",
        "+=",
        ",",
        ":",
        ".",
        "@",
        "?",
        "(",
        ")",
        "[",
        "]",
    ),
    *("for", "if", "else", "while", "return", "def", "in", "not", "and", "import", "yield", "await", "del", "global"),
    *("x", "y", "w", "i", "k", "lane", "cuda", "f32", "u32", "f16", "f64", "i64", "len", "range", "sum", "min", "zip"),
    *("cuda.laneid", "cuda.syncthreads()", "sw_xform(lane, 32)", "?sw_cond(lane)", "accumulator", "zeros", "spec"),
    *("x[0]", "(1, 2)", "[]", "{}", "range(3)", "-x[0]", "x.shape", "x[:]", "x[-1]", "cuda.grid(1)", "é", "\t", "\x0c"),
)
"""What a replacement may be, besides the tokens of the source itself."""


def mutated(source: str, rng: random.Random) -> str:
    """Return a source with one to three changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        source = rng.choice(CHANGES)(source, rng)
    return source


def _tokens(source: str, rng: random.Random, change: Callable[[list[str], int], Sequence[str]]) -> str:
    tokens = TOKEN.findall(source)
    visible = [at for at, token in enumerate(tokens) if not token.isspace()]
    if not visible:
        return source
    return "".join(change(tokens, rng.choice(visible)))


def _delete(source: str, rng: random.Random) -> str:
    return _tokens(source, rng, lambda tokens, at: [*tokens[:at], *tokens[at + 1 :]])


def _double(source: str, rng: random.Random) -> str:
    return _tokens(source, rng, lambda tokens, at: [*tokens[: at + 1], " ", *tokens[at:]])


def _replace(source: str, rng: random.Random) -> str:
    def change(tokens: list[str], at: int) -> list[str]:
        own = [token for token in tokens if not token.isspace()]
        return [*tokens[:at], rng.choice((*STRANGE, *own)), *tokens[at + 1 :]]

    return _tokens(source, rng, change)


def _alike(source: str, rng: random.Random) -> str:
    """Replace a name by a name, an operator by an operator: the text stays Python more often."""

    def change(tokens: list[str], at: int) -> list[str]:
        kind = tokens[at].isidentifier()
        own = [token for token in (*tokens, *STRANGE) if not token.isspace() and token.isidentifier() is kind]
        return [*tokens[:at], rng.choice(own), *tokens[at + 1 :]]

    return _tokens(source, rng, change)


def _insert(source: str, rng: random.Random) -> str:
    return _tokens(source, rng, lambda tokens, at: [*tokens[:at], rng.choice(STRANGE), " ", *tokens[at:]])


def _number(source: str, rng: random.Random) -> str:
    """Replace a number by another, which breaks sizes rather than syntax."""
    found = list(re.finditer(r"\b\d+\b", source))
    if not found:
        return source
    match = rng.choice(found)
    other = rng.choice(("0", "1", "2", "3", "7", "31", "33", "64", "1024", "-1", "65536", "1000000007", "2.5"))
    return source[: match.start()] + other + source[match.end() :]


def _line(source: str, rng: random.Random) -> str:
    lines = source.splitlines(keepends=True)
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines[at] = "    " + lines[at]
        case _:
            lines[at] = lines[at].removeprefix("    ")
    return "".join(lines) or "\n"


CHANGES = (_delete, _double, _replace, _alike, _alike, _insert, _number, _number, _line)


def as_swz(source: str) -> str:
    """Return a case study written in Python as a `.swz` file."""
    source = re.sub(r'^""".*?"""\n', "", source, flags=re.DOTALL)
    source = re.sub(r"^from swizzle import [^\n]*\n", "", source, flags=re.MULTILINE)
    source = re.sub(r"^from swizzle import \(.*?\)\n", "", source, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(?<![\w?])(sw_(?:xform|part|cond)\()", r"?\1", source)
