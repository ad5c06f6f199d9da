"""C text as it is printed: indented lines, blocks, long lines folded at spaces; and names for the program's names that
are legal, not reserved, not taken by CUDA, and still recognisable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from symbolic.errors import Place
from symbolic.ir.functions import FUNCTIONS

WIDTH = 110

_TYPE_GOES_ON = ("long", "unsigned")
_BEFORE = ("? ", ": ", "&& ", "|| ", "+ ", "- ")


def fold(
    text: str,
    width: int,
    later: int = WIDTH - 8,
    *,
    before: tuple[str, ...] = _BEFORE,
    goes_on: tuple[str, ...] = _TYPE_GOES_ON,
    bracketed: bool = False,
) -> list[str]:
    """Split code at spaces into pieces of at most `width`, then `later`, outside as many brackets as possible.

    A piece rather begins with one of `before`, and hardly ends in one of `goes_on`. Python may be split within brackets
    alone (`bracketed`).

    >>> fold("y = first(a, b) + second(c, d);", 20)
    ['y = first(a, b)', '+ second(c, d);']
    """
    pieces, outer = [], 0
    while len(text) > width:
        best, depth = None, outer
        for at, character in enumerate(text[: width + 1]):
            depth += (character in "([") - (character in ")]")
            if character == " " and at > width // 3 and (depth > 0 or not bracketed):
                begins = text[at + 1 :].startswith(before) or text[at - 1] == ","
                rank = (text[:at].endswith(goes_on), depth, not begins, -at)
                best = min(best, rank) if best else rank
        if best is None:
            break
        piece, text = text[: -best[-1]], text[1 - best[-1] :]
        outer += sum((c in "([") - (c in ")]") for c in piece)
        pieces.append(piece)
        width = min(width, later)
    return [*pieces, text]


class Emitter:
    """Collects lines; `block` nests them in braces. Each line keeps the `origin` that was set when it was added."""

    def __init__(self, depth: int = 0) -> None:
        self._lines: list[str] = []
        self._depth = depth
        self.origin: Place | None = None
        self.origins: list[Place | None] = []

    def line(self, text: str = "") -> None:
        """Add one line at the present depth; code that is too long continues on the next lines, indented further."""
        indent = "  " * self._depth
        if text.startswith(("#", "//")):
            self._add(indent + text)
            return
        for number, piece in enumerate(fold(text, WIDTH - len(indent))):
            self._add(indent + ("    " if number else "") + piece)

    def _add(self, line: str) -> None:
        self._lines.append(line.rstrip())
        self.origins.append(self.origin)

    def indent(self, by: int) -> None:
        """Move the depth of the lines that follow."""
        self._depth += by

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Indent what follows."""
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def block(self, head: str, end: str = "}") -> Iterator[None]:
        """Nest what follows in `head {` ... `}`, or another `end`."""
        self.line(f"{head} {{".lstrip())
        with self.nested():
            yield
        self.line(end)

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)


Name = TypeVar("Name", bound=str)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEYWORDS = _words(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class compl
    concept const const_cast consteval constexpr constinit continue co_await co_return co_yield decltype default delete
    do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
    true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq
    """
)
# What the printed text itself calls, or what is a macro or a builtin object wherever CUDA's headers are.
CUDA_NAMES = _words(
    """
    threadIdx blockIdx blockDim gridDim warpSize min max abs llabs fabs fabsf fmin fminf fmax fmaxf floor floorf fmod
    fmodf floor_div floor_mod wrapping_abs dim3 half half2 NULL assert signbit isnan isinf INFINITY NAN stdin stdout
    stderr errno linux unix M_PI EOF RAND_MAX stream cudaStream_t cudaError_t cudaGetLastError size_t chosen
    element_of with_element copy_async_4 copy_async_8 copy_async_16 copy_async_or_zero_4 copy_async_or_zero_8
    copy_async_or_zero_16 commit_copies wait_copies
    """
)
CUDA_NAMES |= {name for row in FUNCTIONS.values() for name in row.cuda.values()}
# Functions of the C library that a kernel's exported symbol would clash with.
C_LIBRARY = _words(
    """
    main index rindex read write open close exp exp2 log log2 log10 pow sqrt sin cos tan round trunc ceil gamma tgamma
    lgamma j0 j1 jn y0 y1 yn signal time clock remove rename select copysign hypot div ldiv random rand srand exit abort
    link unlink pipe dup send recv bind connect listen accept printf scanf puts gets malloc free calloc realloc memcpy
    memmove memset memcmp strlen strcpy strcmp qsort bsearch system raise sleep wait kill fork access times stat logb
    erf erfc cbrt fma fdim nan remainder scalb significand drem rint swab nice sync truncate
    norm norm3d norm4d rnorm rnorm3d rnorm4d rhypot normcdf normcdfinv erfinv erfcinv erfcx sinpi cospi sincos sincospi
    exp10 rcbrt ldexp frexp modf ilogb llrint lrint llround lround nearbyint nextafter finite
    """
)


def is_c_name(name: str) -> bool:
    """Return whether C++ takes a name as it is."""
    return name.isidentifier() and name.isascii() and name not in KEYWORDS


def c_name(name: str) -> str:
    """Return the name in ASCII, without the double or leading underscores that C++ reserves."""
    ascii_name = "".join(ch if ch.isascii() else f"u{ord(ch):x}" for ch in name)
    while "__" in ascii_name:
        ascii_name = ascii_name.replace("__", "_")
    if ascii_name.startswith("_"):
        ascii_name = f"v{ascii_name}"
    return f"{ascii_name}_" if ascii_name in KEYWORDS | CUDA_NAMES else ascii_name


def kernel_name(name: str) -> str:
    """Return the exported symbol of a kernel."""
    found = c_name(name)
    return f"{found}_kernel" if found in C_LIBRARY else found


def c_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a C++ name for each name, all different."""
    return different_names(names, c_name, taken)


def different_names(names: Iterable[Name], spelled: Callable[[Name], str], taken: Iterable[str]) -> dict[Name, str]:
    """Return each name as it is spelled, with a number added if that spelling is taken."""
    result: dict[Name, str] = {}
    used = set(taken)
    for name in names:
        wish = found = spelled(name)
        number = 1
        while found in used:
            number += 1
            found = f"{wish.rstrip('_')}_{number}"
        used.add(found)
        result[name] = found
    return result
