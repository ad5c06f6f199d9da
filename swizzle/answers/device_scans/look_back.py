"""A scan in one pass, as CUDA C++: each block scans a part, and finds the words of all parts before it by looking back.

A block tells the others the words of its own part, then those of all parts up to it, as soon as it knows them (Merrill
and Garland, Single-pass parallel prefix scan with decoupled look-back, 2016). What a block does with its part is the
text of a kernel that was verified, `linked`; what stands here are the words that blocks hand to each other:

- Parts are numbered in the order in which blocks begin, so that a block waits only for blocks that run or have ended.
- A word is stored before what says that it is there, with a fence between; who reads does it the other way round. Where
  the words of a part are a single one of at most 32 bits, it is stored together with what says so, and needs no fence.
- A warp looks at 32 parts at once. It goes back until it meets one that has told the words of all up to it; what lies
  behind that need not be known.

That the parts which a warp puts together follow each other is proved (`plan.look_back_composition`). That the text does
so is tested: the emulation lets blocks take turns and delays what they store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.c.emitter import c_name, c_names
from cuda_out.c.kernel_text import blanked, closing, kernel_extent
from cuda_out.c.printer import CudaSource
from cuda_out.c.types import C_TYPE
from swizzle.answers.device_scans.kernels import THREADS, TILE, VIEW, Level, PassKernel
from swizzle.answers.emit.emitters import cuda_source
from symbolic.algebra.states import INLINED
from symbolic.ir.functions import WordFunction
from symbolic.ir.program import DType

_LOOK_BACK: Final = """\
/// Returns the words of all parts before one, in lane 0 of the warp that calls it.
INLINED Words words_before(const Board& board, unsigned part) {
  const unsigned lane = threadIdx.x;
  Words found{};
  for (unsigned end = part;; end -= 32) {  // found has the parts from here on
    const bool exists = lane < end;
    const unsigned mine = end - 1 - lane;
    Look look;
    unsigned all, none;
    do {
      look = exists ? board.look(mine) : Look(0);
      all = __ballot_sync(0xffffffffu, kind(look) == ALL);
      none = __ballot_sync(0xffffffffu, kind(look) == 0);
    } while (none & ((all & (0u - all)) - 1));  // until all is told in front of the first lane with ALL
    board.in_order();
    const unsigned last = all ? unsigned(__ffs(int(all))) - 1 : 31;
    Words words{};
    if (lane <= last) words = board.words(mine, look);
    for (unsigned k = 1; k < 32; k *= 2) {
      const Words earlier = from_lane(words, k);
      if (lane + k <= last) words = combined(earlier, words);
    }
    if (lane == 0) found = end < part ? combined(words, found) : words;
    if (all) return found;
  }
}
"""
_FENCED: Final = """\
/// What blocks tell each other: arrays with an element for each part, of which `told` is zero at first.
struct Board {
  volatile unsigned* told;
MEMBERS
  __device__ Look look(unsigned part) const { return told[part]; }
  /// What is read from here on was stored before what the looks have found.
  __device__ void in_order() const { __threadfence(); }
  __device__ Words words(unsigned part, Look look) const {
    Words found;
READS
    return found;
  }
  __device__ void tell(unsigned part, unsigned what, const Words& words) const {
STORES
    __threadfence();
    told[part] = what;
  }
};
"""
_PACKED: Final = """\
/// What blocks tell each other: an element for each part, zero at first, its word below what it is.
struct Board {
  volatile unsigned long long* told;
  __device__ Look look(unsigned part) const { return told[part]; }
  __device__ void in_order() const {}
  __device__ Words words(unsigned, Look look) const {
    const unsigned bits = unsigned(look);
    Words found;
    memcpy(&found, &bits, sizeof bits);
    return found;
  }
  __device__ void tell(unsigned part, unsigned what, const Words& words) const {
    unsigned bits;
    memcpy(&bits, &words, sizeof bits);
    told[part] = (unsigned long long)what << 32 | bits;
  }
};
"""


class LookBack(Struct, frozen=True):
    """The printed kernel of a scan in one pass.

    It takes the arrays of elements and of results, cut to whole parts, and then those that blocks speak through:
    `begun` of one element, and `told`, both zero at first, `handed`, and last, of one element each, the words of all
    parts. `told` and `handed` have an element for each part. `alignment` is that of the arrays of elements and results.
    """

    text: str
    entry: str
    namespace: str
    given: tuple[str, ...]
    made: tuple[str, ...]
    words: tuple[DType, ...]
    packed: bool
    alignment: tuple[int, ...]

    @property
    def told(self) -> DType:
        """The type of what says what a block has told."""
        return DType.U64 if self.packed else DType.U32

    @property
    def handed(self) -> tuple[DType, ...]:
        """The types of the arrays for words, of a part and of all up to it, where these stand by themselves."""
        return () if self.packed else (*self.words, *self.words)

    @property
    def board(self) -> tuple[str, ...]:
        """The names of `told` and of these arrays."""
        return ("told", *(f"{which}{k}" for which in ("own", "all") for k in range(len(self.handed) // 2)))


def look_back_source(kernel: PassKernel, form: Literal["cu", "header"] = "cu", *, backward: bool = False) -> LookBack:
    """Return the kernel that scans all whole parts of an input, made of the one that scans two.

    One that goes `backward` takes the elements from the last one on (`kernels.py`).
    """
    assert kernel.kind == "linked"
    level, source = kernel.level, cuda_source(kernel.program, vectors=not backward)
    words = tuple(level.operator.words.values())
    entry = c_name(f"{level.operator.name}_parts")
    names = c_names([*level.given, *level.made], taken=(*_NAMES, entry))
    given, made = tuple(names[each] for each in level.given), tuple(names[each] for each in level.made)
    aligned = dict(zip((p.name for p in kernel.program.parameters), source.alignment, strict=True))
    alignment = tuple(aligned[each] for each in (*level.given, *level.made))
    packed = len(words) == 1 and words[0].bits == 32
    found = LookBack("", entry, f"swizzle_{entry}", given, made, words, packed, alignment)
    start, _ = kernel_extent(source.text, source.entry)
    opening = f"namespace {source.namespace} {{\n"
    helpers = source.text[source.text.index(opening) + len(opening) : start].strip("\n")
    lines = ["// SPDX-License-Identifier: MIT-0", *(["#pragma once"] if form == "header" else []), ""]
    lines += [f"namespace {found.namespace} {{", "", *([VIEW] if backward else []), *([helpers, ""] if helpers else [])]
    lines += [*_words(level.operator.combine.values, words, packed), _LOOK_BACK.replace("INLINED", INLINED)]
    lines += [*_part(kernel, source, backward), "", *_signature(found, level, form), *_body(found, backward)]
    lines += ["", f"}}  // namespace {found.namespace}", ""]
    return replace(found, text="\n".join(lines))


def _signature(found: LookBack, level: Level, form: Literal["cu", "header"]) -> Iterator[str]:
    """Yield the beginning of the kernel, with its parameters."""
    yield "/// Scans whole parts, one a block. A template only so that several translation units may include it."
    if form == "header":
        yield "template <typename = void>"
    kinds = [C_TYPE[dtype] for dtype in found.words]
    given = zip(found.given, level.given.values(), strict=True)
    declared = [f"const {C_TYPE[dtype]}* __restrict__ {name}" for name, dtype in given]
    made = zip(found.made, level.made.values(), strict=True)
    declared += [f"{C_TYPE[dtype]}* __restrict__ {name}" for name, dtype in made]
    declared += ["unsigned* begun", f"volatile {C_TYPE[found.told]}* told"]
    handed = zip(found.board[1:], found.handed, strict=True)
    declared += [f"volatile {C_TYPE[dtype]}* {name}" for name, dtype in handed]
    declared += [f"{kind}* __restrict__ last{k}" for k, kind in enumerate(kinds)]
    linkage = "" if form == "header" else 'extern "C" '
    yield f"{linkage}__global__ void __launch_bounds__({THREADS}) {found.entry}("
    yield ",\n".join(f"    {each}" for each in declared) + ") {"
    yield "  __shared__ unsigned number;"
    yield from (f"  __shared__ {kind} total{k}[2], before{k}[1];" for k, kind in enumerate(kinds))


def _body(found: LookBack, backward: bool) -> Iterator[str]:
    """Yield what a block does: it scans its part, and between the part's total and the words before it looks back."""
    count = range(len(found.words))
    yield from (
        "  if (threadIdx.x == 0) number = atomicAdd(begun, 1u);  // no block waits for one that has not begun",
        "  __syncthreads();",
        "  const unsigned part = number;",
        "  const int linked = part > 0;",
        f"  const long long at = (long long)(part - linked) * {TILE};",
        f"  const Board board{{{', '.join(found.board)}}};",
    )
    if backward:
        yield f"  const long long last = (long long)gridDim.x * {TILE} - 1 - at;"
    given, made = (
        [f"{{{each} + last}}" if backward else f"{each} + at" for each in some] for some in (found.given, found.made)
    )
    passed = [*given, *(f"before{k}" for k in count), *made, *(f"total{k}" for k in count)]
    yield from (
        f"  scan_part({', '.join(passed)}, linked, [&] {{",
        "    __syncthreads();",
        "    if (threadIdx.x < 32) {",
        f"      const Words own{{{', '.join(f'total{k}[linked]' for k in count)}}};",
        "      Words all = own;",
        "      if (linked) {",
        "        if (threadIdx.x == 0) board.tell(part, OWN, own);",
        "        const Words earlier = words_before(board, part);",
        "        if (threadIdx.x == 0) {",
        "          all = combined(earlier, own);",
        *(f"          before{k}[0] = earlier.w{k};" for k in count),
        "        }",
        "      }",
        "      if (threadIdx.x == 0) {",
        "        board.tell(part, ALL, all);",
        "        if (part + 1 == gridDim.x) {",
        *(f"          last{k}[0] = all.w{k};" for k in count),
        "        }",
        "      }",
        "    }",
        "    __syncthreads();",
        "  });",
        "}",
    )


_NAMES: Final = (
    "begun", "told", "number", "part", "linked", "at", "last", "board", "n", "scratch", "stream", "error", "next",
    "left", "Words", "Look", "Board", "FromTheEnd", "OWN", "ALL", "combined", "from_lane", "words_before", "scan_part",
    "kind", "room", *(f"{each}{k}" for each in ("own", "all", "last", "total", "before") for k in range(64)),
)  # fmt: skip
"""Names of this text, which no array may have."""


def _words(combine: Sequence[object], words: Sequence[DType], packed: bool) -> Iterator[str]:
    """Yield what the look-back needs of an operator: its words together, combined, shuffled, stored and read."""
    count, kinds = range(len(words)), [C_TYPE[dtype] for dtype in words]
    yield "struct Words {\n" + "\n".join(f"  {kind} w{k};" for k, kind in enumerate(kinds)) + "\n};"
    yield f"{INLINED} Words combined(const Words& a, const Words& b) {{"
    arguments = ", ".join(f"{side}.w{k}" for side in "ab" for k in count)
    assert all(isinstance(row, WordFunction) for row in combine)
    values = [f"{row.spelled}({arguments})" for row in combine if isinstance(row, WordFunction)]
    yield f"  return {{{', '.join(values)}}};\n}}"
    yield f"{INLINED} Words from_lane(const Words& words, unsigned further) {{"
    moved = ", ".join(f"__shfl_down_sync(0xffffffffu, words.w{k}, further)" for k in count)
    yield f"  return {{{moved}}};\n}}\n"
    yield "/// What a block has told of its part: the words of its own elements, those of all up to its last."
    yield "constexpr unsigned OWN = 1, ALL = 2;"
    if packed:
        yield "typedef unsigned long long Look;"
        yield f"{INLINED} unsigned kind(Look look) {{ return unsigned(look >> 32); }}\n"
        yield _PACKED
        return
    yield "typedef unsigned Look;"
    yield f"{INLINED} unsigned kind(Look look) {{ return look; }}\n"
    members = [f"  volatile {kind}* {which}{k};" for which in ("own", "all") for k, kind in enumerate(kinds)]
    reads = [f"    found.w{k} = kind(look) == ALL ? all{k}[part] : own{k}[part];" for k in count]
    stores = [f"    (what == ALL ? all{k} : own{k})[part] = words.w{k};" for k in count]
    text = _FENCED
    for mark, some in (("MEMBERS", members), ("READS", reads), ("STORES", stores)):
        text = text.replace(mark, "\n".join(some))
    yield text


def _part(kernel: PassKernel, source: CudaSource, backward: bool) -> Iterator[str]:
    """Yield the verified kernel as a function of a block: `linked` is the block's number in it, 0 or 1, and between its
    total and the words before it, it lets others speak."""
    start, end = kernel_extent(source.text, source.entry)
    body = blanked(source.text)
    opening = body.index("{", closing(body, body.index("(", body.index(f"{source.entry}(", start))))
    inside = source.text[source.text.index("\n", opening) + 1 : end - 1].strip("\n")
    halves = inside.split("__syncthreads();")
    assert len(halves) == 3 and "blockIdx" not in halves[2], "a linked kernel has two barriers"
    inside = "__syncthreads();".join(halves[:2]) + "between();" + halves[2]
    used = set(_identifiers(inside))
    block, between = (next(f"{w}{'_' * k}" for k in range(99) if f"{w}{'_' * k}" not in used) for w in _OWN)
    inside = inside.replace("between();", f"{between}();").replace("blockIdx.x", block)
    assert "blockIdx" not in inside, "a linked kernel has blocks in one row"
    declared = []
    shared = {p.name for p in kernel.program.parameters} - {*kernel.level.given, *kernel.level.made}
    for name, p in zip(source.arguments, kernel.program.parameters, strict=True):
        kind = f"{'const ' * (p.role == 'in')}{C_TYPE[p.dtype]}"
        array = f"{kind}*" if p.name in shared else f"{kind}* __restrict__"
        declared.append(f"    {f'FromTheEnd<{kind}>' if backward and p.name not in shared else array} {name}")
    yield f"/// The kernel {source.name}, which is verified for all inputs, as a function of a block: of the first"
    yield "/// part, or of one behind others."
    yield "template <typename Between>"
    yield f"{INLINED} void scan_part("
    yield ",\n".join(declared) + f",\n    const int {block}, const Between& {between}) {{"
    yield f"{inside}\n}}"


_OWN: Final = ("block", "between")


def _identifiers(text: str) -> Sequence[str]:
    return re.findall(r"[A-Za-z_]\w*", text)
