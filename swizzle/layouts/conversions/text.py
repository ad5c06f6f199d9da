"""A network as a CUDA device function: predicates of lanes, lane numbers and selectors first, then a line a node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from swizzle.layouts.conversions.network import (
    PARITIES,
    ExchangeNetwork,
    Input,
    LaneExchange,
    Mix,
    Transposition,
)
from symbolic.errors import Place
from symbolic.ir.program import LANES, DType, Expr, Var
from symbolic.ir.python_text import python_text
from templates.formula import binary, number
from templates.xor import Matrix

_NOWHERE = Place("", 0, 0)
LANE = '    unsigned lane;\n    asm("mov.u32 %0, %%laneid;" : "=r"(lane));\n'
THREAD = "    const unsigned thread = threadIdx.x;\n"


def affine(values: Sequence[int], name: str) -> str | None:
    """Return 2^n values as an expression over the bits of a variable that counts them, None if they are not affine."""
    first = values[0]
    columns = tuple(values[1 << j] ^ first for j in range(len(values).bit_length() - 1))
    for n, value in enumerate(values):
        guess = first
        for j, column in enumerate(columns):
            guess ^= column if n >> j & 1 else 0
        if guess != value:
            return None
    x: Expr | None = None
    if any(columns):
        for term in Matrix(columns).terms(Var(name, DType.INDEX, _NOWHERE)):
            x = term if x is None else binary("^", x, term)
    if x is None:
        return f"{first}"
    return python_text(x if not first else binary("^", x, number(first, _NOWHERE)))


def counted(values: Sequence[int], name: str, modulus: int) -> str | None:
    """Return values as a multiple of a variable plus a number, modulo a power of two; None where they are not."""
    times = (values[1] - values[0]) % modulus
    if any((times * n + values[0]) % modulus != value for n, value in enumerate(values)):
        return None
    text = name if times == 1 else f"{name} * {times}"
    text = f"{text} + {values[0]}" if values[0] else text
    return f"({text}) & {modulus - 1}"


def lanes_where(mask: int) -> str:
    """Return a condition on the lane that holds in the lanes of a mask."""
    if mask not in PARITIES:
        return f"(0x{mask:08x}u >> lane & 1) != 0"
    bits = [bit for bit in range(5) if mask >> (1 << bit) & 1 != mask & 1]
    if len(bits) == 1:
        text = f"lane & {1 << bits[0]}"
    else:
        text = f"({' ^ '.join(f'lane >> {bit}' if bit else 'lane' for bit in bits)}) & 1"
    return f"({text}) {'==' if mask & 1 else '!='} 0"


class NetworkText:
    """The lines of a network; `inputs` are what its words are called, `prefix` begins the names of its values."""

    def __init__(
        self, network: ExchangeNetwork, name: str, inputs: Sequence[str] | None = None, prefix: str = "v"
    ) -> None:
        self.network, self.name, self.prefix = network, name, prefix
        self.inputs = inputs or [f"x[{word}]" for word in range(network.words)]
        self.tables: list[str] = []
        self.head: list[str] = []
        self.names: dict[tuple[str, object], str] = {}

    def _named(self, kind: str, prefix: str, key: object, declaration: str) -> str:
        found = self.names.get((kind, key))
        if found is None:
            found = f"{prefix}{sum(k == kind for k, _ in self.names)}"
            self.names[kind, key] = found
            self.head.append(f"    {declaration.format(name=found)}\n")
        return found

    def predicate(self, mask: int) -> str:
        """Name a condition that holds in the lanes of a mask."""
        return self._named("bool", "p", mask, f"const bool {{name}} = {lanes_where(mask)};")

    def choice(self, kinds: Sequence[str], by_lane: Sequence[str]) -> str:
        """Return an expression that is what each lane wants out of a few texts."""
        text, *rest = sorted(kinds, key=list(by_lane).index)
        for kind in rest:
            mask = sum(1 << lane for lane, each in enumerate(by_lane) if each == kind)
            text = f"{self.predicate(mask)} ? {kind} : {text}"
        return text

    def lanes(self, lanes: tuple[int, ...]) -> str:
        """Name the lane that each lane reads."""
        for (kind, other), name in self.names.items():
            if kind == "lane" and isinstance(other, tuple):
                flips = {mine ^ theirs for mine, theirs in zip(lanes, other, strict=True)}
                if len(flips) == 1 and flips != {0}:
                    return self._named("lane", "from", lanes, f"const unsigned {{name}} = {name} ^ {flips.pop()};")
        formula = affine(lanes, "lane") or counted(lanes, "lane", LANES)
        if formula is None:
            table = f"{self.name}_lanes{len(self.tables)}"
            values = ", ".join(map(str, lanes))
            self.tables.append(f"__constant__ unsigned char {table}[{LANES}] = {{{values}}};\n")
            formula = f"{table}[lane]"
        return self._named("lane", "from", lanes, f"const unsigned {{name}} = {formula};")

    def selector(self, picks: tuple[tuple[int, ...], ...]) -> str:
        """Name what __byte_perm is to take in each lane."""
        width = 4 // len(picks[0])
        codes = [
            f"0x{sum(p * width + b << 4 * (k * width + b) for k, p in enumerate(row) for b in range(width)):04x}u"
            for row in picks
        ]
        kinds = sorted(set(codes))
        if len(kinds) == 1:
            return kinds[0]
        return self._named("selector", "q", picks, f"const unsigned {{name}} = {self.choice(kinds, codes)};")

    def body(self) -> list[str]:
        words: list[str] = []
        lines = []
        for n, node in enumerate(self.network.nodes):
            match node:
                case Input(word):
                    words.append(self.inputs[word])
                    continue
                case Transposition(source):
                    words.append(f"{self.prefix}{n - self.network.words}")
                    move = '"movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"'
                    lines.append(f"    unsigned {words[-1]};\n")
                    lines.append(f'    asm volatile({move} : "=r"({words[-1]}) : "r"({words[source]}));\n')
                    continue
                case LaneExchange(source, lanes):
                    flips = {lane ^ other for lane, other in enumerate(lanes)}
                    if len(flips) == 1:
                        text = f"__shfl_xor_sync(0xffffffffu, {words[source]}, {flips.pop()})"
                    else:
                        text = f"__shfl_sync(0xffffffffu, {words[source]}, {self.lanes(lanes)})"
                case Mix(first, second, picks) if node.takes_words:
                    per = node.per
                    mask = sum(1 << lane for lane, row in enumerate(picks) if row[0] >= per)
                    if mask & 1 and mask in PARITIES:  # the same condition serves both ways
                        mask, first, second = ~mask & (1 << LANES) - 1, second, first
                    text = f"{self.predicate(mask)} ? {words[second]} : {words[first]}"
                case Mix(first, second, picks):
                    text = f"__byte_perm({words[first]}, {words[second]}, {self.selector(picks)})"
            words.append(f"{self.prefix}{n - self.network.words}")
            lines.append(f"    const unsigned {words[-1]} = {text};\n")
        self.words = words
        return lines


def parameters(before: int, after: int) -> str:
    """The registers that a conversion reads and those that it writes."""
    return f"const unsigned (&x)[{before}], unsigned (&y)[{after}]"


def numbered(lines: Iterable[str], warps: int = 1) -> str:
    """Return the declaration of the number of a lane, or of a thread of several warps, where lines use it: compilers
    warn of one that they do not."""
    name, declaration = ("lane", LANE) if warps == 1 else ("thread", THREAD)
    return declaration if any(re.search(rf"\b{name}\b", line) for line in lines) else ""


def cuda_text(network: ExchangeNetwork, name: str, title: str) -> str:
    """Return a device function that takes the registers x of every lane to the registers y, which are other ones."""
    text = NetworkText(network, name)
    lines = text.body()
    lane = numbered(text.head)
    results = [f"    y[{k}] = {text.words[n]};\n" for k, n in enumerate(network.outputs)]
    head = f"__device__ __forceinline__ void {name}({parameters(network.words, len(network.outputs))}) {{\n"
    tables = "".join(text.tables) + "\n" * bool(text.tables)
    return "".join([tables, f"// {title}\n", head, lane, *text.head, *lines, *results, "}\n"])
