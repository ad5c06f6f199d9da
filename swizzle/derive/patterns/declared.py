"""What stands above a derivation: `@derivation(spec=dot, u=f32["n"], v=f32["n"], n=4096)`.

    @derivation(spec=gemv_spec, A=f32["m", "k"], x=f32["k"], z=f32["m"], a=f32.scalar, b=f32.scalar, m=8, k=256)
    def gemv(d):
        d.split(4).to_blocks().to_warps()
        d.at("dot").strided(32).part(32).to_lanes().registers()
        d.at("dot").butterfly(lanes=hole)

The specification is a function of patterns; the lengths that are names get the numbers at which the kernel is made and
proved. `threads=` says how many threads a block has, where that is not what maps over them have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from types import FunctionType
from typing import Any, Final

from msgspec import Struct

from swizzle.derive.patterns.launches import LoweringRequest, at_lengths, lengths_in, type_at
from swizzle.derive.patterns.steps import DerivationCursor, DerivationProgress, steps_of
from swizzle.derive.patterns.written import IMPORTED
from swizzle.language.element_types import ArrayType, OpenArrayType, caller_place
from swizzle.language.parameters import MODULE_KEY, Parameters
from swizzle.language.specs.spec import UserFunction, user_function
from swizzle.language.specs.traced import PatternTracer, trace
from swizzle.sketches.declaration import OPTIONS
from swizzle.sketches.swz_file import DerivationText
from symbolic.errors import Place, SwizzleError, definition_place, users_code
from symbolic.patterns.reading import read_type
from symbolic.patterns.terms import Term, term
from symbolic.patterns.types import Typing, ValueType, length_names
from symbolic.rewriting.derivation import PatternDerivation

AXES: Final = "xyz"


class DeclaredDerivation(Struct, frozen=True, eq=False):
    """A derivation: of which specification, for inputs of which types and lengths, and the function that derives."""

    name: str
    derives: Callable[[Any], Any]
    spec: Any
    start: Any
    inputs: Mapping[str, ArrayType | OpenArrayType]
    lengths: Mapping[str, int]
    threads: Mapping[str, int]
    outputs: Sequence[str]
    place: Place

    def __repr__(self) -> str:
        return f"<derivation {self.name} at {self.place}>"

    @property
    def function(self) -> UserFunction:
        """The specification."""
        return _function(self.spec)

    @property
    def types(self) -> dict[str, ValueType]:
        """The inputs' types, with the lengths that are names."""
        return {name: read_type(_type_text(kind)) for name, kind in self.inputs.items()}

    def traced(self) -> tuple[Term, PatternTracer]:
        """Return what the derivation starts from: what the specification computes, or another function of patterns.

        That these are equal is not believed: what is derived is compared with the specification.
        """
        made, tracer = trace(self.function if self.start is None else _function(self.start), self.types)
        tracer.typing.type_of(made, tracer.names)
        return made, tracer

    def begun(self) -> DerivationProgress:
        """Return the derivation before its first step."""
        made, _ = self.traced()
        return DerivationProgress(PatternDerivation(made, self.types), set())

    def derived(self) -> DerivationProgress:
        """Return the expression that the steps lead to."""
        progress = self.begun()
        with users_code(f"the derivation {self.name}", self.derives, "steps, each of them a method of the position"):
            self.derives(DerivationCursor(progress))
        return progress

    def request(self, progress: DerivationProgress) -> LoweringRequest:
        """Return what is to be lowered: the expression at the lengths that are declared."""
        wanted = lengths_in(progress.derivation.now).union(*map(length_names, self.types.values()))
        if missing := sorted(wanted - {*self.lengths}):
            raise SwizzleError(
                f"no length for {', '.join(missing)}", place=self.place,
                expected="a number for each length that is a name", fix=f"write @derivation(..., {missing[0]}=1024)",
            )  # fmt: skip
        types = {name: type_at(kind, self.lengths) for name, kind in self.types.items()}
        typing = Typing(lambda _: self.place)
        typing.type_of(progress.derivation.now, self.types)
        for fact in typing.facts:
            if not fact.holds(self.lengths):
                lengths = ", ".join(f"{name} = {value}" for name, value in self.lengths.items())
                raise SwizzleError(
                    f"that {fact} is not so of {lengths}", place=self.place,
                    expected="lengths that the steps allow",
                    fix=f"choose another {' or '.join(sorted(fact.first.names | fact.second.names))}, or other steps",
                )  # fmt: skip
        made = term(at_lengths(progress.derivation.now, self.lengths))
        declared = {
            name: f"{kind.dtype.value}.below({kind.limit})" if kind.limit else f"{kind.dtype.value}.{kind.role}"
            for name, kind in self.inputs.items() if kind.limit or kind.role != "in"
        }  # fmt: skip
        return LoweringRequest(
            self.name, made, types, declared, self.outputs, self.threads, frozenset(progress.holes), self.place
        )


def _type_text(kind: ArrayType | OpenArrayType) -> str:
    return kind.dtype.value + (f"[{', '.join(map(str, kind.shape))}]" if kind.shape else "")


def derivation(
    *bare: Any,
    spec: Any = None,
    start: Any = None,
    threads: int | tuple[int, ...] = (),
    out: str | tuple[str, ...] = (),
    **given: Any,
) -> Callable[[Callable[[Any], Any]], DeclaredDerivation]:
    """Declare a derivation: the function below takes a `d` and applies rules to the specification's expression."""
    place = caller_place()

    def declared(derives: Callable[[Any], Any]) -> DeclaredDerivation:
        parameters: Parameters = getattr(derives, "__globals__", {}).get(MODULE_KEY, Parameters())
        name = getattr(derives, "__name__", "")
        return parameters.made(name, lambda: _declared(derives, bare, spec, start, threads, out, given, place))

    return declared(*bare) if bare else declared  # type: ignore[return-value]


def _declared(
    derives: Any, bare: Sequence[Any], spec: Any, start: Any, threads: Any, out: Any, given: Mapping[str, Any],
    place: Place,
) -> DeclaredDerivation:  # fmt: skip
    def refuse(found: str, expected: str, fix: str) -> SwizzleError:
        return SwizzleError(found, place=place, expected=expected, fix=fix)

    if bare or spec is None:
        raise refuse("@derivation without a specification", '@derivation(spec=..., x=f32["n"], n=1024)', "give it one")
    function, first = user_function(spec), user_function(start or spec)
    for each, own, what in ((function, spec, "specification"), (first, start, "start")):
        if each is None:
            raise refuse(f"the {what} is {own!r}", "a function of patterns", "write the function's name")
    assert function is not None and first is not None
    inputs, lengths = dict[str, ArrayType | OpenArrayType](), dict[str, int]()
    for name, value in given.items():
        if isinstance(value, ArrayType | OpenArrayType):
            if value.role in ("out", "inout"):
                raise refuse(
                    f"the input {name} is {value!r}", "inputs: results are what the specification returns",
                    f"write {name}={_type_text(value)}; out=... names results",
                )  # fmt: skip
            inputs[name] = value
        elif isinstance(value, int) and not isinstance(value, bool) and value > 0:
            lengths[name] = value
        else:
            raise refuse(f"{name}={value!r}", 'an array type, f32["n"], or a length, n=1024', "declare it so")
    for each, wanted in ((function, tuple(inputs)), (first, None)):
        if each.inputs != wanted and (wanted is not None or len(inputs) != len(each.inputs)):
            raise refuse(
                f"inputs {', '.join(inputs) or 'none'}", f"those of {each.name}, in order: {', '.join(each.inputs)}",
                "declare each input by its name",
            )  # fmt: skip
    if isinstance(derives, DerivationText):
        name, at, takes = derives.node.name, derives.source.place(derives.node), steps_of(derives)
    elif isinstance(derives, FunctionType) and derives.__code__.co_argcount == 1:
        code = derives.__code__
        name, at, takes = derives.__name__, Place(code.co_filename, code.co_firstlineno, 1), derives
    else:
        raise SwizzleError(
            f"@derivation on {getattr(derives, '__name__', repr(derives))}",
            place=definition_place(derives.__code__) if isinstance(derives, FunctionType) else place,
            expected="a function of one parameter, the position at which steps begin", fix="write def NAME(d):",
        )  # fmt: skip
    along, names = (threads,) if isinstance(threads, int) else threads, (out,) if isinstance(out, str) else out
    counted = isinstance(along, tuple) and all(type(each) is int and each > 0 for each in along)
    if not counted or len(along) > len(AXES):
        raise refuse(f"threads={threads!r}", "one to three counts", "write threads=256, or threads=(32, 8)")
    if not isinstance(names, tuple) or not all(isinstance(each, str) for each in names):
        raise refuse(f"out={out!r}", "the results' names", 'write out="y", or out=("u", "v")')
    for word in (*inputs, *names, name):
        if not word.isidentifier() or iskeyword(word) or word in (*OPTIONS, *IMPORTED, function.name):
            raise refuse(
                f"{word!r} as the name of an input, a result or a derivation",
                "a name that sketches, the specification and Swizzle do not use otherwise", "choose another",
            )  # fmt: skip
    sizes = dict(zip(AXES, along, strict=False))
    return DeclaredDerivation(name, takes, spec, start, inputs, lengths, sizes, names, at)


def declared_by(text: DerivationText) -> DeclaredDerivation:
    """Return a derivation of a `.swz` file."""
    given = dict(text.given)
    spec, start = given.pop("spec", None), given.pop("start", None)
    threads, out = given.pop("threads", ()), given.pop("out", ())
    return _declared(text, (), spec, start, threads, out, given, text.source.place(text.decorator))


def _function(given: object) -> UserFunction:
    found = user_function(given)
    assert found is not None
    return found
