"""Conversions as CUDA device functions: of a network, predicates of lanes, lane numbers and selectors first, then a
line a node; through shared memory, stores, a barrier, loads.
"""

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
from swizzle.layouts.conversions.shared import Moves, SharedPlan
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


_TYPES = {8: "unsigned char", 16: "unsigned short", 32: "unsigned", 64: "uint2", 128: "uint4"}
_PARTS = "xyzw"


class _Side:
    """The addresses and conditions of the stores or of the loads; `tables` and `head` stand in front."""

    def __init__(self, moves: Moves, warps: int, name: str, what: str) -> None:
        self.moves, self.warps, self.name, self.what = moves, warps, name, what
        self.variable = "lane" if warps == 1 else "thread"
        self.tables: list[str] = []
        self.head: list[str] = []
        self.type = _TYPES[moves.width * moves.bits]
        self.bases: list[tuple[str, Sequence[int]]] = []

    def place(self, number: int) -> str:
        """Return the vector that an instruction moves."""
        index = (self.moves.addresses[number] // self.moves.width).tolist()
        for name, known in self.bases:
            more, flips = ({f(a, b) for a, b in zip(index, known, strict=True)} for f in (int.__sub__, int.__xor__))
            for some, operator in ((more, "+"), (flips, "^")):
                if len(some) == 1:
                    by = some.pop()
                    return f"{self.name_of()}[{name}]" if not by else f"{self.name_of()}[{_sum(name, operator, by)}]"
        base = f"{self.what}{len(self.bases)}"
        self.head.append(f"    const unsigned {base} = {self.formula(index)};\n")
        self.bases.append((base, index))
        return f"{self.name_of()}[{base}]"

    def name_of(self) -> str:
        return f"(({self.type}*)tile)"

    def formula(self, index: Sequence[int]) -> str:
        count = len(index)
        found = affine(index, self.variable) if count & count - 1 == 0 else None
        if found is not None:
            return found
        step = index[1] - index[0]
        if step >= 0 and all(value == index[0] + step * n for n, value in enumerate(index)):
            times = self.variable if step == 1 else f"{self.variable} * {step}"
            return f"{times} + {index[0]}" if index[0] else times
        table = f"{self.name}_{self.what}{len(self.tables)}"
        entry = "unsigned short" if max(index) < 1 << 16 else "unsigned"
        self.tables.append(f"__constant__ {entry} {table}[{count}] = {{{', '.join(map(str, index))}}};\n")
        return f"{table}[{self.variable}]"

    def condition(self, number: int) -> str:
        """Return in which threads an instruction is carried out, '' for all."""
        on = self.moves.on[number]
        if on.all():
            return ""
        masks = [sum(1 << lane for lane in range(LANES) if row[lane]) for row in on.reshape(-1, LANES)]
        if len(masks) == 1:
            return f"if ({lanes_where(masks[0])}) "
        if len(masks) <= LANES and all(mask in (0, (1 << LANES) - 1) for mask in masks):
            return f"if (0x{sum((mask & 1) << warp for warp, mask in enumerate(masks)):x}u >> thread / 32 & 1) "
        table = f"{self.name}_{self.what}_on{len(self.tables)}"
        values = ", ".join(f"0x{mask:08x}u" for mask in masks)
        self.tables.append(f"__constant__ unsigned {table}[{len(masks)}] = {{{values}}};\n")
        return f"if ({table}[thread / 32] >> thread % 32 & 1) "


def _sum(name: str, operator: str, by: int) -> str:
    return f"{name} - {-by}" if by < 0 else f"{name} {operator} {by}"


def shared_text(plan: SharedPlan, name: str, title: str) -> str:
    """Return a device function that stores the registers x, waits, and loads the registers y."""
    per, halves = max(1, 32 // plan.bits), max(1, plan.bits // 32)

    def words(moves: Moves) -> int:
        return -(-(max(max(some) for some in moves.slots) + 1) // per) * halves

    stores = _Side(plan.stores, plan.warps, name, "put")
    loads = _Side(plan.loads, plan.warps, name, "get")
    held, arranged = _arranged(plan.packing, name, [f"x[{word}]" for word in range(words(plan.stores))], "p")
    put, get = [], []
    for turn, slots in enumerate(plan.stores.slots):
        if not plan.stores.on[turn].any():
            continue
        size = plan.stores.width * plan.bits
        first = slots[0] // per * halves
        if size < 32:
            shift = slots[0] % per * plan.bits
            value = f"({stores.type}){f'({held[first]} >> {shift})' if shift else held[first]}"
        elif size == 32:
            value = held[first]
        else:
            value = f"make_{stores.type}({', '.join(held[word] for word in _words(slots, per, halves))})"
        put.append(f"    {stores.condition(turn)}{stores.place(turn)} = {value};\n")
    parts: dict[int, dict[int, str]] = {}  # of each word what lies at which byte
    for turn, slots in enumerate(plan.loads.slots):
        size = plan.loads.width * plan.bits
        got = f"{'abcdefgh'[turn % 8]}{turn // 8 or ''}"
        on = plan.loads.on[turn]
        if on.all():
            get.append(f"    const {loads.type} {got} = {loads.place(turn)};\n")
        else:
            own = [plan.own[slot // per] * per for slot in slots] if plan.own else []
            kept = ", ".join(f"x[{word}]" for word in _words(own, per, halves))
            kept = f"make_{loads.type}({kept or ', '.join('0' * (size // 32))})" if size > 32 else kept or "0"
            get.append(f"    {loads.type} {got} = {kept};\n")
            if on.any():
                get.append(f"    {loads.condition(turn)}{got} = {loads.place(turn)};\n")
        if size < 32:
            shift = slots[0] % per * plan.bits
            parts.setdefault(slots[0] // per, {})[slots[0] % per * plan.bits // 8] = got
        elif size == 32:
            parts[slots[0] // per * halves] = {0: got}
        else:
            for part, word in zip(_PARTS, _words(slots, per, halves), strict=False):
                parts[word] = {0: f"{got}.{part}"}
    loaded = {word: _joined(some) for word, some in sorted(parts.items())}
    if plan.unpacking is not None:
        texts, more = _arranged(plan.unpacking, name, list(loaded.values()), "q")
        loaded, get = dict(enumerate(texts)), [*get, *more]
    results = [f"    y[{word}] = {text};\n" for word, text in loaded.items()]
    barrier = "__syncwarp" if plan.warps == 1 else "__syncthreads"
    tables = "".join(stores.tables + loads.tables)
    registers = parameters(words(plan.stores), words(plan.loads))
    head = f"__device__ __forceinline__ void {name}({registers}, void* tile) {{\n"
    wait = [f"    {barrier}();\n"] if put else []
    body = [*stores.head, *loads.head, *arranged, *put, *wait, *get, *results]
    return "".join([tables, "\n" * bool(tables), f"// {title}\n", head, numbered(body, plan.warps), *body, "}\n"])


def _arranged(
    network: ExchangeNetwork | None, name: str, inputs: list[str], prefix: str
) -> tuple[list[str], list[str]]:
    """Return what words are called after a network within lanes, and its lines."""
    if network is None:
        return inputs, []
    text = NetworkText(network, name, inputs, prefix)
    lines = text.body()
    assert not text.head, "all lanes do the same"
    return [text.words[n] for n in network.outputs], lines


def _joined(parts: dict[int, str]) -> str:
    """Put parts of a word together, each at its byte."""
    places = sorted(parts)
    text = parts[places[0]]
    for place in places[1:]:
        selector = sum((byte if byte < place else 4 + byte - place) << 4 * byte for byte in range(4))
        text = f"__byte_perm({text}, {parts[place]}, 0x{selector:04x}u)"
    return text


def _words(slots: Sequence[int], per: int, halves: int) -> list[int]:
    """Return the registers of a vector of slots, in its order."""
    return [slot // per * halves + half for slot in slots[::per] for half in range(halves)]
