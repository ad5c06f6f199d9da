"""CUDA's vector types: `cuda.float4` is a type of elements and, in a kernel, a function that makes a vector.

To programs and specifications, an array of vectors is an array of numbers with one more dimension.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from swizzle.language.element_types import ArrayType, caller_place, checked_shape, kernel_only
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import DType, Role

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
