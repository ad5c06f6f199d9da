"""The text of a lifted function, read once: its syntax tree with places, and what is not in the language refused.

What can be refused without running is refused here, with its place and what to write instead.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import linecache
import textwrap
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, Final, TypeAlias

from msgspec import Struct

from symbolic.errors import Place, SwizzleError

Definition: TypeAlias = ast.FunctionDef | ast.Lambda
LAZY: Final = ("enumerate", "zip", "map", "reversed")
"""What Python computes when it is asked for the next element."""
EATERS: Final = ("all", "any", "sum", "min", "max", "list", "tuple", "sorted", "all_of", "any_of")
"""What asks for all elements at once."""


class TextOrigin(Struct, frozen=True):
    """Where a syntax tree comes from: the file, how far its lines and columns are off, and what it has of `LAZY`."""

    file: str
    line: int = 0
    column: int = 0
    lazy: tuple[str, ...] = LAZY

    def place(self, node: ast.AST, function: str = "", called_from: Place | None = None) -> Place:
        """Return the place of a node; what spans several lines ends with its first."""
        line: int = getattr(node, "lineno", 1) + self.line
        text = linecache.getline(self.file, line)
        start = _characters(text, getattr(node, "col_offset", 0), self.column)
        same = getattr(node, "end_lineno", None) == getattr(node, "lineno", None)
        end = _characters(text, getattr(node, "end_col_offset", 0), self.column) if same else len(text.rstrip())
        return Place(self.file, line, start + 1, end + 1, called_from, function)


def _characters(text: str, offset: int, indent: int) -> int:
    """Return the number of characters in so many bytes of a line; Python counts columns in bytes."""
    return len(text.encode("utf-8")[: offset + indent].decode("utf-8", errors="ignore")) if text else offset + indent


class Code(Struct, frozen=True, eq=False):
    """A function as it is written: its name, parameters, statements, and the names that it assigns."""

    name: str
    text: TextOrigin
    node: Definition
    body: tuple[ast.stmt, ...]
    local: frozenset[str]
    bindings: dict[str, int]
    names_inside: bool = False
    """Whether expressions assign, by `:=`."""
    cells: frozenset[str] = frozenset()
    """The names that change and that functions in it see."""
    shared: frozenset[str] = frozenset()
    """These, and those that it declares `nonlocal`."""
    trusted: bool = False

    @property
    def parameters(self) -> ast.arguments:
        return self.node.args

    def arguments(self, call: ast.Call) -> dict[str, ast.expr]:
        """Return what a call gives, by parameter."""
        positional = [*self.parameters.posonlyargs, *self.parameters.args]
        given = {parameter.arg: each for parameter, each in zip(positional, call.args, strict=False)}
        return given | {each.arg: each.value for each in call.keywords if each.arg is not None}


def read(function: Any) -> Code:
    """Return a Python function's code; SwizzleError where it has none, or says what is not in the language."""
    if isinstance(function, staticmethod | classmethod | property):
        other = type(function).__name__
        raise SwizzleError(f"@lifted stands above @{other}", expected="a function", fix=f"put @lifted below @{other}")
    if not isinstance(function, FunctionType):
        raise SwizzleError(
            f"@lifted was given {function!r}", expected="a function made by `def`",
            fix="put @lifted directly above `def`, below every other decorator",
        )  # fmt: skip
    text, node = _definition(function)
    outside = _around(node, True)
    for each in ast.walk(node):
        if isinstance(each, ast.Nonlocal) and not outside.isdisjoint(each.names):
            _refuse(text.place(each, node.name), *REFUSED["Nonlocal"])
    return code_of(node, text, trusted=True)


def code_of(node: Definition, text: TextOrigin, eaters: Container[str] = EATERS, *, trusted: bool = False) -> Code:
    """Return the code of a function's syntax tree; SwizzleError for what is not in the language, of which a text that
    is trusted has more (`OF_TRUSTED`).

    `eaters`, besides `EATERS`, are the names of what runs over a generator at once.
    """
    name = node.name if isinstance(node, ast.FunctionDef) else "lambda"
    body = tuple(node.body) if isinstance(node, ast.FunctionDef) else (ast.copy_location(_returned(node), node.body),)
    _check(node, text, name, eaters, trusted)
    bindings = _bindings(node, body)
    walrus = [each.target for each in ast.walk(node) if isinstance(each, ast.NamedExpr)]
    if not trusted:
        return Code(name, text, node, body, frozenset(bindings), bindings, bool(walrus))
    cells = _seen_inside(body, bindings)
    shared = cells | _nonlocals(body)
    for each in walrus:
        if each.id in shared:
            _refuse(text.place(each, name), f"`:=` gives {each.id}, which inner functions share, another value",
                    "a statement of its own", f"{each.id} = ...")  # fmt: skip
    return Code(name, text, node, body, frozenset(bindings), bindings, bool(walrus), cells, shared, trusted)


def _returned(node: ast.Lambda) -> ast.Return:
    return ast.Return(value=node.body)


def _definition(function: FunctionType) -> tuple[TextOrigin, ast.FunctionDef]:
    """Return the `def` of a function in its file, or in its own text where the file is no Python by itself."""
    code = function.__code__
    try:
        inspect.getsource(function)  # lets linecache find what notebooks, doctests and zip files hold
        lines = linecache.getlines(code.co_filename, function.__globals__) or inspect.getsourcelines(function)[0]
    except (OSError, TypeError):
        raise SwizzleError(
            f"the text of {function.__name__} is not at hand", expected="a function that is written in a file",
            fix="save it as a file and import it; what `exec` makes cannot be lifted",
        ) from None  # fmt: skip
    for tree, text in _trees(function, lines):
        for node in ast.walk(tree):
            first = min(
                (each.lineno for each in getattr(node, "decorator_list", [])), default=getattr(node, "lineno", 0)
            )
            if getattr(node, "name", "") == code.co_name and first + text.line == code.co_firstlineno:
                if isinstance(node, ast.FunctionDef):
                    return text, node
                if isinstance(node, ast.AsyncFunctionDef):
                    _refuse(text.place(node), f"{node.name} is asynchronous", "a function that runs at once", "def")
    raise SwizzleError(
        f"@lifted was given {function.__name__}, which no `def` makes", expected="a function made by `def`",
        fix="def f(x): return ...",
    )  # fmt: skip


def _trees(function: FunctionType, lines: list[str]) -> Iterator[tuple[ast.Module, TextOrigin]]:
    file = function.__code__.co_filename
    with contextlib.suppress(SyntaxError):
        yield ast.parse("".join(lines)), TextOrigin(file)
    own, first = inspect.getsourcelines(function)
    source = textwrap.dedent("".join(own))
    indent = len(own[0]) - len(own[0].lstrip())
    with contextlib.suppress(SyntaxError):
        yield ast.parse(source), TextOrigin(file, first - 1, indent)


# ---- names -----------------------------------------------------------------------------------------------------


def _bindings(node: Definition, body: tuple[ast.stmt, ...]) -> dict[str, int]:
    """Return how often each name of a function is assigned; what a loop assigns counts as twice."""
    found: dict[str, int] = {}

    def bind(name: str, times: int) -> None:
        found[name] = found.get(name, 0) + times

    def visit(each: ast.AST, times: int) -> None:
        match each:
            case ast.FunctionDef(name=name):
                bind(name, times)
                return
            case ast.Lambda() | ast.ListComp() | ast.GeneratorExp() | ast.DictComp() | ast.SetComp():
                return  # names of their own
            case ast.Name(id=name, ctx=ast.Store()) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bind(name, times)
            case ast.MatchMapping(rest=str(name)):
                bind(name, times)
            case ast.AugAssign(target=ast.Name(id=name)):
                bind(name, times + 1)
            case ast.For() | ast.While():
                times = 2
        for child in ast.iter_child_nodes(each):
            visit(child, times)

    for parameter in [*parameters_of(node.args), *stars_of(node.args)]:
        bind(parameter.arg, 1)
    for statement in body:
        visit(statement, 1)
    for name in _nonlocals(body):
        found.pop(name, None)
    return found


def _own(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield what is below statements, but what is in functions that they make."""
    for each in body:
        yield each
        if not isinstance(each, ast.FunctionDef | ast.Lambda):
            yield from _own(ast.iter_child_nodes(each))


def _nonlocals(body: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that a function's statements declare `nonlocal`."""
    return frozenset(name for each in _own(body) if isinstance(each, ast.Nonlocal) for name in each.names)


def _around(node: Definition, changed: bool) -> set[str]:
    """Return the names of the functions around it that a function sees, or that it assigns (`changed`)."""
    body: Any = node.body if isinstance(node, ast.FunctionDef) else [node.body]
    found = set(_nonlocals(body))
    for each in _own(body):
        if isinstance(each, ast.FunctionDef | ast.Lambda):
            found |= _around(each, changed)
        elif isinstance(each, ast.Name) and not changed:
            found.add(each.id)
    return found - _bindings(node, tuple(body)).keys()


def _seen_inside(body: Sequence[ast.stmt], bindings: Mapping[str, int]) -> frozenset[str]:
    """Return which names of a function change and are seen by functions in it."""
    inner = [each for each in _own(body) if isinstance(each, ast.FunctionDef | ast.Lambda)]
    changed = {name for each in inner for name in _around(each, True)}
    seen = {name for each in inner for name in _around(each, False)}
    return frozenset(name for name in bindings if name in changed or (name in seen and bindings[name] > 1))


def parameters_of(arguments: ast.arguments) -> list[ast.arg]:
    """Return all parameters in order."""
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def stars_of(arguments: ast.arguments) -> list[ast.arg]:
    """Return the parameters for all other arguments."""
    return [each for each in (arguments.vararg, arguments.kwarg) if each is not None]


# ---- what is not in the language -------------------------------------------------------------------------------

_ASK: Final = "ordinary statements and expressions"
REFUSED: Final[dict[str, tuple[str, str, str]]] = {
    "Try": (
        "`try`: what fails must not happen, and nothing can catch it",
        "a test before what may fail",
        "if x != 0: ...",
    ),
    "TryStar": (
        "`try`: what fails must not happen, and nothing can catch it",
        "a test before what may fail",
        "if x != 0: ...",
    ),
    "With": ("`with` in a lifted function", "the block around the call", "with ...: f(x)"),
    "AsyncWith": ("`with` in a lifted function", "the block around the call", "with ...: f(x)"),
    "AsyncFor": ("`async` in a lifted function", _ASK, "for"),
    "AsyncFunctionDef": ("`async` in a lifted function", _ASK, "def"),
    "Await": ("`await` in a lifted function", _ASK, "call it before"),
    "Yield": ("`yield`: a generator stops half way, which a merged state cannot", "a list", "out = out + [x]"),
    "YieldFrom": ("`yield`: a generator stops half way, which a merged state cannot", "a list", "out = out + xs"),
    "Global": ("`global`: a lifted function changes only its own names", "a value that is returned", "return ..."),
    "Nonlocal": ("`nonlocal`: a lifted function changes only its own names", "a value that is returned", "return ..."),
    "Import": ("`import` in a lifted function", "the import above it", "import ... at the top of the file"),
    "ImportFrom": ("`import` in a lifted function", "the import above it", "import ... at the top of the file"),
    "ClassDef": ("a class in a lifted function", "the class above it", "@dataclass(frozen=True) above the function"),
    "Delete": ("`del` in a lifted function", "a new list", "xs = xs[:i] + xs[i + 1:]"),
    "Match": ("`match` in a lifted function", "a chain of tests", "if ...: ... elif ...: ..."),
    "NamedExpr": ("`:=`: an expression does not assign here", "a statement before", "name = ..."),
    "Dict": ("a dict in a lifted function", "a dict made outside, or a list of pairs", "[(key, value), ...]"),
    "DictComp": ("a dict in a lifted function", "a dict made outside, or a list of pairs", "[(k, v) for k, v in ...]"),
    "Set": ("a set in a lifted function", "a tuple", "x in (a, b)"),
    "SetComp": ("a set in a lifted function", "a list", "[... for x in xs]"),
    "Starred": ("`*` takes a sequence apart whose length may depend on a condition", "each by itself", "xs[0], xs[1]"),
    "JoinedStr": ("text made of values", "a constant text", '"..."'),
}


OF_TRUSTED: Final = ("Dict", "DictComp", "JoinedStr", "Match", "NamedExpr", "Set", "SetComp")
"""What a stranger's text may not have, and a lifted function may."""


def _check_stars(node: Definition, text: TextOrigin, name: str) -> None:
    for star in stars_of(node.args):
        _refuse(text.place(star, name), f"{name} takes any number of arguments", "named parameters", f"def {name}(xs)")


def _check(node: Definition, text: TextOrigin, name: str, eaters: Container[str], trusted: bool) -> None:
    if not trusted:
        _check_stars(node, text, name)
    eaten = _eaten(node, eaters)
    displays = [each for each in ast.walk(node) if isinstance(each, ast.Tuple | ast.List)]
    displayed = {id(part) for each in displays if trusted or isinstance(each.ctx, ast.Load) for part in each.elts}
    if trusted:
        displayed |= {id(part) for each in ast.walk(node) if isinstance(each, ast.Call) for part in each.args}
    for each in _walk(node):
        _check_lambdas(each, text, name)
        refused = REFUSED.get(type(each).__name__)
        if trusted and type(each).__name__ in (*OF_TRUSTED, "Nonlocal"):
            refused = None
        if refused and not (isinstance(each, ast.Starred) and id(each) in displayed):
            _refuse(text.place(each, name), *refused)
        match each:
            case ast.AnnAssign(value=None):
                _refuse(text.place(each, name), "a name is announced and not assigned", "a value", "name: int = 0")
            case ast.FunctionDef(decorator_list=[decorator, *_]) if each is not node:
                _refuse(text.place(decorator, name), "a decorator in a lifted function", "a plain `def`", "def f(x):")
            case ast.GeneratorExp() if id(each) not in eaten:
                _refuse(
                    text.place(each, name), "a generator, of which it is not known how far it will be asked",
                    "a list", f"[{ast.unparse(each)[1:-1]}]",
                )  # fmt: skip
            case ast.Call(func=ast.Name(id=lazy)) if lazy in text.lazy and id(each) not in eaten:
                _refuse(
                    text.place(each, name), f"`{lazy}` is kept, which Python runs over once, and only when it is asked",
                    "a list", f"list({ast.unparse(each)})",
                )  # fmt: skip
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp() | ast.SetComp() if any(
                isinstance(n, ast.NamedExpr) for n in ast.walk(each)
            ):
                _refuse(
                    text.place(each, name), "`:=` in a comprehension", "a loop", "for x in xs: ...; out.append(...)"
                )
            case ast.comprehension(is_async=1):
                _refuse(text.place(each.target, name), *REFUSED["AsyncFor"])
            case ast.Attribute(attr=attribute) if attribute.startswith("__"):
                _refuse(text.place(each, name), f"`.{attribute}` looks behind a value", "its fields", "a field's name")


def _check_lambdas(node: ast.AST, text: TextOrigin, name: str) -> None:
    """Refuse lambdas that would see how a comprehension goes on."""
    if not isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp):
        return
    targets = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    for made in (n for n in ast.walk(node) if isinstance(n, ast.Lambda)):
        own = {parameter.arg for parameter in parameters_of(made.args)}
        for free in ast.walk(made.body):
            if isinstance(free, ast.Name) and free.id in targets - own:
                _refuse(
                    text.place(free, name), f"{free.id} changes, and the lambda sees only what it is here",
                    "a parameter of the lambda", f"lambda {free.id}: ...",
                )  # fmt: skip


def names_given(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    """Return the names that an assignment gives, each to an expression; none of any other statement."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return [(name, value)]
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(
            values
        ) and all(isinstance(each, ast.Name) for each in targets):
            return [(target.id, value) for target, value in zip(targets, values, strict=True)]  # type: ignore[attr-defined]
    return []


def check_grammar(code: Code) -> None:
    """Refuse what is no grammar: expressions that are named, each name once, and returned, under tests."""
    _check_stars(code.node, code.text, code.name)
    for each in _walk(code.node):
        if isinstance(each, ast.stmt) and not isinstance(each, ast.If | ast.Return | ast.Expr) and not (
            names_given(each)
        ):  # fmt: skip
            _refuse(
                code.text.place(each, code.name), f"`{ast.unparse(each).splitlines()[0]}` in a grammar",
                "expressions that are named or returned, under tests", "return choose(...)",
            )  # fmt: skip
    for each in _walk(code.node):
        for name, _ in names_given(each) if isinstance(each, ast.stmt) else ():
            if code.bindings[name] > 1:
                _refuse(
                    code.text.place(each, code.name), f"{name} is named twice in a grammar", "each name once",
                    "another name",
                )  # fmt: skip


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is below a function but its annotations, decorators, the text of its assertions and exceptions."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "msg", "exc"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                yield from _walk(child)


def _eaten(node: ast.AST, eaters: Container[str]) -> set[int]:
    """Return the expressions that are run over at once, by a call, a loop or a comprehension."""
    found: set[int] = set()
    for each in ast.walk(node):
        match each:
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in EATERS or name in LAZY or name in eaters:
                found |= {id(argument) for argument in arguments}
            case ast.For(iter=sequence) | ast.comprehension(iter=sequence):
                found.add(id(sequence))
    return found


def _refuse(place: Place, found: str, expected: str, fix: str) -> None:
    raise SwizzleError(found, place=place, expected=expected, fix=fix)
