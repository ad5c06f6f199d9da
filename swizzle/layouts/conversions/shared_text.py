"""A conversion through shared memory as a CUDA device function: stores, a barrier, loads."""

from __future__ import annotations

from collections.abc import Sequence

from swizzle.layouts.conversions.network import ExchangeNetwork
from swizzle.layouts.conversions.shared import Moves, SharedPlan
from swizzle.layouts.conversions.text import NetworkText, affine, lanes_where, numbered, parameters
from symbolic.ir.program import LANES

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
    for number, slots in enumerate(plan.stores.slots):
        if not plan.stores.on[number].any():
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
        put.append(f"    {stores.condition(number)}{stores.place(number)} = {value};\n")
    parts: dict[int, dict[int, str]] = {}  # of each word what lies at which byte
    for number, slots in enumerate(plan.loads.slots):
        size = plan.loads.width * plan.bits
        got = f"{'abcdefgh'[number % 8]}{number // 8 or ''}"
        on = plan.loads.on[number]
        if on.all():
            get.append(f"    const {loads.type} {got} = {loads.place(number)};\n")
        else:
            own = [plan.own[slot // per] * per for slot in slots] if plan.own else []
            kept = ", ".join(f"x[{word}]" for word in _words(own, per, halves))
            kept = f"make_{loads.type}({kept or ', '.join('0' * (size // 32))})" if size > 32 else kept or "0"
            get.append(f"    {loads.type} {got} = {kept};\n")
            if on.any():
                get.append(f"    {loads.condition(number)}{got} = {loads.place(number)};\n")
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
