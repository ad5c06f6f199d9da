"""Calls in a kernel's expressions: holes, shuffles, casts, `min`, `max`, `abs`, `len`, `cuda.grid`."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import assert_never

from swizzle.language.cuda_namespace import DeviceFunction
from swizzle.language.element_types import VectorType
from swizzle.language.frontend import operators
from swizzle.language.frontend.calls_of_bits import BIT_CALLS, read_bits
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.functions import is_of_data, made_state, read_function, read_where, read_words
from swizzle.language.frontend.gathers import read_gather
from swizzle.language.frontend.operators import BOOL, INDEX, Value, VectorValue
from swizzle.language.frontend.refused_calls import foreign, misplaced, not_a_function
from swizzle.language.frontend.resolve import MISSING, element_type
from swizzle.language.frontend.scope import AccumulatorName, ArrayName, GivenName, VectorArrayName
from swizzle.language.frontend.votes import VOTES, count_votes, of_width, read_vote
from swizzle.language.mathematics import data_function
from swizzle.language.operators import Operator, WordsFunction
from swizzle.language.surface import ELEMENT_TYPES, FUNCTION_NAMES
from symbolic.algebra.operator_laws import LAWS, Law
from symbolic.errors import Place, near
from symbolic.ir.program import Binary, Cast, Const, Coordinate, CoordinateName, DType, Expr, Hole, HoleCall, Shuffle
from templates.holes import BY_SPELLING, HoleKind

SHUFFLES: Final[dict[str, tuple[Literal["idx", "up", "down", "xor"], str]]] = {
    "cuda.shfl_sync": ("idx", "src_lane"),
    "cuda.shfl_up_sync": ("up", "delta"),
    "cuda.shfl_down_sync": ("down", "delta"),
    "cuda.shfl_xor_sync": ("xor", "lane_mask"),
}
FULL_MASK: Final = 0xFFFFFFFF
Arguments = Mapping[str, Any]


def read_call(reader: ExpressionReader, node: ast.Call) -> Value:
    """Read a call that gives one value."""
    device = device_called(reader, node)
    if device is not None:
        assert reader.devices is not None
        return reader.devices.value(node, device)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "bit_length" and not (node.args or node.keywords):
        return read_bits(reader, "bit_length", reader.index(node.func.value, "what `.bit_length()` is of"), node)
    found = reader.resolve(node.func)
    place = reader.kernel.source.place(node)
    if isinstance(found, Operator):
        return _joined(reader, found.law, positional(reader, node, found.name, 2, 99), place)
    if isinstance(found, WordsFunction):
        return _word(reader, node, found)
    row = data_function(found)
    if row is not None:
        count = len(row.operands)
        return read_function(reader, row, positional(reader, node, ast.unparse(node.func), count, count), place)
    name, function = called(reader, node)
    if name == "where":
        return read_where(reader, positional(reader, node, name, 3, 3), place)
    if name == "gather":
        return read_gather(reader, positional(reader, node, name, 2, 4), node)
    if name == "cuda.dp4a":
        return _dot(reader, node)
    if name in BY_SPELLING:
        return _hole(reader, BY_SPELLING[name], bind(reader, name, function, node), node)
    if name in SHUFFLES:
        return _shuffle(reader, name, bind(reader, name, function, node), node)
    if name in VOTES:
        given = bind(reader, name, function, node)
        require_whole_warps(reader, node, name)
        return read_vote(reader, name, read_mask(reader, given["mask"]), given["predicate"], node)
    if name in BIT_CALLS:
        (argument,) = positional(reader, node, name, 1, 1)
        return _bits(reader, name, argument, node)
    if name in ELEMENT_TYPES:
        (argument,) = positional(reader, node, name, 1, 1)
        return operators.cast(reader.value(argument), ELEMENT_TYPES[name].dtype, place)
    if name in LAWS:
        return _joined(reader, LAWS[name], positional(reader, node, name, 2, 99), place)
    if name == "abs":
        (argument,) = positional(reader, node, name, 1, 1)
        return operators.unary("abs", reader.value(argument), place)
    if name == "len":
        return _length(reader, node)
    if name in ("cuda.grid", "cuda.gridsize"):
        first, *more = _grid(reader, name, node)
        if more:
            count = len(more) + 1
            reader.mistake(node, f"{name}({count}) gives {count} values", "one variable for each", "write i, j = ...")
        return first
    misplaced(reader, node, name)


def _dot(reader: ExpressionReader, node: ast.Call) -> Expr:
    """Read `cuda.dp4a(a, b, c)`: c and the products of four pairs of bytes."""
    first, second, start = positional(reader, node, "cuda.dp4a", 3, 3)
    place, vectors = reader.kernel.source.place(node), list[VectorValue]()
    for argument in (first, second):
        vector = reader.vector(argument)
        if vector is None or vector.type.name not in ("char4", "uchar4"):
            reader.mistake(
                argument, f"cuda.dp4a of {vector.type.noun if vector else ast.unparse(argument)}",
                "two vectors of four bytes, cuda.char4 or cuda.uchar4: variables, or elements of an array of them",
                "declare the array as cuda.char4[...], or take a view of bytes: x4 = x.view(cuda.char4)",
            )  # fmt: skip
        if not isinstance(argument, ast.Name):
            assert reader.devices is not None
            name, _ = reader.devices.held(vector, argument)
            vector = reader.held(name, vector.type, place)
        vectors.append(vector)
    a, b = vectors
    if a.type != b.type:
        reader.mistake(node, f"cuda.dp4a of {a.type.noun} and {b.type.noun}", "two of one type", "convert the bytes")
    dtype = DType.I32 if a.type.dtype is DType.I8 else DType.U32
    found = reader.data(start, dtype, "the third argument of cuda.dp4a")
    for lane in range(4):
        left, right = (Cast(vector.number(lane), dtype, place) for vector in vectors)
        found = Binary("+", found, Binary("*", left, right, dtype, place), dtype, place)
    return found


def _words(reader: ExpressionReader, node: ast.Call, function: WordsFunction) -> Sequence[Value]:
    """Read a call of a function on words."""
    count = len(function.operands)
    if function.state is not None and function.takes and len(node.args) == function.takes:
        count = function.takes
    nodes = positional(reader, node, function.name, count, count)
    return read_words(reader, function, nodes, reader.kernel.source.place(node))


def _word(reader: ExpressionReader, node: ast.Call, function: WordsFunction) -> Value:
    """Read the same where one value is needed."""
    values = _words(reader, node, function)
    if len(values) == 1:
        return values[0]
    if function.gives and function.state is not None:
        return made_state(function.state, values, reader.kernel.source.place(node))
    reader.mistake(
        node, f"{ast.unparse(node.func)}(...) gives {len(values)} values", "one variable for each",
        f"write {', '.join('abcdefgh'[: len(values)])} = {ast.unparse(node.func)}(...)",
    )  # fmt: skip


def _joined(reader: ExpressionReader, law: Law, nodes: Sequence[ast.expr], place: Place) -> Value:
    """Read the operands of an operator that is called, and join them from the left."""
    return reduce(lambda a, b: operators.binary(law.name, a, b, place), [reader.value(node) for node in nodes])


def read_tuple_call(reader: ExpressionReader, node: ast.Call) -> Sequence[Value | VectorValue] | None:
    """Read a call that gives several values, or return None when it does not."""
    if reader.resolve(node.func) is MISSING:
        return None
    device = device_called(reader, node)
    if device is not None:
        assert reader.devices is not None
        return reader.devices.call(node, device) if reader.devices.gives_several(device) else None
    found = reader.resolve(node.func)
    if isinstance(found, VectorType):
        return None
    if isinstance(found, WordsFunction):
        values = _words(reader, node, found) if len(found.values) > 1 else ()
        return values if len(values) > 1 else None
    name, _ = called(reader, node)
    if name not in ("cuda.grid", "cuda.gridsize"):
        return None
    values = _grid(reader, name, node)
    return values if len(values) > 1 else None


def device_called(reader: ExpressionReader, node: ast.Call) -> DeviceFunction | None:
    """Return the device function that is called, if it is one."""
    found = reader.resolve(node.func)
    return found if isinstance(found, DeviceFunction) else None


def called(reader: ExpressionReader, node: ast.Call) -> tuple[str, Any]:
    """Return the language's name of the function that is called, and its object."""
    function = node.func
    found = reader.resolve(function)
    if found is MISSING:
        not_a_function(reader, node)
    if isinstance(found, VectorType):
        reader.mistake(
            node,
            f"{found.noun} where one number is needed",
            f"a statement of its own: v = {found!r}(...), or a store of it",
            "write it on a line before, and use its components, v.x",
        )
    kind = element_type(found)
    if kind is not None:
        return kind.dtype.value, kind
    name = FUNCTION_NAMES.get(id(found))
    if name is None:
        foreign(reader, node, found)
    return name, found


def bind(reader: ExpressionReader, name: str, function: Any, node: ast.Call) -> Arguments:
    """Match the call's arguments with the function's own signature; returns syntax trees by parameter name."""
    signature = inspect.signature(function)
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            reader.mistake(argument, "`*` in a call", "plain arguments", "write the arguments one by one")
    for keyword in node.keywords:
        if keyword.arg is None:
            reader.mistake(keyword, "`**` in a call", "plain arguments", "write the arguments one by one")
        if keyword.arg not in signature.parameters:
            suggestion = near(str(keyword.arg), signature.parameters) or f"write {_spelled(reader, name, signature)}"
            reader.mistake(
                keyword, f"{name} has no argument `{keyword.arg}`", _spelled(reader, name, signature), suggestion
            )
    try:
        bound = signature.bind(*node.args, **{str(k.arg): k.value for k in node.keywords})
    except TypeError as error:
        missing = str(error).partition("argument: ")[2].strip("'")
        fix = f"add {missing}" if missing else "leave the others out"
        if missing and name in SHUFFLES and len(node.args) == len(signature.parameters) - 2:
            fix = f"begin with the mask: {name}(cuda.FULL_MASK, {', '.join(map(ast.unparse, node.args))})"
        reader.mistake(node, f"{name}: {error}", _spelled(reader, name, signature), fix)
    return bound.arguments


def _spelled(reader: ExpressionReader, name: str, signature: inspect.Signature) -> str:
    """Spell a call as a kernel writes it."""
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    mark = "?" if name in BY_SPELLING and reader.kernel.source.marks is not None else ""
    return mark + name + str(inspect.Signature(parameters)).replace("=4294967295", "")


def positional(reader: ExpressionReader, node: ast.Call, name: str, least: int, most: int) -> list[ast.expr]:
    """Return the arguments of a call that takes no keywords."""
    if node.keywords or not least <= len(node.args) <= most:
        count = f"{least} argument" + ("s" if least > 1 else "") + (" or more" if most > least else "")
        inner = node.args[0].elts if len(node.args) == 1 and isinstance(node.args[0], ast.List | ast.Tuple) else []
        fix = f"write {name}({', '.join(map(ast.unparse, inner))})" if inner else "write the arguments in order"
        if name in ("cuda.grid", "cuda.gridsize"):
            fix = f"write {name}(1), or {name}(2) for two dimensions"
        reader.mistake(node, f"a wrong call of {name}", f"{name}(...) with {count}, without keywords", fix)
    return node.args


def read_mask(reader: ExpressionReader, node: ast.expr) -> Expr | None:
    """Read a lane mask: None for all lanes."""
    value = reader.value(node)
    if isinstance(value, Const) and value.dtype is INDEX and value.value in (FULL_MASK, -1):
        return None
    if isinstance(value, Const) and value.dtype is INDEX and 0 <= value.value < FULL_MASK:
        return value
    return operators.coerce(value, INDEX, "the mask")


_MARKED: Final = re.compile(r"\b_sw_(?=\w+\()")
"""A hole within the arguments of another, as a `.swz` file's text has it once its marks are read."""


def _hole(reader: ExpressionReader, kind: HoleKind, arguments: Arguments, node: ast.Call) -> HoleCall:
    source, place = reader.kernel.source, reader.kernel.source.place(node)
    name = f"{'?' if source.marks is not None else ''}{kind.spelling}"
    size, families = kind.size, tuple[str, ...]()
    nodes: list[ast.expr] = []
    defaults: list[int] = []
    for argument in kind.arguments:
        given = arguments.get(argument.name)
        match argument.role:
            case "size":
                assert isinstance(given, ast.expr)
                size = _hole_size(reader, kind, name, given)
            case "indices":
                nodes += given or ()
                if not given:
                    reader.mistake(
                        node,
                        f"{name} without a variable to depend on",
                        f"{name}({', '.join(each.name for each in kind.arguments)}, ...)",
                        "give it what the choice may depend on, such as the lane and the loop variable",
                    )
            case "index" if given is not None:
                nodes.append(given)
            case "index":
                assert isinstance(argument.default, int), "the signature asks for what has no default"
                defaults.append(argument.default)
            case "families":
                assert isinstance(argument.default, str)
                families = _families(reader, kind, name, given, argument.default)
            case _:
                assert_never(argument.role)
    assert size is not None, "a kind of hole has a size, or takes one"
    args = [reader.index(n, f"an argument of {name}") for n in nodes]
    args += [Const(value, INDEX, place) for value in defaults]
    texts = [*(ast.unparse(n) for n in nodes), *map(str, defaults)]
    if source.marks is not None:
        texts = [_MARKED.sub("sw_", text) for text in texts]
    here = replace(place, called_from=None, function="")
    number = reader.hole(Hole(kind.kind, kind.kind, size, tuple(texts), here, families), place)
    return HoleCall(number, tuple(args), kind.gives, place)


def _families(
    reader: ExpressionReader, kind: HoleKind, name: str, node: ast.expr | None, default: str
) -> tuple[str, ...]:
    """Read the names of the families that a hole may be of."""
    if node is not None and not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        reader.mistake(
            node,
            f"the families of {name} are {ast.unparse(node)}",
            f'their names: families="{default}"',
            fix="write the names in quotes, with commas between them",
        )
    text = node.value if isinstance(node, ast.Constant) else default
    names = tuple(each.strip() for each in str(text).split(","))
    known = kind.spaces["1"]
    for each in names:
        if each not in known or names.count(each) > 1:
            reader.mistake(
                node or ast.Constant(default),
                f"{name} has no family {each!r}" if each not in known else f"the family {each!r} is named twice",
                f"some of {', '.join(known)}, separated by commas",
                (near(each, known) or f'write families="{default}"') if each not in known else "name it once",
            )
    return names


def _hole_size(reader: ExpressionReader, kind: HoleKind, name: str, node: ast.expr) -> int:
    size = reader.static(node, f"the size n of {name}")
    if size < 1:
        reader.mistake(node, f"the size n of {name} is {size}", "at least 1", "count what the hole chooses from")
    if size > kind.largest:
        reader.mistake(node, f"the size n of {name} is {size}", f"at most {kind.largest}", "choose among fewer")
    return size


class ShuffleCall(Struct, frozen=True):
    """A call of a shuffle: what is offered, and the shuffle of one number."""

    value: ast.expr
    number: Callable[[Expr], Expr]


def shuffle_of(reader: ExpressionReader, node: ast.Call) -> ShuffleCall | None:
    """Return the shuffle that is called, None for other calls."""
    function = reader.resolve(node.func)
    name = FUNCTION_NAMES.get(id(function), "") if function is not MISSING else ""
    if name not in SHUFFLES:
        return None
    arguments = bind(reader, name, function, node)
    return ShuffleCall(arguments["value"], lambda value: _shuffle(reader, name, arguments, node, value))


def _shuffle(
    reader: ExpressionReader, name: str, arguments: Arguments, node: ast.Call, value: Expr | None = None
) -> Shuffle:
    """Read a shuffle, of what its argument is, or of another value."""
    found = _whole_shuffle(reader, name, arguments, node, value)
    if (given := arguments.get("width")) is None:
        return found
    width, size = reader.static(given, f"the width of {name}"), reader.launch.warp_size
    if not 1 <= width <= size or width & width - 1:
        reader.mistake(given, f"a width of {width}", f"a power of two up to {size}", "leave it out for whole warps")
    return found if width == size else of_width(found, width)


def _whole_shuffle(
    reader: ExpressionReader, name: str, arguments: Arguments, node: ast.Call, value: Expr | None
) -> Shuffle:
    mode, lane_name = SHUFFLES[name]
    require_whole_warps(reader, node, name)
    mask = read_mask(reader, arguments["mask"])
    value = reader.scalar(arguments["value"]) if value is None else value
    if value.dtype is BOOL:
        reader.mistake(arguments["value"], f"{name} of a condition", "an index or data", "write `1 if ... else 0`")
    lane = reader.index(arguments[lane_name], f"the {lane_name} of {name}")
    return Shuffle(mode, mask, value, lane, value.dtype, reader.kernel.source.place(node))


def require_whole_warps(reader: ExpressionReader, node: ast.Call, name: str) -> None:
    """Refuse what warps do together in a block that has a part of a warp."""
    launch = reader.launch
    if launch.threads % launch.warp_size:
        reader.mistake(
            node,
            f"{name} in a block of {launch.threads} threads, which is not a multiple of the warp size",
            f"a block of whole warps of {launch.warp_size}",
            f"write block={-(-launch.threads // launch.warp_size) * launch.warp_size} in @sketch(...)",
        )


def _ballot(reader: ExpressionReader, node: ast.expr) -> tuple[ast.Call, Arguments] | None:
    """Return a call of a ballot with what it is given, None of something else."""
    if not isinstance(node, ast.Call) or device_called(reader, node) is not None:
        return None
    name, function = called(reader, node)
    if name != "cuda.ballot_sync":
        return None
    require_whole_warps(reader, node, name)
    return node, bind(reader, name, function, node)


def _bits(reader: ExpressionReader, name: str, argument: ast.expr, node: ast.Call) -> Value:
    """Read a count of bits; that of a ballot is a vote of its own, and that of the part of a ballot on indices that an
    index names is an index as well."""
    if name == "cuda.popc" and (ballot := _ballot(reader, argument)) is not None:
        call, given = ballot
        return count_votes(reader, read_mask(reader, given["mask"]), given["predicate"], call)
    if name == "cuda.popc" and isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.BitAnd):
        for side, other in ((argument.left, argument.right), (argument.right, argument.left)):
            ballot = _ballot(reader, side)
            if ballot is None or is_of_data(reader, ballot[1]["predicate"]):
                continue
            call, given = ballot
            part = operators.settled(reader.value(other))
            if part.dtype is INDEX:
                mask = read_mask(reader, given["mask"])
                votes = read_vote(reader, "cuda.ballot_sync", mask, given["predicate"], call, INDEX)
                return read_bits(reader, name, operators.binary("&", votes, part, part.place), node)
    return read_bits(reader, name, reader.value(argument), node)


def _length(reader: ExpressionReader, node: ast.Call) -> Value:
    (argument,) = positional(reader, node, "len", 1, 1)
    place = reader.kernel.source.place(node)
    if isinstance(argument, ast.Name):
        meaning = reader.scope.meanings.get(argument.id)
        if isinstance(meaning, ArrayName | VectorArrayName):
            return Const(meaning.shape[0], INDEX, place)
        if isinstance(meaning, AccumulatorName) and meaning.shape:
            return Const(meaning.shape[0], INDEX, place)
        if isinstance(meaning, GivenName):
            reader.refuse_scalar(argument, argument.id, "the length of the scalar")
    parts = reader.several(argument)
    if parts is None:
        reader.mistake(argument, f"len of {ast.unparse(argument)}", "an array or a tuple", fix="name the array itself")
    return Const(len(parts), INDEX, place)


def _grid(reader: ExpressionReader, name: str, node: ast.Call) -> list[Value]:
    (argument,) = positional(reader, node, name, 1, 1)
    count = reader.static(argument, f"the argument of {name}")
    if count not in (1, 2, 3):
        reader.mistake(argument, f"{name}({count})", "1, 2 or 3", f"write {name}(1)")
    place = reader.kernel.source.place(node)
    values: list[Value] = []
    for axis in ("x", "y", "z")[:count]:

        def at(coordinate: CoordinateName, axis: Any = axis) -> Expr:
            return Coordinate(coordinate, axis, place)

        scale = at("blockIdx") if name == "cuda.grid" else at("gridDim")
        offset = Binary("*", scale, at("blockDim"), INDEX, place)
        values.append(Binary("+", offset, at("threadIdx"), INDEX, place) if name == "cuda.grid" else offset)
    return values
