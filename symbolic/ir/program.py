"""The program: one kernel as data, with a place on every node.

This page is the whole language after parsing. It holds no behaviour: the front end builds it, the machine
interprets it, the templates fill its holes, the passes rewrite it and the printers print it.

Two kinds of values never mix. *Index* values (`DType.INDEX`, `DType.BOOL`) steer: they depend only on thread
coordinates, loop variables, constants and holes. *Data* values (every other dtype) come from the input arrays
and never steer: no data in an index, a condition or a loop bound (paper, section 3.1: input-independent kernels).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from symbolic.elements import DType as DType
from symbolic.errors import Place
from symbolic.ir.functions import FunctionName as FunctionName
from symbolic.ir.functions import OperatorName as OperatorName
from symbolic.ir.matrices import WarpRow

LANES = 32
"""The lanes of a warp of the hardware; `Program.warp_size` is what a program takes for one."""

# ---- expressions -----------------------------------------------------------------------------------------------

Axis: TypeAlias = Literal["x", "y", "z", "k"]
"""An axis of the grid, or `k`, along which the loops of a kernel for any length run (`cuda_out.tiling`)."""
CoordinateName: TypeAlias = Literal[
    "threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpid", "warpsize", "before", "left"
]
UnaryOp: TypeAlias = Literal["-", "~", "not", "abs"]
CompareOp: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]


BinaryOp: TypeAlias = Literal["+", "-", "*", "/", "//", "%", "<<", ">>", "&", "|", "^", "min", "max"] | OperatorName
ReductionOp: TypeAlias = Literal["+", "*", "min", "max", "&", "|", "^"] | OperatorName
"""A name of `symbolic.algebra.operator_laws.LAWS`, or a user's operator."""


class Const(Struct, frozen=True):
    """A literal. The value is an int for INDEX and integer data, a bool for BOOL, a float for float data."""

    value: int | float | bool
    dtype: DType
    place: Place


class Var(Struct, frozen=True):
    """A scalar local variable or a loop variable."""

    name: str
    dtype: DType
    place: Place


class Coordinate(Struct, frozen=True):
    """Where the thread is. `axis` is 'x', 'y' or 'z' for threadIdx, blockIdx, blockDim, gridDim; else 'x'.

    `laneid` and `warpid` come from the linear thread index in the block (x fastest): `linear % warp_size` and
    `linear // warp_size`. `warpsize` is the program's `warp_size`.

    `before` and `left` say how much of a length is before a block's beginning and from there on, both up to what the
    block asks for; along `k`, `left` is the length itself. They are in what one block of a kernel for any length runs
    (`cuda_out.tiling`), and nowhere else.
    """

    name: CoordinateName
    axis: Axis
    place: Place
    dtype: DType = DType.INDEX


class Unary(Struct, frozen=True):
    """`not` takes and gives BOOL; the others keep the operand's dtype."""

    op: UnaryOp
    operand: Expr
    dtype: DType
    place: Place


class Binary(Struct, frozen=True):
    """Both operands have `dtype`. `//` and `%` floor, as in Python, for every sign; `/` is for float data only."""

    op: BinaryOp
    left: Expr
    right: Expr
    dtype: DType
    place: Place


class Apply(Struct, frozen=True):
    """A function of data: `math.exp(v)`, `where(a < b, x, y)`. All operands are evaluated.

    `gather(x, c)` is one, too: a row that names a read-only array. It has an operand for each dimension of the array:
    integer data within the extent, or an index that is made data by a `Cast`.
    """

    function: FunctionName
    operands: tuple[Expr, ...]
    dtype: DType
    place: Place


class Compare(Struct, frozen=True):
    """A comparison of two INDEX values."""

    op: CompareOp
    left: Expr
    right: Expr
    place: Place
    dtype: DType = DType.BOOL


class Logic(Struct, frozen=True):
    """`and` / `or` of two BOOL values; both sides are evaluated (they have no effects)."""

    op: Literal["and", "or"]
    left: Expr
    right: Expr
    place: Place
    dtype: DType = DType.BOOL


class Select(Struct, frozen=True):
    """`then if condition else otherwise`: only the chosen side is read, lane by lane."""

    condition: Expr
    then: Expr
    otherwise: Expr
    dtype: DType
    place: Place


class Lookup(Struct, frozen=True):
    """An entry of a table of numbers from 0 that the text of the kernel holds, in constant memory; an INDEX.

    No thread that is on asks for one outside; what a thread that is off would find there is the nearest one.
    """

    entries: tuple[int, ...]
    index: Expr
    place: Place
    dtype: DType = DType.INDEX


class Cast(Struct, frozen=True):
    """`f32(index)`, `u32(data)`: convert to data of another dtype."""

    operand: Expr
    dtype: DType
    place: Place


class Load(Struct, frozen=True):
    """An element of a parameter, local or shared array; one index per dimension."""

    array: str
    indices: tuple[Expr, ...]
    dtype: DType
    place: Place


class Shuffle(Struct, frozen=True):
    """`__shfl_sync` and its kin. The value read is what the *source* lane offers.

    mode 'idx': `lane` is the source lane, taken modulo the warp size; 'up', 'down', 'xor': `lane` is the delta
    or the mask, with CUDA's rule that a lane out of range reads itself. `mask` is a 32-bit INDEX expression, or
    None for all lanes of the warp.
    """

    mode: Literal["idx", "up", "down", "xor"]
    mask: Expr | None
    value: Expr
    lane: Expr
    dtype: DType
    place: Place


class HoleCall(Struct, frozen=True):
    """The use of a hole (`Program.holes[hole]`) at these arguments; INDEX, or BOOL for `?sw_cond`."""

    hole: int
    args: tuple[Expr, ...]
    dtype: DType
    place: Place


class AccumulatorValue(Struct, frozen=True):
    """`out.value`: the accumulator's final function of what was accumulated so far."""

    accumulator: str
    indices: tuple[Expr, ...]
    dtype: DType
    place: Place


Expr: TypeAlias = (
    Const
    | Var
    | Coordinate
    | Unary
    | Binary
    | Apply
    | Compare
    | Logic
    | Select
    | Lookup
    | Cast
    | Load
    | Shuffle
    | HoleCall
    | AccumulatorValue
)

# ---- statements ------------------------------------------------------------------------------------------------


class Assign(Struct, frozen=True):
    """`name = value`, for a scalar of the value's dtype (predicated: lanes that are off keep the old value).

    `accumulates`: it is what is left of the accumulate of a state, and counts as one (so in a `Store`).
    """

    name: str
    value: Expr
    place: Place
    accumulates: bool = False


class Store(Struct, frozen=True):
    """`array[indices] = value` to a local or shared array or an `out` / `inout` parameter.

    `atomic`: `cuda.atomic.add(array, indices, value)`, which joins the values of all threads, in any order, by the
    operator `joins`.
    """

    array: str
    indices: tuple[Expr, ...]
    value: Expr
    place: Place
    atomic: bool = False
    accumulates: bool = False
    joins: Literal["+", "min", "max", "&", "|", "^"] = "+"


class DeclareArray(Struct, frozen=True):
    """`cuda.local.array(shape, dtype)` (one per thread) or `cuda.shared.array(shape, dtype)` (one per block)."""

    name: str
    memory: Literal["local", "shared"]
    shape: tuple[int, ...]
    dtype: DType
    place: Place


class Final(Struct, frozen=True):
    """An accumulator's final function: `parameter -> body`, where `Var(parameter)` stands for the reduced value."""

    parameter: str
    body: Expr


class DeclareAccumulator(Struct, frozen=True):
    """`accumulator(dtype, outer, inner, init, final, shape)` (paper, section 4.2): one reduction per thread.

    `init` None means the outer operator's identity (for min and max: the first value accumulated). With a
    shape it is an array of accumulators.
    """

    name: str
    outer: ReductionOp
    inner: ReductionOp | None
    init: Const | None
    final: Final | None
    shape: tuple[int, ...]
    dtype: DType
    place: Place


class Accumulate(Struct, frozen=True):
    """`out.accumulate(a, b, ..., when=condition)`: out = out `outer` (a `inner` b `inner` ...).

    States are combined by `outer`. One that `begins` is what all of an accumulator's elements are to begin with.
    """

    accumulator: str
    indices: tuple[Expr, ...]
    operands: tuple[Expr, ...]
    condition: Expr | None
    place: Place
    begins: bool = False


class For(Struct, frozen=True):
    """`for variable in range(start, stop, step)`; the bounds are the same for every thread and free of holes."""

    variable: str
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]
    place: Place


class If(Struct, frozen=True):
    """Predication: both bodies run in lockstep, each with the lanes that chose it."""

    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]
    place: Place


class Barrier(Struct, frozen=True):
    """`cuda.syncthreads()` (scope 'block') or `cuda.syncwarp()` (scope 'warp')."""

    scope: Literal["block", "warp"]
    place: Place


class WarpInstruction(Struct, frozen=True):
    """One instruction of a whole warp, such as mma: a row of `symbolic.ir.matrices`, whose meaning as statements is
    `symbolic.ir.warp_meaning.meaning`. Passes and printers see the instruction; what runs a program runs its meaning.

    Each operand is an element (`Load`, or `AccumulatorValue`), the first one of a fragment in registers, or of the row
    of a shared array that a lane names. The operands of a product are A, B and C, to which it adds; of a move, where it
    takes from and then where it puts, which may be several fragments, one matrix after the other.
    """

    row: WarpRow
    operands: tuple[Expr, ...]
    place: Place


class CopyAsync(Struct, frozen=True):
    """`cuda.copy_async(array[indices], source)`: copy `width` elements of a parameter to a shared array.

    `source` is a `Load` of the first element, or a `Select` of one and of 0, which is then stored to all of them. The
    elements have their values once the thread has waited for the copy; until then they have none.
    """

    array: str
    indices: tuple[Expr, ...]
    source: Expr
    width: int
    place: Place

    @property
    def load(self) -> Load:
        """The first element that is read."""
        load = self.source.then if isinstance(self.source, Select) else self.source
        assert isinstance(load, Load)
        return load

    @property
    def bytes(self) -> int:
        """How many bytes are copied at once."""
        return self.width * self.source.dtype.bits // 8


class CopyGroup(Struct, frozen=True):
    """`cuda.commit_copies()`, or `cuda.wait_copies(left)`: so many of a thread's groups may stay under way."""

    left: int | None
    place: Place


Stmt: TypeAlias = (
    Assign
    | Store
    | DeclareArray
    | DeclareAccumulator
    | Accumulate
    | For
    | If
    | Barrier
    | WarpInstruction
    | CopyAsync
    | CopyGroup
)

# ---- programs --------------------------------------------------------------------------------------------------


class Hole(Struct, frozen=True):
    """A hole of the sketch.

    `kind` is its name in `templates/holes.py`: 'xform' for `?sw_xform(i, n, k)`, with `size` = n and call arguments
    (i, k); 'index' for `?sw_index(i, n, k)`, with the families of templates that it names; 'part' for
    `?sw_part(n, v, ...)`; 'cond' for `?sw_cond(v, ...)`, of size 2.
    `arguments` are the call arguments as the sketch spells them, for reading a solution.
    """

    name: str
    kind: str
    size: int
    arguments: tuple[str, ...]
    place: Place
    families: tuple[str, ...] = ()


Role: TypeAlias = Literal["in", "const", "by_value", "out", "inout"]


class Parameter(Struct, frozen=True):
    """An array parameter of the kernel. 'const' arrays are read-only and small (weights); so are 'by_value' arrays, of
    which a launch is given the elements, not a pointer.

    A scalar, which is passed by value, has the shape `()` and the role 'in': `Load(name, ())` reads it. Index data, of
    integers, has a declared range, which is assumed: each element is at least 0 and less than `below`; 0 declares none.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    role: Role
    place: Place
    below: int = 0

    @property
    def is_scalar(self) -> bool:
        return self.shape == ()

    @property
    def by_value(self) -> bool:
        """Whether a launch is given an array's elements."""
        return self.role == "by_value"


class Program(Struct, frozen=True):
    """A kernel with its launch shape. Without holes it is an ordinary kernel; with holes it is a sketch.

    Floats count as real numbers, so a division by a constant may be printed as a product, unless `ieee_division`.
    A compiler keeps to so few registers that a multiprocessor holds `min_blocks` blocks at once; 0 says nothing.
    """

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Stmt, ...]
    holes: tuple[Hole, ...]
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    warp_size: int
    place: Place
    ieee_division: bool = False
    min_blocks: int = 0

    def __repr__(self) -> str:
        holes = f"{len(self.holes)} hole{'s' * (len(self.holes) != 1)}" if self.holes else "no holes"
        return f"<kernel {self.name} at {self.place}: {holes}>"
