"""A derivation as a user writes it: `d.at("dot").chunks(256).to_blocks()`, one method a rule, positions by name.

`d` is a position in the expression: at first all of it, with `at` what a name stands for. A method applies a rule at
the first place from there, from the outside in, where it applies. Every rule has a method of its own name; some have
shorter ones. What is derived, and every step, is `symbolic/rewriting`'s.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn

from msgspec import Struct

from swizzle.derive.patterns.scope import only_moves
from swizzle.language.specs.traced import reading, user_line
from swizzle.sketches.swz_file import DerivationText
from symbolic.errors import SwizzleError, near, shown
from symbolic.expressions.expression import Expression
from symbolic.patterns.lengths import length, length_text, quotient
from symbolic.patterns.reading import read_length
from symbolic.patterns.terms import Map, Reduce, Term, Variable, label_of
from symbolic.patterns.types import ArrayOf, TupleOf, Typing
from symbolic.rewriting.derivation import Path, PatternDerivation, Position
from symbolic.rewriting.rule import RULES, NotApplicable

hole: Final = object()
"""In the place of lanes, a layout or an exchange: Swizzle chooses."""
HOLES: Final = ("lanes", "layout", "exchange")


class DerivationProgress(Struct):
    """A derivation, and what is left to Swizzle in the kernel."""

    derivation: PatternDerivation
    holes: set[str]


class DerivationCursor:
    """A position in an expression that is being derived."""

    def __init__(self, progress: DerivationProgress, focus: Path = (), name: str = "") -> None:
        self._progress, self._focus, self._name = progress, focus, name

    def __repr__(self) -> str:
        return f"<derivation{f' at {self._name}' if self._name else ''}>"

    def at(self, name: str) -> DerivationCursor:
        """Return the position of this name: what a function of yours computes, or a rule has named."""
        known = dict[str, Path]()
        for each in self._progress.derivation.positions():
            for own in filter(None, label_of(each.term).split("+")):
                known.setdefault(own, each.path)
        if not isinstance(name, str):
            _refuse(f"a position {name!r:.60}", "the name of a function, as a text", 'write d.at("dot")')
        if name not in known:
            _refuse(
                f"no position is called {name!r}", f"one of {', '.join(known)}", near(name, known) or "name a function"
            )
        return DerivationCursor(self._progress, known[name], name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"a position of a derivation has no {name}")
        if name not in RULES:
            methods = [each for each in (*RULES, *SHORT) if not each.startswith("_")]
            _refuse(f"no rule {name}", "a rule (swizzle derive --rules shows them)", near(name, methods) or "")
        return lambda *given, **named: self._apply(name, given, named)

    def _inside(self) -> Iterator[Position]:
        """Yield the positions from this one on, the outermost first."""
        return (each for each in self._progress.derivation.positions() if each.path[: len(self._focus)] == self._focus)

    def _apply(
        self, name: str, given: tuple[Any, ...] = (), named: Mapping[str, Any] = {},
        where: Callable[[Term], bool] = lambda _: True,
    ) -> DerivationCursor:  # fmt: skip
        rule, derivation = RULES[name], self._progress.derivation
        said = {**dict(zip(rule.arguments, given, strict=False)), **named}
        if len(given) > len(rule.arguments):
            _refuse(f"{name} with {len(given)} arguments", ", ".join(rule.arguments) or "none", "leave some out")
        place = user_line()[0]
        try:
            derivation.apply_first((each for each in self._inside() if where(each.term)), name, True, **said)
        except NotApplicable as no:
            where_ = f" at {self._name}" if self._name else ""
            why = f"{where_}: {no}" if str(no) else where_
            _refuse(f"{name} ({rule.figure}) applies nowhere{why}", rule.law, "apply it elsewhere, or otherwise")
        except TypeError as error:
            _refuse(f"{name}: {error}", f"{name}({', '.join(rule.arguments)})", "give it its arguments")
        except SwizzleError as error:
            raise SwizzleError(error.found, place=place, expected=error.expected, fix=error.fix) from None
        return self

    # -- shorter names -----------------------------------------------------------------------------------------------

    def split(self, size: int | str) -> DerivationCursor:
        """Map chunk by chunk: 3c, at the outermost map that is not decided."""
        return self._apply("split_join", (size,), where=_undecided)

    def tiles(self, size: int | str) -> DerivationCursor:
        """Cut what windows slide over into tiles that overlap, and map tile by tile."""
        self._apply("slide_tiles", (size,))
        self._apply("map_of_join")
        return self._apply("map_fusion")

    def chunks(self, size: int | str | Expression) -> DerivationCursor:
        """Reduce each chunk, then what that gives."""
        return self._apply("reduce_chunks", (size,))

    def part(self, parts: int | str) -> DerivationCursor:
        """Reduce as many parts first."""
        return self.chunks(quotient(self._reduced(), length_of("part", parts)))

    def strided(self, stride: int | str) -> DerivationCursor:
        """Take the elements that a reduction combines in strides: neighbours go to neighbouring threads."""
        self._apply("reduce_reorder")
        return self._apply("reorder_stride", (stride,))

    def to_blocks(self, axis: str = "x") -> DerivationCursor:
        return self._lowered("block", axis)

    def to_threads(self, axis: str = "x") -> DerivationCursor:
        return self._lowered("local", axis)

    def to_grid(self, axis: str = "x") -> DerivationCursor:
        """Spread a map over all threads of the grid."""
        return self._lowered("global", axis)

    def to_warps(self) -> DerivationCursor:
        return self._lowered("warp", "x")

    def to_lanes(self) -> DerivationCursor:
        return self._lowered("lane", "x")

    def to_seq(self) -> DerivationCursor:
        return self._lowered("seq", "x")

    def cached(
        self, memory: str = "shared", kind: str = "local", place: int = 0, lanes: object = None
    ) -> DerivationCursor:
        """Copy what the map, or the reduction, here is given of each element into a memory first, by all threads.

        Of tuples, `place` is the item. In the registers of a warp's lanes, `cached("registers", "lane", lanes=hole)`
        leaves open whom each lane asks, and which of its registers that one offers.
        """
        self._left(lanes, "lanes")
        outer = next((each for each in self._inside() if isinstance(each.term, Map | Reduce)), None)
        if outer is None:
            _refuse(f"no map{f' at {self._name}' if self._name else ''}", "a map, or a reduction", "at(...) one")
        made = outer.term
        assert isinstance(made, Map | Reduce)
        *_, name = (made.function if isinstance(made, Map) else made.operator).parameters
        given = Typing().inner_names(made, 0, outer.names)[name]
        body = DerivationCursor(self._progress, (*outer.path, 0, 0), self._name)
        if isinstance(given, TupleOf):
            given = given.items[place]
            body._apply("share_name", (name, "tile", place))
        else:
            body._apply("share_name", (name, "tile"))
        depth = 0
        while isinstance(given, ArrayOf):
            given, depth = given.element, depth + 1
        let = self._progress.derivation.steps[-1].path
        copied = DerivationCursor(self._progress, (*let, 0), "tile")
        copied._apply("copy")
        copied._lowered(kind, "xyz"[depth - 1])
        if depth > 1:
            DerivationCursor(self._progress, (*copied._focus, 0, 0), "tile")._rows(kind, depth - 1)
        copied._kept(memory)
        return self

    def _rows(self, kind: str, depth: int) -> None:
        """Copy the rows of what is copied, element by element."""
        self._apply("copy")
        self._lowered(kind, "xyz"[depth - 1])
        if depth > 1:
            DerivationCursor(self._progress, (*self._focus, 0, 0), "copy")._rows(kind, depth - 1)

    def shared(self, layout: object = None) -> DerivationCursor:
        """Keep what the outermost parallel map makes in shared memory; with `layout=hole` in a layout that is found."""
        return self._left(layout, "layout")._kept("shared")

    def registers(self, exchange: object = None) -> DerivationCursor:
        """Keep it in registers; with `exchange=hole` Swizzle finds how threads get what others have."""
        return self._left(exchange, "exchange")._kept("registers")

    def _left(self, given: object, name: str) -> DerivationCursor:
        """Note what is left to Swizzle."""
        if given is hole:
            self._progress.holes.add(name)
        return self

    def tree(self, size: int = 2) -> DerivationCursor:
        """Reduce in rounds, spread over the threads of the block."""
        return self._rounds(size, "local")

    def butterfly(self, lanes: object = None) -> DerivationCursor:
        """Reduce what the lanes of a warp have by shuffles; with `lanes=hole` Swizzle finds whom each lane asks."""
        return self._left(lanes, "lanes")._rounds(2, "lane")

    def _rounds(self, size: int, kind: str) -> DerivationCursor:
        n = self._reduced()
        times, left = 0, int(n.value) if n.constant else 0
        while left > 1 and left % size == 0:
            times, left = times + 1, left // size
        if left != 1:
            _refuse(
                f"{length_text(n)} elements, reduced by {size} in each round", f"a power of {size}", "chunks(...) first"
            )
        self._apply("part_iterate", (times, size))
        self._lowered(kind, "x")
        return self._apply("lower_reduce")

    def _reduced(self) -> Expression:
        """Return how many elements the reduction here has."""
        for each in self._inside():
            if isinstance(each.term, Reduce):
                kind = Typing().type_of(each.term.array, each.names)
                assert isinstance(kind, ArrayOf)
                return kind.length
        _refuse(f"no reduction{f' at {self._name}' if self._name else ''}", "a reduction", "at(...) a reduction")

    def _lowered(self, kind: str, axis: str) -> DerivationCursor:
        named = next((each.term for each in self._inside()), None) if self._name else None

        def undecided(node: Term) -> bool:
            return _undecided(node) or (node is named and isinstance(node, Map) and node.kind == "map")

        if axis in AXES and not any(undecided(each.term) for each in self._inside()):
            where = f" at {self._name}" if self._name else ""
            _refuse(
                f"no map{where} of which nothing has decided who computes it", "a map that computes something",
                "leave this step out, or split(...) or chunks(...) first",
            )  # fmt: skip
        return self._apply("lower_map", (kind, axis), where=undecided)

    def _kept(self, memory: str) -> DerivationCursor:
        return self._apply("to_memory", (memory,), where=lambda node: isinstance(node, Map) and node.kind != "map")


AXES: Final = ("x", "y", "z")
SHORT: Final = tuple(vars(DerivationCursor))


def steps_of(text: DerivationText) -> Callable[[DerivationCursor], None]:
    """Return how the steps are taken that a `.swz` file writes: calls of the position's methods, one after the other.

    Nothing of the file is run: names of methods are looked up here, and their arguments are constants.
    """

    def refuse(node: ast.AST, found: str, expected: str = 'steps: d.at("dot").chunks(32).to_blocks()') -> NoReturn:
        text.source.mistake(node, f"{found} in a derivation", expected, "write each step as a call on the position")

    def value(node: ast.expr) -> Any:
        match node:
            case ast.Name(id="hole"):
                return hole
            case ast.Constant(value=str(word)):
                return word
        return text.evaluate(node)

    def position(node: ast.expr, name: str, first: DerivationCursor) -> DerivationCursor:
        match node:
            case ast.Name(id=known) if known == name:
                return first
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if not method.startswith("_"):
                named = {str(each.arg): value(each.value) for each in node.keywords}
                given = [value(each) for each in node.args]
                before = position(inner, name, first)
                with reading(text.source.place(node), ""):
                    made: Callable[..., DerivationCursor] = getattr(before, method)
                    try:
                        return made(*given, **named)
                    except TypeError as error:
                        refuse(node, f"a wrong call of {method}: {error}")
        refuse(node, f"`{ast.unparse(node)}`")

    def take(first: DerivationCursor) -> None:
        parameters = text.node.args.args
        if len(parameters) != 1:
            refuse(text.node, f"{len(parameters)} parameters", "one, the position at which steps begin")
        for statement in text.node.body:
            match statement:
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    pass
                case ast.Expr(value=node):
                    position(node, parameters[0].arg, first)
                case _:
                    refuse(statement, f"`{type(statement).__name__.lower()}`")

    return take


def _undecided(node: Term) -> bool:
    """Tell whether nothing has decided yet who computes a map that computes something."""
    if not isinstance(node, Map) or node.kind != "map":
        return False
    return isinstance(node.function.body, Variable) or not only_moves(node)


def length_of(step: str, given: int | str | Expression) -> Expression:
    """Return a length that a user wrote in a step: a number, or a text such as "k / 32"."""
    if isinstance(given, str):
        try:
            return read_length(given)
        except SwizzleError as error:
            _refuse(f"{step}({given!r}): {error.found}", "a length such as k / 32", error.fix)
    if not isinstance(given, Expression) and (type(given) is not int or given < 1):
        _refuse(f"{step}({shown(given)})", "a whole number that is at least 1, or a text such as k / 32", "change it")
    return length(given)


def _refuse(found: str, expected: str, fix: str) -> NoReturn:
    raise SwizzleError(found, place=user_line()[0], expected=expected, fix=fix)
