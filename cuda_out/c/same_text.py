"""Where a text is another one than the printed one, up to the names of what is local, spaces and comments.

What of an edited text is not proved must be what is printed. Texts are compared token by token. Within a function a
parameter or variable may have another name, everywhere the same, if nothing else is called so: not another variable,
nor anything that the function or the file uses, nor what may be a macro, a type or a function wherever it is compiled.

A text is compiled, validated and run as the compilers of this machine read it. What another one reads, or what is read
for an architecture that was not tried, must be the same, so a text may have none of what the printer never makes: no
directives but its own, nothing that becomes a name or a line only when it is read, no names of the compilers' own, no
type that another host has with other bits or signs, no words that another standard of C++ has.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from cuda_out.c.emitter import C_LIBRARY, CUDA_NAMES, KEYWORDS
from cuda_out.c.kernel_text import CudaToken, NoKernel, kernel_extent, tokens

_MEMBER: Final = (".", "->", "::")
_TYPE: Final = re.compile(r"auto|bool|char|double|float|int|long|short|signed|unsigned|void")
_WORD: Final = re.compile(r"\S+", re.ASCII)
_AFTER_A_NAME: Final = ("=", ";", ",", ")", "[", "{", ":")
_OPENING: Final = ("(", "[", "{")
_CLOSING: Final = (")", "]", "}")
_TAKEN: Final = re.compile(
    r"""[^a-z]* | _.* | .*__.* | .*_t | cu(da)?(_\w*|[A-Z]\w*)? | (nv|pthread|sched|atomic|make|tex|surf)_?\w*
    | (s6|sa|si|sigev|st|va)_\w* | (u?(char|short|int|long|longlong)|float|double)[1-4]? | half2? | dim3 | alloca
    | (chx|cmb|ctl|edt|frm|grp|ico|lst|psh|rad|rct|scr|stc)[0-9]+ | assert_perror | cdecl | emit | environ | far
    | foreach | forever | huge | hyper | import | interface | major | makedev | math_errhandling | minor | module | near
    | offsetof | pascal | restrict | setjmp | sigmask | signals | sigsetjmp | slots | small | std | strn?dupa | typeof
    | Always | Bool | Complex | False | None | Status | Success | True""",
    re.VERBOSE,
)
"""What macros, types and functions of CUDA, C libraries, Windows, Qt and X11 are called, beside those that printed
names avoid."""


class TextDifference(Struct, frozen=True):
    """What stands at a place of a text, and what is printed there; '' for nothing."""

    line: int
    column: int
    found: str
    printed: str


class _Function(Struct, frozen=True):
    """A function of a text: the tokens from its parameters to the end of its body, and what it calls its own."""

    start: int
    stop: int
    own: frozenset[str]
    others: frozenset[str]


def difference(text: str, printed: str, entry: str, *, kernel: bool = False) -> TextDifference | None:
    """Return the first place at which a text is another one than the printed one, None for nowhere.

    What stands between `__global__` and the end of the kernel's body may be anything, unless the `kernel` is compared.
    The text is one that is the same for every compiler (`cuda_out.c.same_text`): its brackets are what they seem.
    """
    mine, yours = list(tokens(text)), list(tokens(printed))
    if not kernel:
        mine, yours = (_without_kernel(every, entry) for every in (mine, yours))
    functions = {at: function for function in _functions(yours) for at in range(function.start, function.stop)}
    outside = frozenset(each.text for at, each in enumerate(yours) if at not in functions)
    renamed: dict[int, dict[str, str]] = {}
    for at, (a, b) in enumerate(zip(mine, yours, strict=False)):
        function = functions.get(at)
        if a.kind == b.kind == "name" and function and b.text in function.own and yours[at - 1].text not in _MEMBER:
            names = renamed.setdefault(function.start, {})
            if b.text not in names:
                used = outside | function.others | frozenset(names.values())
                if a.text in used or (a.text != b.text and _may_be_taken(a.text)):
                    return _difference(text, a, b)
                names[b.text] = a.text
            if names[b.text] != a.text:
                return _difference(text, a, b)
        elif _spelled(a) != _spelled(b):
            return _difference(text, a, b)
    if len(mine) == len(yours):
        return None
    same = min(len(mine), len(yours))
    return _difference(text, *(every[same] if same < len(every) else None for every in (mine, yours)))


def kernel_of(every: Sequence[CudaToken], entry: str) -> Sequence[CudaToken]:
    """Return the tokens of a kernel's definition, from `__global__` on."""
    return every[slice(*_kernel(every, entry))]


def _without_kernel(every: Sequence[CudaToken], entry: str) -> list[CudaToken]:
    start, stop = _kernel(every, entry)
    return [*every[:start], CudaToken("other", "a kernel", every[start].at), *every[stop:]]


def _kernel(every: Sequence[CudaToken], entry: str) -> tuple[int, int]:
    """Return the places of a kernel's `__global__` and of what follows its body."""
    words = [each.text for each in every]
    for start in (at for at, word in enumerate(words) if word == "__global__"):
        at = start + 2
        if words[at : at + 2] == ["__launch_bounds__", "("]:
            at = _closing(every, at + 1) + 1
        if words[start + 1 : start + 2] == ["void"] and words[at : at + 2] == [entry, "("]:
            body = _closing(every, at + 1) + 1
            if words[body : body + 1] == ["{"]:
                return start, _closing(every, body) + 1
    raise NoKernel(f"a kernel {entry}")


def _closing(every: Sequence[CudaToken], at: int) -> int:
    """Return the place of the bracket that closes the one at a place."""
    depth = 0
    for place in range(at, len(every)):
        word = every[place].text if every[place].kind == "operator" else ""
        depth += (word in _OPENING) - (word in _CLOSING)
        if depth == 0:
            return place
    raise NoKernel("an end of its brackets")


def _functions(every: Sequence[CudaToken]) -> Iterator[_Function]:
    """Yield the functions that are defined in a printed text."""
    at = 0
    while at < len(every):
        if every[at].text != "(":
            at += 1
            continue
        body = _closing(every, at) + 1
        start, at = at, body
        if every[body : body + 1] and every[body].text == "const":
            body += 1
        if every[body : body + 1] and every[body].text == "{":
            at = _closing(every, body) + 1
            inside = every[start:at]
            own = frozenset(_declared(inside, body - start))
            names = (each for n, each in enumerate(inside) if each.kind == "name" and inside[n - 1].text not in _MEMBER)
            yield _Function(start, at, own, frozenset(each.text for each in names) - own)


def _declared(inside: Sequence[CudaToken], body: int) -> Iterator[str]:
    """Yield the names of a function's parameters and variables. Where two names follow each other the second one is
    declared, unless the first one is a word of the language that is no type."""
    external = False
    for at in range(1, len(inside) - 1):
        before, name, after = inside[at - 1].text, inside[at], inside[at + 1].text
        external = before == "extern" or (external and before != ";")
        if name.kind != "name" or name.text in KEYWORDS or after not in _AFTER_A_NAME or external:
            continue
        typed = inside[at - 1].kind == "name" and (before not in KEYWORDS or _TYPE.fullmatch(before))
        pointer = before in ("*", "&") and (at < body or _TYPE.fullmatch(inside[at - 2].text))
        if typed or pointer:
            yield name.text


def _may_be_taken(name: str) -> bool:
    return name in KEYWORDS | CUDA_NAMES | C_LIBRARY or _TAKEN.fullmatch(name) is not None


def _spelled(token: CudaToken) -> str:
    """Return a token's text, with single blanks in a directive; other blanks than those of ASCII stay."""
    return " ".join(_WORD.findall(token.text)) if token.kind == "directive" else token.text


def _difference(text: str, found: CudaToken | None, printed: CudaToken | None) -> TextDifference:
    before = text[: len(text) if found is None else found.at]
    words = (each.text if each is not None else "" for each in (found, printed))
    return TextDifference(before.count("\n") + 1, len(before) - before.rfind("\n"), *words)


_GUARD: Final = "if defined(__CUDACC__) && !defined(__CUDACC_RTC__)"
_PLAIN: Final = re.compile(r"pragma once|pragma unroll(\s*\(?\s*\d+\s*\)?)?|include <cuda_(fp16|bf16)\.h>", re.ASCII)
_GPU_CODE: Final = ("__global__", "__device__", "__constant__", "__shared__")
_RESERVED: Final = re.compile(r"__|_[A-Z]")
_CUDA: Final = re.compile(
    r"""__(?:
      (?:global|device|host|shared|constant|restrict|forceinline|noinline|launch_bounds|align|maxnreg)__ | restrict
    | (?:shfl(?:_up|_down|_xor)?|any|all|ballot|match_any|match_all|reduce_(?:add|min|max|and|or|xor))_sync
    | activemask | syncwarp | syncthreads(?:_count|_and|_or)? | threadfence(?:_block|_system)? | nanosleep
    | ld(?:g|ca|cg|cs|cv|lu) | st(?:cg|cs|wb|wt) | dp4a | dp2a_(?:lo|hi) | cvta_\w+ | pipeline_\w+
    | u?(?:mul24|mulhi|mul64hi|hadd|rhadd|sad) | (?:ffs|popc|clz|brev)(?:ll)? | fns | byte_perm | funnelshift_[lr]c?
    | [fd](?:add|sub|mul|div|rcp|rsqrt|sqrt)_r[nzdu] | fmaf?(?:_ieee)?_r[nzdu] | fdividef | saturatef
    | (?:exp|exp10|log|log2|log10|pow|sin|cos|sincos|tan|tanh)f
    | (?:double|float|half|int|uint|ll|ull|short|ushort|char|uchar|longlong|hiloint|bfloat16|nv_bfloat16)\w*(?<!__)
    | (?:low|high|lows|highs|halves|floats)2\w* | h(?!as_)\w+(?<!__)
    | v(?:abs|add|avg|cmp|hadd|max|min|neg|sad|set|sub|i)\w*(?<!__)
    )""",
    re.VERBOSE,
)
"""What of the names that are reserved CUDA documents for kernels."""
_MACRO: Final = re.compile(
    r"NULL|EOF|NAN|INFINITY|S?NAN[FL]?\w*|HUGE_VAL\w*|MAXFLOAT|BUFSIZ|[A-Z_]+_(?:MAX|MIN|BIT|WIDTH)|M_[A-Z0-9_]+\w*"
    r"|FP_[A-Z]\w*|(?:BIG_|LITTLE_|PDP_)ENDIAN|BYTE_ORDER|assert\w*|offsetof|alloca|errno|std(?:in|out|err)|linux|unix"
    r"|i386|math_errhandling|CUDART?_\w+|NV_\w+|if_target"
    r"|environ|far|huge|hyper|interface|major|makedev|minor|near|pascal|restrict|sigmask|small|typeof"
)
_OF_THE_HOST: Final = re.compile(
    r"wchar_t|wint_t|u?long[1-4]?|u?long4_(?:16|32)a|make_u?long[1-4]\w*|u?int_fast(?:16|32)_t|(?:clock|time|off)_t"
)
_LATER_WORDS: Final = re.compile(
    r"char8_t|concept|consteval|constinit|co_await|co_return|co_yield|import|module|requires"
)
_TAKES_STRINGS: Final = ("asm", "volatile", "static_assert")
_DIGRAPHS: Final = ("<:", ":>", "<%", "%>", "%:")
_TRIGRAPH: Final = re.compile(r"\?\?[=/'()!<>-]")
_GOES_ON: Final = re.compile(r"(?:\\|\?\?/)[ \t\r\f\v]*(?:\n|\Z)")
_REST: Final = re.compile(r"(?:[ \t\r]|/\*(?:(?!\*/)[^\n])*\*/)*(?://[^\n]*)?(?:\n|\Z)")
"""What may stand behind a directive on its line."""
_ONE_LINE: Final = "write what belongs together on one line, and no backslash at its end"
_END: Final = CudaToken("other", "", -1)
_LEFT_OUT: Final = "leave the condition out, or check each variant as a file of its own"
_SAME_TYPE: Final = "write a type that is the same for all, such as long long or signed char, or a plain number"


class Directive(Struct, frozen=True):
    """What stands at a place of a text, why it may mean something else elsewhere, and what to write instead."""

    line: int
    column: int
    words: str
    why: str
    fix: str = _LEFT_OUT


def asks_for_its_reader(text: str, entry: str, printed: str = "") -> Directive | None:
    """Return the first words of a text by which it may be another text for another compiler, None for none.

    The host function, behind the kernel, stands between `#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)` and
    `#endif`. Names of the `printed` text are right even where they look like macros. Types are asked for in the kernel:
    what is around it is compared with the printed text, word by word.
    """
    return lines_that_go_on(text) or _hidden_function(text) or _unlike_printed(text, entry, printed)


def lines_that_go_on(text: str) -> Directive | None:
    """Return what of a text would be on another line for another reader, in comments as well, None for nothing."""
    found = [(match.start(), "a backslash at the end of a line, which joins it to the next one", _ONE_LINE)
             for match in _GOES_ON.finditer(text)][:1]  # fmt: skip
    for at, character in enumerate(text):
        if character.isprintable() or character in "\n\t" or text.startswith("\r\n", at):
            continue
        if unicodedata.category(character) != "Zs":  # a wide blank is seen
            why = "a control character, which not every compiler passes over"
            found.append((at, why, "write the line without it: lines end with a line feed"))
            break
    if not found:
        return None
    at, why, fix = min(found)
    return _at(text, at, "\\" if text[at] in "\\?" else f"U+{ord(text[at]):04X}", why, fix)


def _hidden_function(text: str) -> Directive | None:
    """Return a comment in which a function may begin: what follows it would be left out of what is validated
    (`cuda_out.compile.opaque`), and be compiled elsewhere."""
    for token in tokens(text, comments=True):
        if token.text.startswith("/*") and "__device__" in token.text:
            return _at(text, token.at, "/*", "a comment in which a function may begin", "leave out what it holds")
    return None


def _unlike_printed(text: str, entry: str, printed: str) -> Directive | None:
    """Return the first token of a text that the printer never makes, and that compilers may read in several ways."""
    known = {token.text for token in tokens(printed) if token.kind == "name"}
    (kernel_start, kernel_end), inside = kernel_extent(text, entry), False
    for token, following in pairwise([*tokens(text), _END]):
        if token.kind == "directive":
            said = _spelled(token).replace("%:", "#").lstrip("# ")
            alone = _REST.match(text, token.end) is not None
            if alone and said == _GUARD and not inside and token.at > kernel_end:
                inside = True
            elif alone and said == "endif" and inside:
                inside = False
            elif inside or not alone or not _PLAIN.fullmatch(said):
                where = "in the host function" if inside else "where one compiler may read another text than the next"
                return _at(text, token.at, f"#{said}", f"a directive {where}")
        elif asked := _asked(token, following, known):
            return _at(text, token.at, token.text[:40], *asked)
        elif inside and token.text in _GPU_CODE:
            return _at(text, token.at, token.text, "code for the GPU that NVRTC does not see")
    host_types = {words for words, _ in _host_types(printed)}
    for words, token in _host_types(text):
        if words not in host_types and kernel_start <= token.at < kernel_end:
            why = "whose type another host has with other bits or another sign"
            return _at(text, token.at, token.text[:40], why, _SAME_TYPE)
    return None


def _host_types(text: str) -> Iterator[tuple[tuple[str, str, str], CudaToken]]:
    """Yield what of a text has a type of the host, each with the words around it: `long` has 32 bits for some, `char`
    is signed for some. Characters and strings are of that type, but for what is said to a compiler."""
    every, takes_strings = [_END, *tokens(text), _END], [False]
    for before, token, after in zip(every, every[1:], every[2:], strict=False):
        around = (before.text, after.text)
        match token.kind:
            case "name" if token.text == "char":
                found = not {"signed", "unsigned"} & {*around}
            case "name" if token.text == "long":
                found = "long" not in around
            case "name":
                found = _OF_THE_HOST.fullmatch(token.text) is not None
            case "number":
                suffix = token.text.rstrip("uU")[-2:].lower()
                found = suffix[-1:] == "l" and suffix != "ll"
            case "string":
                found = before.text != "extern" and not takes_strings[-1]
            case other:
                found = other == "character"
        if token.text == "(":
            takes_strings.append(before.text in _TAKES_STRINGS)
        elif token.text == ")" and takes_strings[1:]:
            takes_strings.pop()
        if found:
            yield (before.text, token.text, after.text), token


def _asked(token: CudaToken, following: CudaToken, known: set[str]) -> tuple[str, str] | None:
    """Say why a token may be another one for another compiler, and perhaps what to write instead."""
    touches = following.at == token.end
    match token.kind:
        case "name" if _RESERVED.match(token.text) and not _CUDA.fullmatch(token.text):
            return "a name that compilers define, each in its way", _LEFT_OUT
        case "name" if _LATER_WORDS.fullmatch(token.text) and token.text not in known:
            return "a word that means something else in C++20", "write another name"
        case "name" if _MACRO.fullmatch(token.text) and token.text not in known:
            return "a macro that one compiler may have and another not", "write what it stands for"
        case "name" if touches and following.kind in ("string", "character"):
            return "a raw string, in which a directive may hide", "write a plain string"
        case "operator" if token.text in ("#", "##"):
            return "part of a directive, on a line that is none", "leave it out"
        case "operator" if token.text in _DIGRAPHS:
            return "another spelling of a bracket, or of a directive", "write [ ] { } or #, or a blank between the two"
        case "operator" if token.text == "?" and touches and following.text[:1] == "?":
            return "which may begin a trigraph", "write a blank between the two"
        case "string" | "character" if _TRIGRAPH.search(token.text):
            return "in which a trigraph is", "leave it out"
        case "other" if token.text == "\\":
            return "a character of a name by its number, or a line that goes on", "write names in ASCII"
        case "other":
            return "what begins no token of C++ in ASCII", "write names in ASCII, and end each comment and string"
    return None


def _at(text: str, at: int, words: str, why: str, fix: str = _LEFT_OUT) -> Directive:
    return Directive(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at), words, why, fix)
