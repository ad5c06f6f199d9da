"""`.swz` files: the language in a file of its own, holes spelled with the paper's question mark.

The file is parsed and interpreted, never imported or executed. Its top level has parameters, choices, constants,
functions of the sequential part, serial loops, device functions, and sketches; the language's names are built in.
"""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn

from msgspec import Struct

from swizzle.language.cuda_namespace import device_function
from swizzle.language.element_types import (
    VECTOR_TYPES,
    ArrayType,
    ElementType,
    OpenArrayType,
    VectorType,
    checked_shape,
    limit_behind,
    open_shape,
    second_shape,
)
from swizzle.language.host_arrays import HostArray, Launches
from swizzle.language.operators import OperatorNames, ScanOperator
from swizzle.language.other_names import here
from swizzle.language.parameters import Parameters, declare_choice, declare_pad
from swizzle.language.source.hole_marks import find_marks
from swizzle.language.source.kernel_source import KernelSource, Source, check_names_once, parse, split_lines
from swizzle.language.specs.function import SequentialFunction
from swizzle.language.specs.syntax import BUILTINS
from swizzle.language.surface import ELEMENT_TYPES, KERNEL_NAMES
from swizzle.sketches.declaration import OPTIONS, make_sketch
from swizzle.sketches.host import HostSketch, make_host
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_host import SwzHost
from symbolic.errors import SwizzleError, near
from symbolic.ir.program import Role

if TYPE_CHECKING:
    from swizzle.operators.derived import Given
    from symbolic.lifting.environment import NameTable


RESERVED: Final = frozenset({*KERNEL_NAMES, *BUILTINS, "parameter", "spec", "sketch", "host", "serial"})


def read_swz(text: str, file: str, parameters: Parameters) -> list[Sketch]:
    """Read the text of a `.swz` file; declares its parameters and returns its sketches in order."""
    return read_file(text, file, parameters).sketches


def names_of_swz(text: str, file: str, parameters: Parameters) -> dict[str, Any]:
    """Read the text of a `.swz` file; declares its parameters and returns all of its names but those of sketches."""
    return read_file(text, file, parameters).names


def read_file(text: str, file: str, parameters: Parameters) -> SwzReader:
    """Read the text of a `.swz` file; declares its parameters and returns all that it has."""
    tree, source = parsed_swz(text, file)
    check_names_once(tree, source)
    reader = SwzReader(source, parameters)
    for node in tree.body:
        reader.statement(node)
    return reader


def parsed_swz(text: str, file: str) -> tuple[ast.Module, Source]:
    """Return the syntax tree of a `.swz` file's text, in which `?` is `_`, and the text with these places."""
    text = "\n".join(split_lines(text))
    marked, marks = find_marks(text, file)
    return parse(marked, file), Source(file, split_lines(text), marks)


TOP_LEVEL: Final = (
    "parameters, choices, requirements, constants, functions, @spec functions, @serial loops, "
    "@cuda.jit(device=True) functions, @sketch(...) kernels and @host(...) functions"
)


class DerivationText(Struct, frozen=True, eq=False):
    """A derivation as it is written: its function and decorator, the decorator's values, what a constant is."""

    source: Source
    node: ast.FunctionDef
    decorator: ast.Call
    given: Mapping[str, Any]
    evaluate: Callable[[ast.expr], Any]


ROLES: Final[dict[str, Role]] = {"in": "in", "const": "const", "by_value": "by_value", "out": "out", "inout": "inout"}


@dataclass(slots=True)
class SwzReader:
    """Reads a file's top level in order; `names` are its constants and functions so far."""

    source: Source
    parameters: Parameters
    names: dict[str, Any] = field(default_factory=dict)
    specs: set[str] = field(default_factory=set)
    sketches: list[Sketch] = field(default_factory=list)
    hosts: list[HostSketch] = field(default_factory=list)
    operators: OperatorNames = field(init=False)
    sequential: NameTable = field(init=False)

    def __post_init__(self) -> None:
        from swizzle.language.specs.swz_names import names_of

        self.operators = OperatorNames(self.parameters.operators)
        self.sequential = names_of(self.names, self.operators)

    def _evaluate(self, node: ast.expr) -> Any:
        from swizzle.language.specs.swz_names import evaluate

        return evaluate(node, self.source, self.sequential)

    def _define(self, node: ast.FunctionDef) -> SequentialFunction:
        from swizzle.language.specs.swz_names import define

        return define(node, self.source, self.sequential)

    def statement(self, node: ast.stmt) -> None:
        """Read one statement of the top level."""
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                self._bind(name, self._top_level_value(value), target)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                self._bind_tuple(targets, self._evaluate(value), node)
            case ast.FunctionDef():
                self._function(node)
            case ast.Expr(value=ast.Call(func=ast.Name(id="require")) as call) if "require" not in self.names:
                self._require(call)
            case ast.Import() | ast.ImportFrom():
                self._fail(
                    node, "an import in a .swz file", TOP_LEVEL, "leave it out: the language's names are built in"
                )
            case _:
                kind = type(node).__name__.lower()
                self._fail(
                    node,
                    f"`{kind}` at the top level of a .swz file",
                    TOP_LEVEL,
                    "put it into a function, or write the value that it computes",
                )

    def _fail(self, node: ast.AST, found: str, expected: str, fix: str) -> NoReturn:
        self.source.mistake(node, found, expected, fix)

    def _bind(self, name: str, value: Any, node: ast.AST) -> None:
        made = [*(each.name for each in self.sketches), *(each.name for each in self.hosts)]
        if name in RESERVED or name in self.names or name in made:
            what = "a name of the language" if name in RESERVED else "defined above"
            self._fail(node, f"{name} is {what} already", "a new name", "use another name")
        self.names[name] = value

    def _bind_tuple(self, targets: list[ast.expr], value: Any, node: ast.stmt) -> None:
        if not isinstance(value, tuple | list) or len(value) != len(targets):
            self._fail(
                node, "an assignment of unequal sizes", "as many values as names", fix="write as many names as values"
            )
        for target, item in zip(targets, value, strict=True):
            if not isinstance(target, ast.Name):
                self._fail(target, "an assignment to this at the top level", "a name", fix="write `NAME = ...`")
            self._bind(target.id, item, target)

    def _top_level_value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "parameter":
            return self._parameter(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "choice" and "choice" not in self.names:
                return self._choice(node)
            marked = self.source.is_marked(node.func)
            if node.func.id[marked:] == "sw_pad":
                return self._pad(node, marked=marked)
            if node.func.id == "scan_operator" and "scan_operator" not in self.names:
                return self._scan_operator(node)
        return self._evaluate(node)

    def _pad(self, node: ast.Call, *, marked: bool) -> int:
        """Read `?sw_pad(32)`, a hole in a shape."""
        if not marked:
            self._fail(node.func, "the hole sw_pad without its question mark", "?sw_pad(...)", "write the `?`")
        given: dict[str, ast.expr] = dict(zip(("n", "most"), node.args, strict=False))
        given.update({str(keyword.arg): keyword.value for keyword in node.keywords})
        if len(node.args) > 2 or not {"n"} <= set(given) <= {"n", "most"}:
            self._fail(node, "a wrong call of ?sw_pad", "the least extent, and the most that is added", "?sw_pad(32)")
        values = {name: self._evaluate(each) for name, each in given.items()}
        return declare_pad(self.parameters, values["n"], values.get("most", 32), self.source.place(node))

    def _scan_operator(self, node: ast.Call) -> ScanOperator:
        """Read `scan_operator(best_run)`, of a serial loop above or of what `segmented` and its like make of it."""
        from swizzle.operators.scan_operators import scan_operator

        if len(node.args) != 1 or node.keywords:
            self._fail(node, "a wrong call of scan_operator", "one serial loop", "scan_operator(best_run)")
        try:
            return scan_operator(self._made_of(node.args[0]))
        except SwizzleError as error:
            place = error.place or self.source.place(node)
            raise SwizzleError(error.found, place=place, expected=error.expected, fix=error.fix) from None

    def _made_of(self, node: ast.expr) -> Given:
        from swizzle.operators import product, reversed, segmented
        from swizzle.operators.serial import Serial

        match node:
            case ast.Name(id=name) if isinstance(found := self.names.get(name), Serial):
                return found
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name not in self.names:
                match name, args:
                    case "segmented", [inner]:
                        return segmented(self._made_of(inner))
                    case "reversed", [inner]:
                        return reversed(self._made_of(inner))
                    case "product", [first, other]:
                        return product(self._made_of(first), self._made_of(other))
        self._fail(
            node, f"{ast.unparse(node)} is no serial loop", "a loop above, marked @serial, or segmented(loop), "
            "reversed(loop) or product(loop, other)", "write @serial above the loop, and give its name",
        )  # fmt: skip

    def _parameter(self, node: ast.Call) -> int:
        given: dict[str, ast.expr] = dict(zip(("name", "default"), node.args, strict=False))
        given.update({str(keyword.arg): keyword.value for keyword in node.keywords})
        if len(node.args) > 2 or set(given) != {"name", "default", "domain"}:
            self._fail(
                node,
                "a wrong call of parameter",
                "a name, a default and a domain",
                'write parameter("K", 3, domain=range(1, 33))',
            )
        name = given["name"].value if isinstance(given["name"], ast.Constant) else None
        default, domain = (self._evaluate(given[key]) for key in ("default", "domain"))
        return self.parameters.declare(name, default, domain, self.source.place(node))

    def _given(self, node: ast.Call, names: tuple[str, ...], least: int, example: str) -> list[Any]:
        """Return the values of a call's arguments, which are named so, of which the first few have to be there."""
        given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
        given.update({str(keyword.arg): keyword.value for keyword in node.keywords})
        if len(node.args) > len(names) or not set(names[:least]) <= set(given) <= set(names):
            wanted = " and ".join(names) if least == len(names) else f"{names[0]}, and {' and '.join(names[1:])}"
            self._fail(node, f"a wrong call of {ast.unparse(node.func)}", wanted, f"write {example}")
        texts = {key: each.value for key, each in given.items() if isinstance(each, ast.Constant)}
        return [texts[name] if name in texts else self._evaluate(given[name]) for name in names if name in given]

    def _choice(self, node: ast.Call) -> int:
        name, values = self._given(node, ("name", "values"), 2, 'choice("BM", (16, 32, 64))')
        return declare_choice(self.parameters, name, values, self.source.place(node))

    def _require(self, node: ast.Call) -> None:
        condition, *why = self._given(node, ("condition", "why"), 1, 'require(BM <= 64, "both tiles fit")')
        self.parameters.require(condition, why[0] if why else "", self.source.place(node))

    def _function(self, node: ast.FunctionDef) -> None:
        match node.decorator_list:
            case []:
                self._bind(node.name, self._define(node), node)
            case [ast.Name(id="spec")]:
                self._bind(node.name, self._define(node), node)
                self.specs.add(node.name)
            case [ast.Name(id="serial")]:
                self._serial(node, None)
            case [ast.Call(func=ast.Name(id="serial")) as decorator]:
                if decorator.args:
                    self._fail(decorator.args[0], "a positional argument of @serial", "length= and where=", "name it")
                self._serial(node, decorator)
            case [ast.Call(func=ast.Name(id="sketch")) as decorator]:
                self.parameters.made(node.name, lambda: self._sketch(node, decorator))
            case [ast.Call(func=ast.Attribute(value=ast.Name(id="cuda"), attr="jit")) as decorator]:
                self._device(node, decorator)
            case [ast.Call(func=ast.Attribute(value=ast.Name(id="cuda"), attr="external")) as decorator]:
                self._fail(
                    decorator,
                    "@cuda.external in a .swz file",
                    "a text of which nothing is run: what cuda.external names is compiled and run",
                    "write the sketch in a .py file, or the function in the language's own: @cuda.jit(device=True)",
                )
            case [ast.Call(func=ast.Name(id="host")) as decorator]:
                self.parameters.made(node.name, lambda: self._host(node, decorator))
            case [ast.Call(func=ast.Name(id="derivation")) as decorator]:
                made = self.parameters.made(node.name, lambda: self._derivation(node, decorator))
                self._bind(node.name, made, node)
            case [ast.Name(id="sketch") as bare]:
                self._fail(
                    bare,
                    "@sketch without its arguments",
                    "@sketch(spec=..., block=..., y=f32.out[128])",
                    fix="write its arguments: the specification, the block, and each array with its type",
                )
            case [first, *_]:
                self._fail(
                    first,
                    f"the decorator {ast.unparse(first)}",
                    "@spec, @serial, @sketch(...), @host(...) or @cuda.jit(device=True), one of them",
                    "leave it out",
                )

    def _serial(self, node: ast.FunctionDef, decorator: ast.Call | None) -> None:
        from swizzle.operators.serial import serial_of

        given = {} if decorator is None else {keyword.arg: keyword.value for keyword in decorator.keywords}
        length = self._evaluate(given["length"]) if "length" in given else None
        self._bind(node.name, serial_of(self._define(node).closure, length), node)

    def _device(self, node: ast.FunctionDef, decorator: ast.Call) -> None:
        options = {keyword.arg: ast.unparse(keyword.value) for keyword in decorator.keywords}
        if decorator.args or options != {"device": "True"}:
            self._fail(
                decorator,
                f"the decorator {ast.unparse(decorator)}",
                "@cuda.jit(device=True) for a function that kernels call, @sketch(...) for a kernel",
                "leave out signatures and options: the types come from the call",
            )
        environment: Mapping[str, Any] = ChainMap(self.names, KERNEL_NAMES, self.operators)
        self._bind(node.name, device_function(KernelSource(self.source, node, decorator, environment)), node)

    def _sketch(self, node: ast.FunctionDef, decorator: ast.Call) -> None:
        if decorator.args:
            self._fail(
                decorator.args[0],
                "a positional argument of @sketch",
                "spec=, block=, grid=, x=f32[130], ...",
                "name it",
            )
        options: dict[str, Any] = {"spec": None, "block": None, "grid": 1, "warp_size": 32}
        arguments: dict[str, Any] = {}
        for keyword in decorator.keywords:
            if keyword.arg is None:
                self._fail(keyword, "`**` in @sketch(...)", "named arguments", "write the arguments one by one")
            if keyword.arg == "spec":
                options["spec"] = self._spec(keyword.value)
            elif keyword.arg == "filled_from":
                options["filled_from"] = self._sources(keyword.value)
            elif keyword.arg == "relaxed_from":
                (options["relaxed_from"], *_) = self._sources(keyword.value)
            elif keyword.arg == "like":
                text = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                options["like"] = text if isinstance(text, str) else self._evaluate(keyword.value)
            else:
                into = options if keyword.arg in OPTIONS else arguments
                into[keyword.arg] = self._option(keyword.value)
        environment: Mapping[str, Any] = ChainMap(self.names, KERNEL_NAMES, self.operators)
        made = make_sketch(KernelSource(self.source, node, decorator, environment), options, arguments, self.parameters)
        self._refuse_twice(node)
        self.sketches.append(made)

    def _host(self, node: ast.FunctionDef, decorator: ast.Call) -> None:
        if decorator.args:
            self._fail(decorator.args[0], "a positional argument of @host", "spec=, x=f32[130], ...", "name it")
        named = {str(keyword.arg): keyword.value for keyword in decorator.keywords}
        arguments = {name: self._option(value) for name, value in named.items() if name != "spec"}
        environment: Mapping[str, Any] = ChainMap(self.names, KERNEL_NAMES, self.operators)
        source = KernelSource(self.source, node, decorator, environment)

        def run(seen: Launches, given: Mapping[str, HostArray]) -> None:
            above = {made.name: made for made in self.sketches}
            refused = self.parameters.refused or {}
            SwzHost(self.source, above, self._option, self._constant, dict(given), seen, refused).body(node.body)

        spec = self._spec(named["spec"]) if "spec" in named else None
        made = make_host(source, run, spec, arguments, self.parameters.values)
        self._refuse_twice(node)
        self.hosts.append(made)

    def _constant(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        """Evaluate an expression of constants, and of the variables of loops."""
        from swizzle.language.specs.swz_names import evaluate, names_of

        return evaluate(node, self.source, names_of(ChainMap(dict(names), self.names), self.operators))

    def _derivation(self, node: ast.FunctionDef, decorator: ast.Call) -> DerivationText:
        """Read what stands above a derivation; `derive` reads its steps."""
        if decorator.args or any(keyword.arg is None for keyword in decorator.keywords):
            self._fail(
                decorator, "an argument of @derivation without a name", 'spec=, x=f32["n"], n=64, ...', "name it"
            )
        given: dict[str, Any] = {}
        for keyword in decorator.keywords:
            name, value = str(keyword.arg), keyword.value
            if name == "out":
                some = value.elts if isinstance(value, ast.Tuple) else [value]
                words = tuple(each.value if isinstance(each, ast.Constant) else None for each in some)
                given[name] = words if isinstance(value, ast.Tuple) else words[0]
            else:
                given[name] = self._option(value)
        return DerivationText(self.source, node, decorator, given, self._evaluate)

    def _refuse_twice(self, node: ast.FunctionDef) -> None:
        made = [*(each.name for each in self.sketches), *(each.name for each in self.hosts)]
        if node.name in RESERVED or node.name in self.names or node.name in made:
            self._fail(node, f"{node.name} is defined already", "a new name", "use another name")

    def _spec(self, node: ast.expr) -> SequentialFunction:
        name = node.id if isinstance(node, ast.Name) else None
        if name is None or name not in self.specs:
            self._fail(
                node,
                f"{ast.unparse(node)} is not a specification",
                "the name of a function above, marked @spec",
                near(name or "", self.specs) or "mark the function that says what the kernel computes with @spec",
            )
        function = self.names[name]
        assert isinstance(function, SequentialFunction)
        return function

    def _sources(self, node: ast.expr) -> tuple[Sketch, ...]:
        """Return the sketches of the file that `filled_from` names."""
        nodes = node.elts if isinstance(node, ast.Tuple) else [node]
        above = {made.name: made for made in self.sketches}
        refused = self.parameters.refused or {}
        for part in nodes:
            if isinstance(part, ast.Name) and part.id in refused:
                raise refused[part.id]
            if not isinstance(part, ast.Name) or part.id not in above:
                self._fail(
                    part,
                    f"{ast.unparse(part)} is not a sketch",
                    "the name of a sketch above, or several in a tuple",
                    near(part.id if isinstance(part, ast.Name) else "", above) or "write the sketch above this one",
                )
        return tuple(above[part.id] for part in nodes if isinstance(part, ast.Name))

    def _option(self, node: ast.expr) -> Any:
        """Evaluate a sketch's argument: an array type, a scalar's, or an int or tuple of ints."""
        vector, shape = self._vector_type(node)
        if vector is not None:
            return vector if shape is None else vector.array(self._evaluate(shape), self.source.place(node))
        root: ast.expr = node.value if isinstance(node, ast.Subscript) else node
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Name(id=name)) as first, attr="below")) if (
                name in ELEMENT_TYPES and len(node.args) == 1
            ):
                raise limit_behind(self._option(first), self._evaluate(node.args[0]), self.source.place(node))
        role, call = "in", root
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "below":
            root = call.func
        if isinstance(root, ast.Attribute):
            role, root = root.attr, root.value
        if not isinstance(root, ast.Name) or root.id not in ELEMENT_TYPES:
            if isinstance(root, ast.Name) and root is not node and root.id not in self.names and (fix := here(root.id)):
                self._fail(root, f"{root.id} is not an element type", "f32[128] or its like", fix)
            return self._evaluate(node)
        if root is not node and role == "below" and not isinstance(call, ast.Call):
            self._fail(node, f"{root.id}.below without a limit", f"{root.id}.below(64)[...]", "write the limit")
        if role not in ROLES and role not in ("scalar", "below"):
            self._fail(
                node,
                f"{root.id} has no role `{role}`",
                "const, by_value, out, inout, scalar or below(...)",
                near(role, [*ROLES, "scalar", "below"]) or f"write {root.id}.out for an output",
            )
        element = ELEMENT_TYPES[root.id]
        if role == "scalar":
            if isinstance(node, ast.Subscript):
                raise second_shape(element.scalar, self._evaluate(node.slice), self.source.place(node))
            return element.scalar
        if role == "below":
            return self._below(element, node, call)
        if not isinstance(node, ast.Subscript):
            return element
        spelled = root.id if role == "in" else f"{root.id}.{role}"
        sizes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in sizes):
            named = tuple(
                each.value if isinstance(each, ast.Constant) else self._evaluate(each) for each in sizes
            )  # fmt: skip
            return OpenArrayType(element.dtype, open_shape(named, spelled, self.source.place(node)), ROLES[role])
        shape = self._evaluate(node.slice)
        return ArrayType(element.dtype, checked_shape(shape, spelled, self.source.place(node)), ROLES[role])

    def _vector_type(self, node: ast.expr) -> tuple[VectorType | None, ast.expr | None]:
        """Return the type that `cuda.float4.out[64]` names, and the shape; (None, None) for anything else."""
        whole: ast.expr = node.value if isinstance(node, ast.Subscript) else node
        shape, parts = node.slice if isinstance(node, ast.Subscript) else None, list[str]()
        while isinstance(whole, ast.Attribute):
            parts.insert(0, whole.attr)
            whole = whole.value
        if not isinstance(whole, ast.Name) or whole.id != "cuda" or not parts:
            return None, None
        found = VECTOR_TYPES.get(parts[0])
        if found is None:
            fix = here(parts[0]) or near(parts[0], VECTOR_TYPES, "cuda.") or "write cuda.float4[...]"
            self._fail(node, f"cuda.{parts[0]} is not an element type", "f32[128], cuda.float4[32] or its like", fix)
        for role in parts[1:]:
            if role not in ("const", "out", "inout") or len(parts) > 2:
                self._fail(
                    node, f"{found!r} has no role `{'.'.join(parts[1:])}`", "const, out or inout",
                    f"write {found!r}.out for an output",
                )  # fmt: skip
            found = getattr(found, role)
        return found, shape

    def _below(self, element: ElementType, node: ast.expr, call: ast.expr) -> Any:
        """Evaluate `i32.below(64)[130]`, the type of index data."""
        assert isinstance(call, ast.Call)
        if len(call.args) != 1 or call.keywords:
            name = element.dtype.value
            self._fail(call, f"a wrong call of {name}.below", f"{name}.below(64)", "write one limit")
        made = element.with_limit(self._evaluate(call.args[0]), self.source.place(call))
        if not isinstance(node, ast.Subscript):
            return made
        shape = checked_shape(self._evaluate(node.slice), made.spelling, self.source.place(node))
        return ArrayType(made.dtype, shape, made.role, made.below)
