"""PTX after reading: kernels with their registers, parameters, arrays, labels and instructions, each with its line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from msgspec import Struct, field


class NotInterpreted(Exception):
    """PTX that the interpreter does not know: nothing is claimed of a kernel that has it."""


class Name(Struct, frozen=True):
    """A register, a special register, a variable or a label; `negated` for `!%p1`, `offset` for `array+4`."""

    text: str
    negated: bool = False
    offset: int = 0


class Immediate(Struct, frozen=True):
    """A literal, as its bits: 64 for integers, 32 or 64 (`width`) for floats; integers have width 0."""

    bits: int
    width: int


class Address(Struct, frozen=True):
    """`[base+offset]`."""

    base: str
    offset: int


class Group(Struct, frozen=True):
    """`{a, b}`: the elements of a vector access, or the halves of a register; `(a)`: what a call takes or gives."""

    items: tuple[Name | Immediate, ...]


Operand: TypeAlias = Name | Immediate | Address | Group
SourceLines: TypeAlias = "tuple[tuple[int, int], ...]"
"""A place in the source, as `.loc` has it: number of the file and line; behind it that of the call, if inlined."""


class Instruction(Struct, frozen=True):
    """`@guard op operands`, with the line of the PTX that it stands on, and its place in the source, where known."""

    op: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Name | None
    line: int
    text: str
    source: SourceLines = ()

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


class PtxVariable(Struct, frozen=True):
    """A variable in a state space; `data` holds the bytes that its text gives it, if any.

    An array in shared memory whose size the launch gives has the size 0. What a module's variable holds that its text
    gives nothing, the host may have set: a module that was just loaded has zeros there.
    """

    name: str
    space: str
    align: int
    size: int
    data: bytes | None


DECLARED: Final[str] = "a function without a body"


class Kernel(Struct, frozen=True):
    """One `.entry`; `labels` say before which instruction they stand, `parameters` are name and type, in order.

    `registers` are the types of all registers that instructions use. A block has at most `most_threads` (.maxntid), and
    the shape `block` (.reqntid), where those are not None. `functions` are those of the module, which it may call. A
    function (`.func`) is read as a kernel is; `result` is the name and type of what it returns. `refused` says what in
    its body is not understood, '' for nothing: such a kernel is not run. `files` are the source's, by number.
    `promised` says of parameters that are addresses of how many bytes a multiple they are (.ptr). A kernel that is not
    `visible` is not found by its name in a loaded module.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    arrays: tuple[PtxVariable, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    labels: Mapping[str, int] = field(default_factory=dict)
    registers: Mapping[str, str] = field(default_factory=dict)
    most_threads: int | None = None
    block: tuple[int, ...] | None = None
    functions: Mapping[str, Kernel] = field(default_factory=dict)
    result: tuple[str, str] | None = None
    refused: str = ""
    files: Mapping[int, str] = field(default_factory=dict)
    promised: Mapping[str, int] = field(default_factory=dict)
    visible: bool = True

    @property
    def declared(self) -> bool:
        """Say whether it is a function without a body."""
        return self.refused == DECLARED


def names_of(operand: Operand | None) -> list[str]:
    """Return the registers that an operand names."""
    match operand:
        case Name(text=text):
            return [text]
        case Address(base=base):
            return [base]
        case Group(items=items):
            return [each.text for each in items if isinstance(each, Name)]
        case _:
            return []


LANE_MASKS: Final = ("eq", "le", "lt", "ge", "gt")
SPECIAL: Final = frozenset(
    (
        "%laneid",
        *(f"%lanemask_{which}" for which in LANE_MASKS),
        "WARP_SZ",
        "%dynamic_smem_size",
        *(f"{name}.{axis}" for name in ("%tid", "%ntid", "%ctaid", "%nctaid") for axis in "xyz"),
    )
)
"""The special registers that are known: 32 bits each, and read by `mov` only."""
