"""Element types and array types: `f32`, `f32[130]`, `f32.const[3]`, `f32.out[128]`, `f32.inout[4, 5]`,
`i32.below(64)[130]`.

CUDA's vector types: `cuda.float4` is a type of elements and, in a kernel, a function that makes a vector.

To programs and specifications, an array of vectors is an array of numbers with one more dimension.
"""

from __future__ import annotations

import sys
from math import prod
from numbers import Integral
from typing import Any, Final, NoReturn

from msgspec import Struct

from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import DType, Role

MAX_ELEMENTS: Final = 1 << 24


def caller_place(depth: int = 2) -> Place:
    """Return the line that called Swizzle; `depth` counts frames up from here."""
    frame = sys._getframe(depth)
    return Place(frame.f_code.co_filename, frame.f_lineno, 1)


def kernel_only(name: str, fix: str = "") -> NoReturn:
    """Refuse the use of a kernel's name outside a kernel, by the caller of who calls this."""
    raise SwizzleError(
        f"{name} has a meaning only inside a kernel",
        place=caller_place(3),
        expected="its use in the body of a function decorated with @sketch(...)",
        fix=fix or "decorate the function with @sketch(...), and solve the sketch instead of calling the function",
    )


class ArrayType(Struct, frozen=True):
    """The type of an array parameter: `f32[130]` (input), `f32.const[3]`, `f32.out[128]`, `f32.inout[4, 5]`.

    A scalar parameter, `f32.scalar`, has the shape `()`. Index data, `i32.below(64)[130]`, has a declared range. An
    array of vectors, `cuda.float4[64]`, has their `lanes` as its last dimension.
    """

    dtype: DType
    shape: tuple[int, ...]
    role: Role
    limit: int = 0
    lanes: int = 1

    def __repr__(self) -> str:
        if not self.shape:
            return f"{self.dtype.value}.scalar"
        role = "" if self.role == "in" else f".{self.role}"
        below = f".below({self.limit})" if self.limit else ""
        return f"{self.dtype.value}{below}{role}[{', '.join(map(str, self.shape))}]"

    def __getitem__(self, shape: object) -> NoReturn:
        raise second_shape(self, shape, caller_place())

    @property
    def out(self) -> NoReturn:
        """Refuse a role behind the shape."""
        raise role_behind(self, "out", caller_place())

    @property
    def inout(self) -> NoReturn:
        """Refuse a role behind the shape."""
        raise role_behind(self, "inout", caller_place())

    @property
    def const(self) -> NoReturn:
        """Refuse a role behind the shape."""
        raise role_behind(self, "const", caller_place())

    @property
    def by_value(self) -> NoReturn:
        """Refuse a role behind the shape."""
        raise role_behind(self, "by_value", caller_place())

    def below(self, limit: object) -> NoReturn:
        """Refuse a range behind the shape."""
        raise limit_behind(self, limit, caller_place())


class OpenArrayType(Struct, frozen=True):
    """The type of an array some of whose lengths are names, in a derivation: `f32["m", "k"]`, `f32["n + 2"]`."""

    dtype: DType
    shape: tuple[int | str, ...]
    role: Role
    limit: int = 0

    def __repr__(self) -> str:
        return repr(ArrayType(self.dtype, self.shape, self.role, self.limit))  # type: ignore[arg-type]


def _has_names(shape: object) -> bool:
    return any(isinstance(each, str) for each in (shape if isinstance(shape, tuple) else (shape,)))


class ArrayRole(Struct, frozen=True):
    """`f32.out`: an element type with a role, waiting for its shape."""

    dtype: DType
    role: Role
    below: int = 0

    def __repr__(self) -> str:
        return self.spelling

    def __getitem__(self, shape: int | str | tuple[int | str, ...]) -> ArrayType:
        if _has_names(shape):
            sizes = open_shape(shape, self.spelling, caller_place())
            return OpenArrayType(self.dtype, sizes, self.role, self.below)  # type: ignore[return-value]
        return ArrayType(self.dtype, checked_shape(shape, self.spelling, caller_place()), self.role, self.below)

    @property
    def spelling(self) -> str:
        return f"{self.dtype.value}.{f'below({self.below})' if self.below else self.role}"


class ElementType(Struct, frozen=True):
    """A data type. `f32[shape]` declares an array parameter; `f32(value)` in a kernel converts."""

    dtype: DType

    def __repr__(self) -> str:
        return self.dtype.value

    def __getitem__(self, shape: int | str | tuple[int | str, ...]) -> ArrayType:
        if _has_names(shape):
            sizes = open_shape(shape, self.dtype.value, caller_place())
            return OpenArrayType(self.dtype, sizes, "in")  # type: ignore[return-value]
        return ArrayType(self.dtype, checked_shape(shape, self.dtype.value, caller_place()), "in")

    @property
    def const(self) -> ArrayRole:
        """A small read-only array, such as the weights of a filter."""
        return ArrayRole(self.dtype, "const")

    @property
    def by_value(self) -> ArrayRole:
        """A small read-only array whose elements are passed by value: `w=f32.by_value[5, 5]`.

        Where its indices are constants, its elements are operands of instructions, without loads. Where an index
        depends on the thread, a compiler copies the array to local memory. All arguments of a kernel have 4096 bytes.
        """
        return ArrayRole(self.dtype, "by_value")

    @property
    def out(self) -> ArrayRole:
        """An array that the kernel writes and the specification returns."""
        return ArrayRole(self.dtype, "out")

    @property
    def inout(self) -> ArrayRole:
        """An array that the kernel reads and overwrites."""
        return ArrayRole(self.dtype, "inout")

    @property
    def scalar(self) -> ArrayType:
        """One number, which the kernel takes by value."""
        return ArrayType(self.dtype, (), "in")

    def below(self, limit: int) -> ArrayRole:
        """An array of index data, for `gather`: each element is at least 0 and less than `limit`.

        That is assumed of every call: `i32.below(64)[130]`.
        """
        return self.with_limit(limit, caller_place())

    def with_limit(self, limit: object, place: Place | None) -> ArrayRole:
        """Return the type of an array of index data, or raise what is wrong with its limit."""
        name = self.dtype.value
        if self.dtype.is_float:
            raise SwizzleError(
                f"{name}.below(...), a range of floats", place=place, expected="integers", fix="write i32.below(...)"
            )
        most = 1 << int(name[1:]) - (name[0] == "i")
        if isinstance(limit, bool) or not isinstance(limit, Integral) or not 1 <= int(limit) <= most:
            raise SwizzleError(
                f"{name}.below({limit!r})",
                place=place,
                expected=f"an int from 1 to {most}: each element is at least 0 and less than it",
                fix=f"write {name}.below(64)[...] for the indices of 64 elements",
            )
        return ArrayRole(self.dtype, "in", int(limit))

    def __call__(self, value: Any) -> Any:
        """Convert data: in a kernel, and in a specification data that is of another type."""
        if hasattr(value, "converted_to"):
            return value.converted_to(self.dtype)
        if hasattr(value, "dtype"):
            from symbolic.algebra.numbers import CONVERT

            return CONVERT.get()(value, self.dtype)
        kernel_only(
            f"{self.dtype.value}(...) of a number",
            fix="leave it out of a specification: it converts data, and other numbers have no types there",
        )


def limit_behind(given: ArrayType, limit: object, place: Place | None) -> SwizzleError:
    """Say where the range of index data is declared."""
    name, shape = given.dtype.value, ", ".join(map(str, given.shape))
    return SwizzleError(
        f"a range behind the shape: {name}[{shape}].below({limit!r})",
        place=place,
        expected="the range before the shape",
        fix=f"write {name}.below({limit!r})[{shape}]",
    )


def role_behind(given: ArrayType, role: str, place: Place | None) -> SwizzleError:
    """Say where the role of an array is declared."""
    name, shape = given.dtype.value, ", ".join(map(str, given.shape))
    return SwizzleError(
        f"a role behind the shape: {name}[{shape}].{role}", place=place, expected="the role before the shape",
        fix=f"write {name}.{role}[{shape}]",
    )  # fmt: skip


def second_shape(given: ArrayType, shape: object, place: Place | None) -> SwizzleError:
    """Say what is wrong with a shape behind what has one, or is one number."""
    name = given.dtype.value
    if given.shape:
        return SwizzleError(
            f"two shapes for {name}",
            place=place,
            expected=f"one: {name}[4, 32]",
            fix="put all extents between one pair of brackets",
        )
    return SwizzleError(
        f"a shape for {name}.scalar, which is one number",
        place=place,
        expected=f"{name}.scalar, or an array",
        fix=f"write {name}[{shape!r}] for an array".replace("[(", "[").replace(")]", "]"),
    )


def open_shape(shape: object, what: str, place: Place | None) -> tuple[int | str, ...]:
    """Return a shape with names in it, each a length such as "n + 2", or raise the error that says what is wrong."""
    from symbolic.patterns.reading import read_length

    sizes = shape if isinstance(shape, tuple) else (shape,)
    checked_shape(tuple(1 if isinstance(each, str) else each for each in sizes), what, place)
    for each in sizes:
        if isinstance(each, str):
            try:
                why = "" if read_length(each).names else "it has no name"
            except SwizzleError as error:
                why = error.found
            if why:
                raise SwizzleError(
                    f"{each!r} is not a length for {what}: {why}", place=place,
                    expected='names, and sums, products and quotients of names and ints, such as "n" or "n + 2"',
                    fix=f'write {what}["n"], or an int for a length that is one number',
                )  # fmt: skip
    return sizes


def checked_shape(shape: object, what: str, place: Place | None) -> tuple[int, ...]:
    """Return `shape` as one to three positive ints, or raise the error that says what is wrong with it."""
    dimensions = shape if isinstance(shape, tuple) else (shape,)
    whole = all(isinstance(d, Integral) and not isinstance(d, bool) for d in dimensions)
    if not whole or not 1 <= len(dimensions) <= 3 or min(int(d) for d in dimensions) < 1:
        spelled = repr(shape) if len(repr(shape)) < 60 else repr(shape)[:57] + "..."
        raise SwizzleError(
            f"{spelled} is not a shape for {what}",
            place=place,
            expected="one to three ints, each at least 1",
            fix=f"write {what}[128] or {what}[4, 32]",
        )
    sizes = tuple(int(d) for d in dimensions)
    if prod(sizes) > MAX_ELEMENTS:
        raise SwizzleError(
            f"{what} of shape {sizes} has {prod(sizes)} elements",
            place=place,
            expected=f"at most {MAX_ELEMENTS} elements",
            fix="sketch one tile of the problem; a kernel is solved for fixed sizes",
        )
    return sizes


f16: Final = ElementType(DType.F16)
bf16: Final = ElementType(DType.BF16)
f32: Final = ElementType(DType.F32)
f64: Final = ElementType(DType.F64)
i8: Final = ElementType(DType.I8)
u8: Final = ElementType(DType.U8)
i16: Final = ElementType(DType.I16)
u16: Final = ElementType(DType.U16)
i32: Final = ElementType(DType.I32)
u32: Final = ElementType(DType.U32)
i64: Final = ElementType(DType.I64)
u64: Final = ElementType(DType.U64)


COMPONENTS: Final = "xyzw"


class VectorType(Struct, frozen=True):
    """Two or four numbers that one instruction loads and stores: `p=cuda.float4[64]` declares an array of them.

    A specification is given an array of shape (64, 4). In a kernel, `v = p[i]` is a vector, `v.x` a number of it, and
    `cuda.float4(a, b, c, d)` makes one.
    """

    name: str
    dtype: DType
    lanes: int
    role: Role = "in"

    def __repr__(self) -> str:
        return f"cuda.{self.name}{'' if self.role == 'in' else f'.{self.role}'}"

    def __getitem__(self, shape: int | tuple[int, ...]) -> ArrayType:
        return self.array(shape, caller_place())

    @property
    def noun(self) -> str:
        """The name with its article."""
        return f"{'an' if self.name.startswith('int') else 'a'} {self.name}"

    @property
    def const(self) -> VectorType:
        """A small read-only array."""
        return self._with("const")

    @property
    def out(self) -> VectorType:
        """An array that the kernel writes and the specification returns."""
        return self._with("out")

    @property
    def inout(self) -> VectorType:
        """An array that the kernel reads and overwrites."""
        return self._with("inout")

    def _with(self, role: Role) -> VectorType:
        return VectorType(self.name, self.dtype, self.lanes, role)

    def array(self, shape: object, place: Place | None) -> ArrayType:
        """Return the type of an array of such vectors, of one or two dimensions."""
        return ArrayType(self.dtype, self.with_lanes(shape, place), self.role, lanes=self.lanes)

    def with_lanes(self, shape: object, place: Place | None) -> tuple[int, ...]:
        """Return the shape of the numbers of an array of vectors, or raise what is wrong with it."""
        sizes = checked_shape(shape, repr(self), place)
        if len(sizes) > 2:
            raise SwizzleError(
                f"{sizes} is not a shape for {self!r}",
                place=place,
                expected="one or two dimensions of vectors",
                fix="join two dimensions: i * n + j",
            )
        return checked_shape((*sizes, self.lanes), repr(self), place)

    def __call__(self, *components: Any) -> Any:
        """Make a vector of its numbers, in a kernel."""
        kernel_only(f"{self!r}(...)")


_BY_TWO_AND_FOUR: Final = (DType.F32, DType.I32, DType.U32, DType.I16, DType.U16, DType.I8, DType.U8)
_BY_TWO: Final = (DType.F64, DType.I64, DType.U64, DType.F16, DType.BF16)
VECTOR_TYPES: Final = {
    (name := f"{dtype.row.vector}{lanes}"): VectorType(name, dtype, lanes)
    for dtype in (*_BY_TWO_AND_FOUR, *_BY_TWO)
    for lanes in ((2,) if dtype in _BY_TWO else (2, 4))
}
"""Every type that one access moves, by CUDA's name."""


def vector_type(dtype: DType, lanes: int) -> VectorType:
    """Return the type of a vector of so many numbers."""
    return next(each for each in VECTOR_TYPES.values() if each.dtype is dtype and each.lanes == lanes)
