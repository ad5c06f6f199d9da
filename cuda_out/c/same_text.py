"""Where a text is another one than the printed one, up to the names of what is local, spaces and comments.

What of an edited text is not proved must be what is printed. Texts are compared token by token. Within a function a
parameter or variable may have another name, everywhere the same, if nothing else is called so: not another variable,
nor anything that the function or the file uses, nor what may be a macro, a type or a function wherever it is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from cuda_out.c.emitter import C_LIBRARY, CUDA_NAMES, KEYWORDS
from cuda_out.c.kernel_text import CudaToken, NoKernel, tokens

_MEMBER: Final = (".", "->", "::")
_TYPE: Final = re.compile(r"auto|bool|char|double|float|int|long|short|signed|unsigned|void")
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
    The text is one that is the same for every compiler (`cuda_out.c.directives`): its brackets are what they seem.
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
    return " ".join(token.text.split()) if token.kind == "directive" else token.text


def _difference(text: str, found: CudaToken | None, printed: CudaToken | None) -> TextDifference:
    before = text[: len(text) if found is None else found.at]
    words = (each.text if each is not None else "" for each in (found, printed))
    return TextDifference(before.count("\n") + 1, len(before) - before.rfind("\n"), *words)
