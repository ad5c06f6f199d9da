"""Edits of a printed text outside its kernel: wrong ones, which a caller or a compiler could notice, and harmless ones.

The texts are only read as words here, by an expression of this module's own. The same seed gives the same edits.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import pairwise

WORD = re.compile(r'//[^\n]*|#[^\n]*|"[^"]*"|\w[\w.]*|<<<|>>>|&&|\|\||[=!<>]=|::|->|\+\+|\S')
Edit = tuple[str, str]
"""What was done, and the text that comes of it."""

STATEMENTS = """
return cudaSuccess;
return cudaErrorInvalidValue;
if (reinterpret_cast<size_t>(stream) > 255) return cudaErrorInvalidValue;
if (reinterpret_cast<size_t>(stream) == 1) return cudaSuccess;
stream = reinterpret_cast<cudaStream_t>(reinterpret_cast<size_t>(stream) & 0xffffffffu);
stream = nullptr;
if (stream == nullptr) stream = cudaStreamPerThread;
if (reinterpret_cast<size_t>(FIRST) < 0x7f0000000000) return cudaSuccess;
if (reinterpret_cast<size_t>(FIRST) % 4 == 2) return cudaErrorMisalignedAddress;
if (!FIRST) return cudaSuccess;
if (SCALAR == 2) return cudaSuccess;
SCALAR = SCALAR + 1;
FIRST = FIRST + 1;
static int calls; if (++calls > 1000) return cudaSuccess;
static bool once = false; if (once) return cudaSuccess; once = true;
cudaDeviceSynchronize();
cudaStreamSynchronize(stream);
if (cudaGetLastError() != cudaSuccess) return cudaSuccess;
cudaMemsetAsync(const_cast<void*>(static_cast<const void*>(FIRST)), 0, 4, stream);
for (int each = 0; each < 2; ++each)
if (0)
do {} while (false); return cudaSuccess;
goto end; end:
{ using cudaStream_t = int; }
enum { cudaErrorInvalidValue = 0 };
const auto cudaGetLastError = [] { return cudaSuccess; };
struct dim3 { unsigned x, y, z; dim3(unsigned a, unsigned b, unsigned c) : x(a / 2), y(b), z(c) {} };
throw 1;
asm volatile("");
;
if (getenv("SKIP")) return cudaSuccess;
[&] { stream = nullptr; }();
try {} catch (...) {}
""".strip().splitlines()
DECLARATIONS = """
#define launch_ENTRY launch_other
#define cudaSuccess cudaErrorUnknown
#define dim3(a, b, c) dim3(b, a, c)
#define __shfl_sync(mask, value, lane) (value)
#define float double
#undef cudaGetLastError
#pragma pack(1)
#pragma once
#include <cstdlib>
#include "mine.h"
#error no
#if 1
#ifdef __CUDACC__
#line 7
# 7 "other.cu"
_Pragma("once")
inline cudaError_t launch_ENTRY(int n) { return cudaSuccess; }
inline cudaError_t launch_ENTRY(const float*, float*, int, cudaStream_t = nullptr) { return cudaSuccess; }
template <typename... T> inline cudaError_t launch_ENTRY(T...) { return cudaSuccess; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
struct dim3 { unsigned x, y, z; dim3(unsigned, unsigned, unsigned) {} };
typedef int cudaStream_t;
using cudaError_t = int;
using namespace std;
enum { cudaErrorInvalidConfiguration };
static int seen = 0;
static int started = system("true");
int before_main = [] { return 1; }();
namespace { struct AtStart { AtStart() {} } at_start; }
__device__ int cell;
__managed__ int shared_cell;
__constant__ float more[3];
__device__ float helper(float a) { return a; }
__host__ __device__ int both() { return 0; }
extern "C" int open(const char*, int, ...);
extern "C" {
}
asm(".global");
static_assert(sizeof(long) == 8, "");
template <int n> struct Other {};
namespace other {}
inline namespace other {}
}  namespace swizzle_other {
__attribute__((constructor)) static void at_start() {}
[[maybe_unused]] static int unused;
alignas(16)
extern
inline
static
volatile
int
;
0
R"(
/*
*/
"
'
\\
@
$
é
`
""".strip().splitlines()
PATTERNS = (
    ("handles are cut", r"\bstream>>>", "cudaStream_t(size_t(unsigned(size_t(stream))))>>>"),
    ("the default stream", r"\bstream>>>", "0>>>"),
    ("no stream", r", stream>>>", ">>>"),
    ("another default", r"stream = nullptr", "stream = cudaStreamLegacy"),
    ("no default", r" stream = nullptr", " stream"),
    ("an error is swallowed", r"return cudaGetLastError\(\)", "return cudaGetLastError(), cudaSuccess"),
    ("an error stays", r"cudaGetLastError", "cudaPeekAtLastError"),
    ("one error only", r"cudaGetLastError\(\)", "cudaGetLastError() == cudaErrorUnknown ? cudaErrorUnknown : allowed"),
    ("shared memory", r", (\d+), stream", r", \1 + 1024, stream"),
    ("a block of one thread", r"dim3\(\d+, ", "dim3(1, "),
    ("a block turned", r"dim3\((\d+), (\d+), 1\), (\d+)", r"dim3(\2, 1, \1), \3"),
    ("a grid turned", r"<<<dim3\(([^,]*), ([^,]*), ", r"<<<dim3(\2, \1, "),
    ("another grid", r"<<<dim3\(", "<<<dim3(1 + "),
    ("a grid of one number", r"<<<dim3\(([^,]*), 1, 1\)", r"<<<\1"),
    ("other rounding", r" - 1\) / (\d+) \+ 1", r") / \1"),
    ("a narrow number", r"const long long blocks", "const int blocks"),
    ("a wide number", r"\bunsigned\(blocks_x\)", "int(blocks_x)"),
    ("a sign", r"< 0", "<= 0"),
    ("a hexadecimal number", r"\b2147483647\b", "0x7ffffffe"),
    ("the lengths are taken as int", r"long long (n\w*)(?=[,)]|, cuda)", r"int \1"),
    ("an error for another", r"cudaErrorInvalidValue", "cudaErrorInvalidConfiguration"),
    ("success for an error", r"return cudaError\w+;", "return cudaSuccess;"),
    ("an error for success", r"return cudaSuccess;", "return cudaErrorUnknown;"),
    ("arguments turned", r">>>\((\w+), (\w+)", r">>>(\2, \1"),
    ("an argument moved", r">>>\((\w+)", r">>>(\1 + 1"),
    ("a cast", r">>>\((\w+)", r">>>((decltype(\1))\1"),
    ("another argument", r", (\w+)\);(?=\n  return cuda)", r", \1 - 1);"),
    ("static", r"inline cudaError_t", "static cudaError_t"),
    ("weak", r"inline cudaError_t", "__attribute__((weak)) cudaError_t"),
    ("another result", r"inline cudaError_t", "inline int"),
    ("no inline", r"inline (cudaError_t)", r"\1"),
    ("another name", r"cudaError_t launch_", "cudaError_t start_"),
    ("another namespace", r"\nnamespace swizzle_", "\nnamespace other_"),
    ("an unnamed namespace", r"\nnamespace \w+ \{", "\nnamespace {"),
    ("C++ linkage", r'extern "C" ', ""),
    ("linkage of C++", r'"C"', '"C++"'),
    ("a static kernel", r"__global__", "static __global__"),
    ("a cluster", r"\) (\w+)\(\n", r") __cluster_dims__(2) \1(\n"),
    ("the guard is turned", r"#if defined\(__CUDACC__\) &&", "#if !defined(__CUDACC__) &&"),
    ("the guard is open", r"#if defined[^\n]*", "#if 1"),
    ("the guard is shut", r"#if defined[^\n]*", "#if 0"),
    ("another branch", r"#endif", "#else\nint other;\n#endif"),
    ("a line goes on", r"(///[^\n]*)\n", "\\1 \\\\\n"),
    ("a blank that is no blank of C++", r"return cuda", "return\u00a0cuda"),
    ("a directive with such a blank", r"#(if|endif|pragma) ?", "#\\1\u2003"),
    ("a return is alone", r"\n(inline cudaError_t)", "\r\\1"),
    ("a comment takes a line", r"\n(  if \([^\n]*)", r"\n  // \1"),
    ("a comment takes some", r"(\n  (?:if|const)[^\n]*\n)", r"\n/*\1*/"),
    ("twice included", r"#pragma once\n", ""),
    ("another header", r"#include <cuda_fp16.h>", "#include <cuda_fp8.h>"),
    ("the other halves", r"#include <cuda_fp16.h>", "#include <cuda_bf16.h>"),
    ("known is true", r"return condition; \}", "return true; }"),
    ("known is false", r"return condition; \}", "return !condition; }"),
    ("a helper turned", r"a < b \? b : a", "b < a ? b : a"),
    ("a helper of one value", r"condition \? then : otherwise", "then"),
    ("a table's number", r"= \{(\d+),", r"= {1 + \1,"),
    ("a table's type", r"static __constant__ const", "static __device__"),
    ("a structure's size", r"at\[(\d+)\];", r"at[\1 + 1];"),
    ("a structure's type", r"(\w+) at\[", r"const \1 at["),
    ("a structure by value", r"(const \w+)& (\w+),", r"\1 \2,"),
    ("another template", r"typename = void", "typename = int"),
    ("no template", r"template <typename = void>\n", ""),
    ("a plain kernel", r"template <typename = void>", 'extern "C"'),
    ("another instance", r"<><<<", "<int><<<"),
    ("no instance", r"<><<<", "<<<"),
    ("less shared memory", r"(MaxDynamicSharedMemorySize, )", r"\1-1 + "),
    ("not allowed", r"if \(allowed != cudaSuccess\) return allowed;", ""),
    ("alignment", r"% (\d+) != 0\)", r"% \1 == 1)"),
    ("aligned enough", r"% (\d+) != 0\) return cudaErrorMis", r"% (\1 / 2) != 0) return cudaErrorMis"),
)  # fmt: skip
SIMILAR = {
    "==": "!=", "!=": "==", "<": "<=", ">": ">=", "||": "&&", "&&": "||", "+": "-", "-": "+", "/": "*", "%": "/",
    "true": "false", "int": "long", "float": "double", "const": "constexpr", "if": "while", "return": "throw",
    "inline": "static", "{": "{ {", "}": "} }", ";": ";;", "(": "((", ")": "))", ",": ", ,", "*": "&",
    "cudaSuccess": "cudaErrorUnknown", "nullptr": "0", "long": "short", "unsigned": "int", "class": "typename",
}  # fmt: skip


def entry_of(text: str) -> str:
    found = re.search(r"__global__ void __launch_bounds__\([^)]*\) (\w+)\(", text)
    assert found is not None
    return found[1]


def split(text: str) -> tuple[str, str, str]:
    """Return what stands before a kernel's `__global__`, the kernel, and what follows it."""
    start = text.index("__global__")
    end = text.index("\n}\n", start) + 3
    return text[:start], text[start:end], text[end:]


def wrong_edits(text: str, seed: int = 0, most: int | None = None) -> Iterator[Edit]:
    """Yield wrong edits of a text, in either form; at most so many of each family."""
    rng = random.Random(seed)
    for family in (_patterns, _words, _statements, _declarations, _names):
        found = list(dict.fromkeys(each for each in family(text) if each[1] != text))
        yield from found if most is None or len(found) <= most else rng.sample(found, most)


def _patterns(text: str) -> Iterator[Edit]:
    before, kernel, after = split(text)
    body = range(len(before) + kernel.index("(\n"), len(text) - len(after))
    for kind, old, new in PATTERNS:
        for place in re.finditer(old, text):
            if place.start() not in body:
                yield f"{kind} at {place.start()}", text[: place.start()] + place.expand(new) + text[place.end() :]


def _words(text: str) -> Iterator[Edit]:
    """Each word deleted, doubled, exchanged with the next one, or another one like it."""
    before, kernel, after = split(text)
    for part, first, last in ((before, "", kernel + after), (after, before + kernel, "")):
        words = [word for word in WORD.finditer(part) if not word[0].startswith("//")]
        for word, following in pairwise(words):
            a, b = word[0], following[0]

            def made(new: str, start: int = word.start(), end: int = word.end(), part: str = part) -> str:
                return first + part[:start] + new + part[end:] + last  # noqa: B023

            at = f"{a} at {len(first) + word.start()}"
            yield f"without {at}", made(" ")
            if not a.startswith("#"):
                yield f"twice {at}", made(f"{a} {a}")
                if a != b and not b.startswith("#"):
                    yield f"exchanged {at}", made(f"{b} {a}", end=following.end())
            if a in SIMILAR:
                yield f"another {at}", made(SIMILAR[a])
            if a.isdigit():
                yield f"one more {at}", made(str(int(a) + 1))
                yield f"octal {at}", made(f"0{a}1")
                yield f"a suffix {at}", made(f"{a}u")


def _statements(text: str) -> Iterator[Edit]:
    """A statement before each of the host function's."""
    _, _, after = split(text)
    start = len(text) - len(after) + after.index(") {") + 3
    first = re.search(r"\* (\w+)[,)]", after) or re.search(r"& (\w+)[,)]", after)
    assert first is not None
    number = re.search(r"[(,] (?:float|double|int|unsigned|__half) (\w+)[,)]", after) or first
    ends = [
        start,
        *(place.end() for place in re.finditer(";(?=\n)", text[: text.rindex("#endif")]) if place.end() > start),
    ]
    for statement in STATEMENTS:
        for end in ends:
            new = statement.replace("FIRST", first[1]).replace("SCALAR", number[1])
            yield f"{new} at {end}", f"{text[:end]}\n  {new}{text[end:]}"


def _declarations(text: str) -> Iterator[Edit]:
    """A declaration, directive or stray word at each place between what the file declares."""
    kernel = range(len(split(text)[0]), len(text) - len(split(text)[2]))
    lines = [place.start() for place in re.finditer(r"(?<=\n)(?=[^\s/])|\Z", text) if place.start() not in kernel]
    for declaration in DECLARATIONS:
        for at in lines:
            new = declaration.replace("ENTRY", entry_of(text))
            if new == "inline" and text.startswith("inline", at):
                continue  # said twice
            yield f"{new} at {at}", f"{text[:at]}{new}\n{text[at:]}"


def _host(text: str) -> tuple[str, str, str]:
    start = text.index("inline cudaError_t launch_") + len("inline cudaError_t launch_")
    return text[:start], text[start : text.rindex("#endif")], text[text.rindex("#endif") :]


def locals_of(host: str) -> list[str]:
    """Return the parameters and variables of a printed host function."""
    head, body = host[: host.index(") {")], host[host.index(") {") :]
    declared = re.findall(r"(\w+)(?=,|$| = nullptr)", head)
    return [name for name in declared if name not in ("nullptr",)] + re.findall(r"const \w+(?: long)? (\w+) =", body)


def _names(text: str) -> Iterator[Edit]:
    """Names of the host function changed so that they mean something else, or in some places only."""
    before, host, after = _host(text)
    own = locals_of(host)
    others = [entry_of(text), "cudaSuccess", "cudaGetLastError", "dim3", "unsigned", "NULL", "errno", "linux", "size_t",
              "if", "stdin", "cudaStreamPerThread", "__x", "M_PI", "INT_MAX", "float4", "assert", "x.y"]  # fmt: skip
    for name in own:
        places = [place.span() for place in re.finditer(rf"\b{name}\b", host)]
        for new in [*own, *others]:
            if new != name:
                yield f"{name} is {new}", before + re.sub(rf"\b{name}\b", new, host) + after
        for start, end in places if len(places) > 1 else ():
            for new in (*own, "fresh"):
                if new != name:
                    yield f"{name} is {new} at {start}", before + host[:start] + new + host[end:] + after


SPACES = (" ", "\n", "\t", " // a note\n", " /* a note */ ", "\n\n  ", "  /* a\n   longer one */\n", "\r\n")
FRESH = ("input", "result", "queue", "size", "many", "count_2", "a", "Weights", "howMany", "per_block")


def harmless_edits(text: str, seed: int = 0, most: int = 60) -> Iterator[Edit]:
    """Yield so many edits that change nothing: comments, spaces, names of what is local, and several of them."""
    rng = random.Random(seed)
    for number in range(most):
        edited, kinds = text, []
        for kind in sorted(rng.sample(list(HARMLESS), 1 + number % 3), key=list(HARMLESS).index):
            edited = HARMLESS[kind](edited, rng)
            kinds.append(kind)
        yield ", ".join(kinds), edited


def _spaced(text: str, rng: random.Random) -> str:
    """Put a space or comment before some words, where lines do not matter."""
    words = [word for word in WORD.finditer(text) if not word[0].startswith(("//", "#"))]
    for word in sorted(rng.sample(words, min(len(words), 12)), key=re.Match.start, reverse=True):
        text = text[: word.start()] + rng.choice(SPACES) + text[word.start() :]
    return text


def _closer(text: str, rng: random.Random) -> str:
    """Take spaces away around operators."""
    after = text[text.rindex("#if defined") :]
    return text[: -len(after)] + re.sub(r" ?(\|\||==|!=|[=+%?:{}*]) ?", r"\1", after)


def _without_comments(text: str, rng: random.Random) -> str:
    return re.sub(r"[ \t]*//[^\n]*", "", text)


def _in_a_line(text: str, rng: random.Random) -> str:
    """Write the host function on one line."""
    before, host, after = _host(_without_comments(text, rng))
    return before + " ".join(host.split()) + "\n" + after


def _windows(text: str, rng: random.Random) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _renamed(text: str, rng: random.Random) -> str:
    """Give one of the host function's names another spelling."""
    before, host, after = _host(text)
    name = rng.choice(locals_of(host))
    fresh = rng.choice([each for each in FRESH if not re.search(rf"\b{each}\b", text)])
    return before + re.sub(rf"\b{name}\b", fresh, host) + after


def _exchanged(text: str, rng: random.Random) -> str:
    """Let two parameters have each other's name, everywhere."""
    before, host, after = _host(text)
    a, b = [name for name in locals_of(host) if name not in ("stream", "allowed")][:2]
    return before + re.sub(rf"\b({a}|{b})\b", lambda found: b if found[0] == a else a, host) + after


HARMLESS = {
    "a name": _renamed, "names exchanged": _exchanged, "no comments": _without_comments, "one line": _in_a_line,
    "fewer spaces": _closer, "spaces": _spaced, "returns": _windows,
}  # fmt: skip
"""In an order in which each finds what it looks for."""
