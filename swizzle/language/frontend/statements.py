"""A kernel's statements, read in order: calls, declarations, loops and conditions."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from swizzle.language.cuda_namespace import WARP_INSTRUCTIONS
from swizzle.language.element_types import VectorType
from swizzle.language.frontend.accumulators import (
    accumulator_name,
    combines_words,
    read_accumulate,
    read_accumulator,
    read_beginning,
    read_element_type,
)
from swizzle.language.frontend.assignments import ATOMICS, assign_tuple, atomic_addition, augmented, kind, store
from swizzle.language.frontend.async_copies import COPY_CALLS, read_copy
from swizzle.language.frontend.calls import bind, called, device_called, read_mask
from swizzle.language.frontend.constant_loops import as_progression, assignment_of, index_of, read_columns, wrong_range
from swizzle.language.frontend.device_calls import DeviceCalls
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.fragments import read_fragment, read_instruction
from swizzle.language.frontend.functions import named_comparison
from swizzle.language.frontend.load_store import lower_exchange, lower_load_store, lower_permute_local
from swizzle.language.frontend.operators import INDEX, VectorValue
from swizzle.language.frontend.refused_calls import DECLARATIONS
from swizzle.language.frontend.resolve import MISSING, spell
from swizzle.language.frontend.scope import AccumulatorName, ArrayName, LoopName, Scope, VectorArrayName
from swizzle.language.frontend.vectors import assign_several, assign_vector, holds_vector, read_vector, viewed
from swizzle.language.other_names import NOT_STATEMENTS, STATEMENTS
from swizzle.language.surface import FUNCTION_NAMES, LOAD_STORE
from symbolic.ir.program import Barrier, Const, DeclareAccumulator, DeclareArray, Expr, For, If, Stmt, Var


def _with_effect(node: ast.expr) -> str:
    """Say what an expression that stands by itself may have meant."""
    match node:
        case ast.Name() | ast.Attribute():
            return f"call it: {ast.unparse(node)}()"
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=ast.UnaryOp(operand=operand)):
            return f"write {ast.unparse(operand)} {'+' if isinstance(node.op, ast.UAdd) else '-'}= 1"
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return f"write {ast.unparse(left)} = {ast.unparse(right)}"
    return "store it, or leave it out"


@dataclass(slots=True)
class StatementReader:
    """Reads a function's statements; `depth` counts the loops and conditions around the one being read.

    `conditions` counts those in the callers too. `scratch` collects the arrays that helpers and device functions need
    besides the kernel's own; they belong to the top of the kernel.
    """

    expressions: ExpressionReader
    depth: int = 0
    conditions: int = 0
    scratch: list[DeclareArray] = field(default_factory=list)
    devices: DeviceCalls = field(init=False)

    def __post_init__(self) -> None:
        self.expressions.devices = self.devices = DeviceCalls(self)

    @property
    def scope(self) -> Scope:
        return self.expressions.scope

    def block(self, nodes: Sequence[ast.stmt]) -> tuple[Stmt, ...]:
        """Read the statements of one block, each after those of the device functions that it calls."""
        reader, read = self.expressions, list[Stmt]()
        outer = reader.before
        for position, node in enumerate(nodes):
            before: list[Stmt] = []
            reader.before = before
            statements = self._statement(node, nodes, position)
            read += [*before, *statements]
        reader.before = outer
        return tuple(read)

    def _statement(self, node: ast.stmt, nodes: Sequence[ast.stmt], position: int) -> tuple[Stmt, ...]:
        match node:
            case ast.Expr(value=ast.Constant(value=str())) if position == 0 and self.depth == 0:
                return ()
            case ast.Pass():
                return ()
            case ast.Expr(value=ast.Call() as call):
                return self._call(call)
            case ast.Assign(targets=[target], value=value):
                return self._assign(target, value, node)
            case ast.Assign():
                self._mistake(node, "two assignments in one statement", "one target", "write a line for each")
            case ast.AugAssign():
                return (augmented(self.expressions, node),)
            case ast.For():
                return (self._for(node),)
            case ast.If():
                return self._if(node)
            case ast.Return() if self.devices.active:
                function = self.devices.active[-1].name
                self._mistake(
                    node,
                    f"a `return` in the middle of {function}",
                    "one `return`, the last statement of a device function",
                    "keep the value in a variable, with `if`, and return that at the end",
                )
            case ast.Return(value=None) if self.depth == 0 and position == len(nodes) - 1:
                return ()
            case ast.Return(value=None):
                self._mistake(
                    node, "an early `return`", "kernels that run to their end", "put the rest of the body under `if`"
                )
            case ast.Return():
                self._mistake(
                    node,
                    "a kernel returns no value",
                    "a kernel that writes its out arrays",
                    "store the result to an `out` array: y[i] = ...",
                )
            case ast.Expr():
                self._mistake(
                    node,
                    "an expression without an effect",
                    "an assignment, a store or a call",
                    _with_effect(node.value),
                )
            case _:
                kind = type(node).__name__
                found, fix = NOT_STATEMENTS.get(kind, (f"`{kind}`", ""))
                self._mistake(node, f"{found} is not part of the kernel language", STATEMENTS, fix)

    def _mistake(self, node: ast.AST, found: str, expected: str, fix: str) -> NoReturn:
        self.expressions.mistake(node, found, expected, fix)

    # ---- calls ----

    def _call(self, node: ast.Call) -> tuple[Stmt, ...]:
        reader, function = self.expressions, node.func
        place = reader.kernel.source.place(node)
        if isinstance(function, ast.Attribute):
            base = function.value.value if isinstance(function.value, ast.Subscript) else function.value
            if isinstance(base, ast.Name) and isinstance(self.scope.meanings.get(base.id), AccumulatorName):
                return (read_accumulate(reader, node),)
        device = device_called(reader, node)
        if device is not None:
            self.devices.alone = node
            count = len(reader.before)
            self.devices.call(node, device)
            if device.result is not None and len(reader.before) == count:
                self._mistake(
                    node,
                    f"the value of {device.name}(...) is not used, and it does nothing else",
                    f"an assignment: v = {device.name}(...)",
                    "leave the call out",
                )
            return ()
        name, found = called(reader, node)
        if name in LOAD_STORE:
            return lower_load_store(reader, name, bind(reader, name, found, node), node)
        if name == "permute_local":
            scratch, statements = lower_permute_local(reader, bind(reader, name, found, node), node)
            self.scratch.append(scratch)
            return statements
        if name == "exchange":
            kept, statements = lower_exchange(reader, bind(reader, name, found, node), node)
            self.scratch.append(kept)
            return statements
        if name in ATOMICS:
            return (atomic_addition(reader, name, node),)
        if name in WARP_INSTRUCTIONS:
            return (read_instruction(reader, name, bind(reader, name, found, node), node),)
        if name in COPY_CALLS:
            return (read_copy(reader, name, found, node),)
        if name == "cuda.syncthreads":
            bind(reader, name, found, node)
            return (Barrier("block", place),)
        if name == "cuda.syncwarp":
            arguments = bind(reader, name, found, node)
            if "mask" in arguments and read_mask(reader, arguments["mask"]) is not None:
                self._mistake(node, "a syncwarp of some lanes", "all lanes of the warp", "write cuda.syncwarp()")
            return (Barrier("warp", place),)
        if name in DECLARATIONS:
            self._mistake(
                node, f"{name}(...) without a name", f"a declaration: a_name = {name}(...)", fix="give it a name"
            )
        self._mistake(
            node,
            f"the value of {name}(...) is not used",
            "an assignment: v = ...",
            fix="assign it to a name, or leave the call out",
        )

    def _declaration(self, value: ast.expr) -> str | None:
        """Return 'accumulator', 'cuda.local.array' or 'cuda.shared.array' when `value` calls it."""
        if not isinstance(value, ast.Call):
            return None
        found = self.expressions.resolve(value.func)
        name = FUNCTION_NAMES.get(id(found)) if found is not MISSING else None
        return name if name in DECLARATIONS else None

    def _no_augmented(self, name: str) -> None:
        """Refuse `out += v` of an accumulator, at its place."""
        for node in ast.walk(self.expressions.kernel.definition):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
                fix = f"write {name}.accumulate({spell(node.value)})"
                self._mistake(node, f"{name} is an accumulator, not a variable", f"{name}.accumulate(...)", fix)

    def _declare(self, target: ast.expr, value: ast.expr, what: str, node: ast.stmt) -> tuple[Stmt, ...]:
        reader = self.expressions
        if not isinstance(target, ast.Name):
            self._mistake(
                target,
                f"{what}(...) stored in an element",
                f"a name of its own: a_name = {what}(...)",
                fix="declare it under a name; for several, give it a shape",
            )
        if not self.scope.is_bound_once(target.id) or target.id in self.scope.meanings:
            if what == "accumulator":
                self._no_augmented(target.id)
            self._mistake(
                target,
                f"{target.id} is declared and also assigned elsewhere",
                "one meaning for each name",
                "use another name",
            )
        assert isinstance(value, ast.Call)
        arguments = bind(reader, what, DECLARATIONS[what], value)
        place = reader.kernel.source.place(node)
        if what == "accumulator":
            if self.conditions:
                self._mistake(
                    node,
                    "an accumulator declared under `if`",
                    "an accumulator that every thread has",
                    "call it outside the `if`, or give it an accumulator of the kernel"
                    if self.devices.active
                    else "declare it before the `if`",
                )
            declared = read_accumulator(reader, self.scope.named(target.id), arguments, node)
            own = str(declared.outer) if combines_words(declared) else ""
            self.scope.declare(target.id, accumulator_name(declared, own))
            return (declared, *(read_beginning(reader, declared, arguments, node) if own else ()))
        if self.depth:
            self._mistake(
                node, f"{what}(...) inside a loop or an `if`", "one array for the whole kernel", "declare it at the top"
            )
        if what == "cuda.fragment":
            registers = read_fragment(reader, self.scope.named(target.id), arguments, node)
            if isinstance(registers, DeclareAccumulator):
                self.scope.declare(target.id, accumulator_name(registers))
                return (registers,)
            self.scope.declare(target.id, ArrayName(registers.dtype, registers.shape, "local"))
            if not self.devices.active:
                return (registers,)
            self.scratch.append(registers)
            return ()
        memory: Literal["local", "shared"] = "local" if what == "cuda.local.array" else "shared"
        if memory == "shared" and reader.statics(arguments["shape"], "the shape of a shared array") == (0,):
            self._mistake(
                node, "a shared array of 0 elements", "its size: cuda.shared.array(4096, f32)",
                "write the size; more than 48 KiB become dynamic shared memory, whose size the printed launch gives",
            )  # fmt: skip
        shape = reader.shape(arguments["shape"], f"a {memory} array")
        vector = reader.resolve(arguments["dtype"])
        if isinstance(vector, VectorType):
            dtype, shape = vector.dtype, vector.with_lanes(shape, place)
        else:
            dtype = read_element_type(reader, arguments["dtype"])
        known = memory == "shared" and self.devices.active and self.devices.declared_shared(target.id, shape, dtype)
        meaning = ArrayName(dtype, shape, memory)
        name = self.scope.named(target.id)
        self.scope.declare(
            target.id, VectorArrayName(name, meaning, vector) if isinstance(vector, VectorType) else meaning
        )
        if known:
            return ()
        array = DeclareArray(self.scope.named(target.id), memory, shape, dtype, place)
        if not self.devices.active:
            return (array,)
        self.scratch.append(array)
        return ()

    # ---- assignments ----

    def _assign(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> tuple[Stmt, ...]:
        what = self._declaration(value)
        if what is not None:
            return self._declare(target, value, what, node)
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            kinds = [self._declaration(each) or viewed(self.expressions, each) for each in value.elts]
            if all(kinds):
                pairs = zip(target.elts, value.elts, strict=True)
                return tuple(stmt for each, made in pairs for stmt in self._assign(each, made, node))
        view = viewed(self.expressions, value)
        if view is not None:
            return self._view(target, view)
        self.devices.alone = value
        if isinstance(target, ast.Tuple | ast.List):
            values = value.elts if isinstance(value, ast.Tuple) else []
            if any(holds_vector(self.expressions, each) for each in values):
                read = [read_vector(self.expressions, each) for each in values]
                return tuple(assign_several(self, target.elts, read, node))
            if isinstance(value, ast.Call):
                given = self.expressions.calls.read_tuple_call(self.expressions, value)
                if any(isinstance(each, VectorValue) for each in given or ()):
                    return tuple(assign_several(self, target.elts, given or (), node))
                numbers = None if given is None else [v for v in given if not isinstance(v, VectorValue)]
                return assign_tuple(self.expressions, target, numbers, node)
            return assign_tuple(self.expressions, target, self.expressions.several(value), node)
        if (kept := named_comparison(self.expressions, target, value)) is not None:
            return tuple(kept)
        found = read_vector(self.expressions, value)
        if isinstance(found, VectorValue):
            return tuple(assign_vector(self, target, found, node))
        return (store(self.expressions, target, found, node),)

    def _view(self, target: ast.expr, view: VectorArrayName) -> tuple[Stmt, ...]:
        if not isinstance(target, ast.Name) or not self.scope.is_bound_once(target.id):
            self._mistake(
                target,
                "a view of an array that is not a name's only meaning",
                "a name of its own: x4 = ...",
                fix="assign the view to a name that is used for nothing else",
            )
        self.scope.declare(target.id, view)
        return ()

    # ---- loops and conditions ----

    def _for(self, node: ast.For) -> For:
        reader = self.expressions
        if node.orelse:
            self._mistake(node.orelse[0], "`else` of a loop", "a loop without it", fix="write it after the loop")
        if isinstance(node.iter, ast.Call) and reader.resolve(node.iter.func) is range:
            return self._counted(node, node.iter)
        return self._over_constants(node)

    def _counted(self, node: ast.For, called: ast.Call) -> For:
        """Read a loop over a range."""
        reader, place = self.expressions, self.expressions.kernel.source.place(node)
        bounds = called.args
        if called.keywords or not 1 <= len(bounds) <= 3:
            wrong_range(reader, called)
        if not isinstance(node.target, ast.Name):
            self._mistake(
                node.target, "a loop variable that is not a name", "one name", fix="write `for k in range(...)`"
            )
        self._require_loop_variable(node.target)
        exprs = [reader.index(bound, "a loop bound") for bound in bounds]
        for expr in exprs:
            reader.require_steady(expr, "a loop bound")
        zero, one = (Const(number, INDEX, place) for number in (0, 1))
        start, stop, step = [(zero, exprs[0], one), (*exprs, one), exprs][len(exprs) - 1]
        if reader.known(step) == 0:
            self._mistake(bounds[2], "a step of 0", "a step up or down", fix="write 1 or -1, or leave it out")
        numbers = [reader.known(expr) for expr in (start, stop, step)]
        runs = None not in numbers and len(range(*numbers)) > 0  # type: ignore[arg-type]
        meaning = self.scope.counter(node.target.id)
        return self._loop(node, meaning.name, (start, stop, step), {node.target.id: meaning}, runs)

    def _over_constants(self, node: ast.For) -> For:
        """Read a loop over constants: one over their positions, or over values that are themselves a range."""
        reader, place = self.expressions, self.expressions.kernel.source.place(node)
        count, columns = read_columns(reader, node)
        for column in columns:
            self._require_loop_variable(column.target)
        ranges = [(column, found) for column in columns if (found := as_progression(column)) is not None]
        counting, (first, step) = next(
            ((column, found) for column, found in ranges if len(columns) == 1 or found[1] == 1), (None, (0, 1))
        )
        targets = {c.target.id: self.scope.element(c.target.id, c.dtype, c is counting) for c in columns}
        wish = f"{columns[0].target.id}_index" if columns else "index"
        counter = targets[counting.target.id].name if counting else self.scope.fresh(wish)
        index = index_of(first, Var(counter, INDEX, place), place)
        opening = [assignment_of(c, targets[c.target.id].name, index, place) for c in columns if c is not counting]
        start, stop, stride = (Const(number, INDEX, place) for number in (first, first + step * count, step))
        return self._loop(node, counter, (start, stop, stride), targets, count > 0, opening)

    def _loop(
        self,
        node: ast.For,
        counter: str,
        bounds: Sequence[Expr],
        targets: Mapping[str, LoopName],
        runs: bool,
        opening: Sequence[Stmt] = (),
    ) -> For:
        self.depth += 1
        with self.scope.loop(counter, targets, runs):
            body = (*opening, *self.block(node.body))
        self.depth -= 1
        start, stop, step = bounds
        return For(counter, start, stop, step, body, self.expressions.kernel.source.place(node))

    def _require_loop_variable(self, target: ast.Name) -> None:
        meaning = self.scope.meanings.get(target.id)
        if not isinstance(meaning, LoopName | None) or target.id in self.scope.assigned:
            self._mistake(target, f"{target.id} is {kind(meaning)} already", "a name of its own", "use another name")

    def _if(self, node: ast.If) -> tuple[Stmt, ...]:
        condition = self.expressions.condition(node.test, "the condition of `if`")
        if isinstance(condition, Const):
            self.depth += 1
            live = self.block(node.body if condition.value else node.orelse)
            self.depth -= 1
            return live
        before = set(self.scope.assigned)
        self.depth, self.conditions = self.depth + 1, self.conditions + 1
        then = self.block(node.body)
        after_then, self.scope.assigned = self.scope.assigned, before
        otherwise = self.block(node.orelse)
        self.scope.join([after_then, self.scope.assigned])
        self.depth, self.conditions = self.depth - 1, self.conditions - 1
        return (If(condition, then, otherwise, self.expressions.kernel.source.place(node)),)
