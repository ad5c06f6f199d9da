"""Do the kernels of a host function, one after the other, compute its specification, and at which lengths?

Each kernel runs by the machine over canonical terms, on what the kernels before it have left in their arrays. So what
the last one stores are terms over the host function's inputs, and must be the specification's: for all inputs, at the
declared sizes.

May the kernels of a host function, each of any length by itself, together be run at any length?

The length of each launch is a multiple of the host function's plus a constant: a kernel whose output the next one
reads with a halo of two takes `n + 2`. If two launches take one array, its extents must be the same for every n. Then
it is shown as for one kernel (`answers.emit.any_length`): the launches run without their bounds on arrays that never
end, and what they leave in a block of the host function, of which each launch has whole blocks, is the specification's,
moved from block to block. By its own conditions, each kernel computes what is inside its arrays from
what is inside of them, so the last blocks do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm, prod
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.tiling.tiling import AXES, Span, TiledAxis, Tiling, largest_indices
from cuda_out.tiling.trips import with_length, without_bounds
from swizzle.answers.emit.any_length.conditions import MAX_CELLS, Fixed, FixedSize, LengthConditions, own_lengths
from swizzle.answers.emit.any_length.continuation import MeaningAt
from swizzle.language.specs.launching import launched
from swizzle.language.specs.specification import Meaning, inputs, outputs, symbolic_inputs
from swizzle.sketches.host import HostLaunch, HostSketch
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.numbers import Lanes
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.ir.index import cell_name, unflattened
from symbolic.ir.program import Axis, Parameter, Program
from symbolic.machine.machine import Machine


class FilledHost(Struct, frozen=True):
    """A host function whose kernels have no holes; `programs` are theirs, by name."""

    host: HostSketch
    programs: Mapping[str, Program]
    spec: Callable[..., Any]

    @property
    def face(self) -> Program:
        """A program with the host function's parameters, and with all statements of its kernels, for what looks at
        those only."""
        bodies = (self.programs[kernel.name].body for kernel in self.host.kernels)
        return replace(self.host.face, body=tuple(stmt for body in bodies for stmt in body))


class Composition(Struct, frozen=True):
    """How many output elements were compared with the specification, and what is wrong, in the user's words."""

    elements: int
    findings: tuple[str, ...]
    broken: bool = False


SHOWN = 3


def composed(filled: FilledHost) -> Composition:
    """Compare what the kernels leave with the specification, for all inputs."""
    host, face = filled.host, filled.host.face
    meaning = Meaning.of(face, filled.spec)
    terms, memory = meaning.terms, dict[str, Lanes]()
    memory.update(symbolic_inputs(face, terms))
    elements = sum(map(len, meaning.wanted.values()))
    for number, launch in enumerate(host.launches):
        program = filled.programs[launch.kernel.name]
        findings = left_by(program, launch.arrays, memory, terms, read_after(host, number))
        if findings:
            where = f"launch {number + 1}, {launch.kernel.name} at {launch.place}"
            return Composition(elements, tuple(f"{where}: {each}" for each in findings[:SHOWN]), broken=True)
    findings = []
    for parameter in outputs(face):
        got, want = memory[parameter.name], np.array(meaning.wanted[parameter.name], np.int64)
        for address in np.flatnonzero(got != want).tolist():
            cell = cell_name(parameter.name, parameter.shape, address)
            shown = terms.show(int(got[address])), terms.show(int(want[address]))
            findings.append(f"{cell} is {shown[0]}, the specification says {shown[1]}")
            if len(findings) == SHOWN:
                return Composition(elements, tuple(findings))
    return Composition(elements, tuple(findings))


def read_after(host: HostSketch, number: int) -> set[str]:
    """Return the arrays that the launches after one of them read."""
    return {
        name
        for other in host.launches[number + 1 :]
        for name, parameter in zip(other.arrays, other.kernel.program.parameters, strict=True)
        if parameter.role != "out"
    }


def left_by(
    program: Program, arrays: Sequence[str], memory: dict[str, Lanes], terms: Terms, later: Collection[str]
) -> Sequence[str]:
    """Run one kernel on the arrays of these names; return what it does wrong, whatever the specification says.

    `later` are the arrays that kernels after it read: of these, what a store rounds or cuts off is lost.
    """
    names = dict(zip((p.name for p in program.parameters), arrays, strict=True))
    given = {p.name: memory[names[p.name]] for p in program.parameters if p.role != "out"}
    unwritten = {name for name, array in given.items() if (array == UNWRITTEN).any()}
    read_later = [own for own, name in names.items() if name in later]
    run = Machine(program, Canonical(terms), given, read_later=read_later).run()
    if run.violations:
        return [str(violation.error()) for violation in run.violations]
    found = []
    for parameter in outputs(program):
        array = run.memories[parameter.name]
        left = np.where(array.written, array.data, UNWRITTEN)
        if unwritten and (left[array.written] == UNWRITTEN).any():
            name = sorted(unwritten)[0]
            address = int(np.flatnonzero(given[name] == UNWRITTEN)[0])
            shape = next(p.shape for p in program.parameters if p.name == name)
            found.append(f"it reads {cell_name(name, shape, address)}, which no kernel before it has stored")
            break
        # of an output that another kernel has stored a part of, the rest stays
        before = memory.get(names[parameter.name], np.full(prod(parameter.shape), UNWRITTEN, np.int64))
        memory[names[parameter.name]] = np.where(array.written, left, before)
    return found


Key: TypeAlias = tuple[int, Axis]
"""A tiled axis of a launch, by the launch's number."""
BEYOND: Final = "what is beyond the arrays"


class LaunchLength(Struct, frozen=True):
    """The length of a launch along one axis: `scale` times that of the host function along `axis`, and `add`."""

    axis: Axis
    scale: int
    add: int

    def at(self, lengths: Mapping[Axis, int]) -> int:
        return self.scale * lengths[self.axis] + self.add


class HostTiling(Struct, frozen=True):
    """The lengths of a host function: `tiling` has the spans of its arrays, those that are handed on among them,
    `kernels` the tiling of each kernel that takes any length, and `launches` the lengths of each launch."""

    tiling: Tiling
    kernels: Mapping[str, Tiling]
    launches: tuple[Mapping[Axis, LaunchLength], ...]


def lengths_of_grids(filled: FilledHost) -> HostTiling | FixedSize:
    """Find the lengths that a verified host function may have as its kernels may have more blocks."""
    try:
        return _Found(filled).checked()
    except Fixed as no:
        return FixedSize(str(no), filled.host.place)


class _Found:
    def __init__(self, filled: FilledHost) -> None:
        self.filled, self.host = filled, filled.host
        self.arrays = {p.name: p for p in (*self.host.parameters, *self.host.scratch)}
        self.kernels: dict[str, Tiling] = {}
        self.why: dict[str, str] = {}

    def checked(self) -> HostTiling:
        for name, program in self.filled.programs.items():
            self._ask(name, program, AXES)
        while self._drop_fixed():
            pass
        if not self.kernels:
            raise Fixed("; ".join(f"{name}: {why}" for name, why in self.why.items()))
        relations = self._relations()
        tiling, launches = self._tiling(relations)
        found = HostTiling(tiling, self.kernels, launches)
        checked = _HostConditions(self.filled, found).check()
        return replace(found, tiling=replace(tiling, axes=checked.axes, evidence=checked.evidence))

    def _ask(self, name: str, program: Program, axes: tuple[Axis, ...]) -> None:
        sizes = own_lengths(program, axes) if axes else None
        if isinstance(sizes, Tiling):
            self.kernels[name] = sizes
        else:
            self.kernels.pop(name, None)
            if sizes is not None:
                self.why[name] = str(sizes)

    def _spans(self, name: str) -> Iterator[tuple[int, HostLaunch, tuple[Span | None, ...]]]:
        """Yield how each launch that takes an array has its extents grow."""
        for number, launch in enumerate(self.host.launches):
            for own, array in zip(launch.kernel.program.parameters, launch.arrays, strict=True):
                if array == name:
                    tiling = self.kernels.get(launch.kernel.name)
                    yield number, launch, tiling.spans[own.name] if tiling else (None,) * len(own.shape)

    def _drop_fixed(self) -> bool:
        """Fix an axis of a kernel along which an array grows, if another kernel takes that array as it is.

        Returns whether there was one.
        """
        for name, parameter in self.arrays.items():
            users = list(self._spans(name))
            for dimension in range(len(parameter.shape)):
                growing = [launch.kernel.name for _, launch, spans in users if spans[dimension] is not None]
                still = [launch for _, launch, spans in users if spans[dimension] is None]
                if growing and still:
                    kernel = growing[0]
                    span = next(s[dimension] for _, launch, s in users if launch.kernel.name == kernel)
                    assert span is not None
                    whole = next((each.kernel.name for each in still if each.kernel.name in self.kernels), None)
                    if whole is not None:
                        self.why.setdefault(
                            whole, f"it takes all of {name} at any length, of which {kernel} takes a part"
                        )
                    kept = tuple(a.axis for a in self.kernels[kernel].axes if a.axis != span.axis)
                    self._ask(kernel, self.filled.programs[kernel], kept)
                    return True
        return False

    def _relations(self) -> dict[Key, tuple[Key, Fraction, Fraction]]:
        """Return for each axis of a launch the axis that it follows, and by which factor and constant.

        The first of the axes that an array ties together is what the others follow.
        """
        found: dict[Key, tuple[Key, Fraction, Fraction]] = {}
        for number, launch in enumerate(self.host.launches):
            for axis in self.kernels[launch.kernel.name].axes if launch.kernel.name in self.kernels else ():
                found[number, axis.axis] = ((number, axis.axis), Fraction(1), Fraction(0))
        for name, parameter in self.arrays.items():
            for dimension in range(len(parameter.shape)):
                ties = [(number, spans[dimension]) for number, _, spans in self._spans(name)]
                for number, span in ties:
                    if span is not None and ties[0][1] is not None:
                        self._tie(found, (ties[0][0], ties[0][1]), (number, span), name)
        return found

    def _tie(
        self,
        found: dict[Key, tuple[Key, Fraction, Fraction]],
        one: tuple[int, Span],
        other: tuple[int, Span],
        name: str,
    ) -> None:
        """Make two launches take one array: `a.scale * n + a.halo` of the one is that of the other."""
        root, scale, add = found[one[0], one[1].axis]
        scale, add = one[1].scale * scale, one[1].scale * add + one[1].halo
        own, factor, constant = found[other[0], other[1].axis]
        factor, constant = other[1].scale * factor, other[1].scale * constant + other[1].halo
        if own == root:
            if (factor, constant) != (scale, add):
                raise Fixed(f"{name} would need two lengths, as its kernels take different parts of it")
            return
        for key, (follows, by, plus) in found.items():
            if follows == own:
                found[key] = (root, by * scale / factor, plus + by * (add - constant) / factor)

    def _tiling(
        self, relations: Mapping[Key, tuple[Key, Fraction, Fraction]]
    ) -> tuple[Tiling, tuple[Mapping[Axis, LaunchLength], ...]]:
        """Name the lengths of the host function by axes, whole numbers of which make those of the launches."""
        roots = dict.fromkeys(root for root, _, _ in relations.values())
        if len(roots) > len(AXES):
            raise Fixed(f"its kernels have {len(roots)} lengths that do not follow from each other, not {len(AXES)}")
        axis_of: dict[Key, Axis] = {}
        for root in roots:
            free = [axis for axis in AXES if axis not in axis_of.values()]
            axis_of[root] = root[1] if root[1] in free else free[0]
        lengths: dict[Key, LaunchLength] = {}
        axes = []
        for root in roots:
            own = {key: (by, plus) for key, (follows, by, plus) in relations.items() if follows == root}
            base = self._measured(own, root)
            own = {key: (by / base[0], plus - by * base[1] / base[0]) for key, (by, plus) in own.items()}
            whole = lcm(*(by.denominator for by, _ in own.values()))
            if any(plus.denominator > 1 for _, plus in own.values()):
                raise Fixed("the lengths of its kernels are no whole multiples of one length")
            for key, (by, plus) in own.items():
                lengths[key] = LaunchLength(axis_of[root], int(by * whole), int(plus))
            axes.append(self._axis(axis_of[root], {key: lengths[key] for key in own}))
        launches = tuple(
            {axis: lengths[n, axis] for n, axis in lengths if n == number} for number in range(len(self.host.launches))
        )
        spans = {name: self._span(name, p, lengths) for name, p in self.arrays.items()}
        return Tiling(tuple(axes), spans), launches

    def _measured(self, own: Mapping[Key, tuple[Fraction, Fraction]], root: Key) -> tuple[Fraction, Fraction]:
        """Return the factor and the constant of the launch axis whose length counts: that of the first output."""
        for parameter in self.host.parameters:
            if parameter.role in ("out", "inout"):
                for number, _, spans in self._spans(parameter.name):
                    for span in spans:
                        if span is not None and (number, span.axis) in own:
                            return own[number, span.axis]
        return own[root]

    def _axis(self, name: Axis, launches: Mapping[Key, LaunchLength]) -> TiledAxis:
        """Return a length of the host function: its blocks, and its steps, are whole ones of every launch."""
        tile, step, declared = 1, 1, 0
        for (number, axis), length in launches.items():
            own = next(a for a in self.kernels[self.host.launches[number].kernel.name].axes if a.axis == axis)
            tile = lcm(tile, own.tile // gcd(own.tile, length.scale))
            step = lcm(step, own.step // gcd(own.step, length.scale))
            if length.add % own.step:
                kernel = self.host.launches[number].kernel.name
                raise Fixed(
                    f"{kernel} takes multiples of {own.step}, and its length is {length.add} more than another's"
                )
            declared = (own.declared - length.add) // length.scale
        return TiledAxis(name, tile, step, declared)

    def _span(self, name: str, parameter: Parameter, lengths: Mapping[Key, LaunchLength]) -> tuple[Span | None, ...]:
        number, _, spans = next(self._spans(name), (0, None, (None,) * len(parameter.shape)))
        found: list[Span | None] = []
        for span in spans:
            if span is None:
                found.append(None)
                continue
            length = lengths[number, span.axis]
            found.append(Span(length.axis, span.scale * length.scale, span.scale * length.add + span.halo))
        return tuple(found)


class _HostConditions(LengthConditions):
    """The conditions of all launches together, on the arrays of the host function."""

    def __init__(self, filled: FilledHost, found: HostTiling) -> None:
        super().__init__(filled.host.face, filled.spec, found.tiling)
        self.filled, self.found = filled, found

    def with_step(self, axis: TiledAxis) -> TiledAxis:
        return axis

    def with_reach(self, axis: TiledAxis) -> TiledAxis:
        return axis

    def run(self) -> tuple[MeaningAt, Mapping[Axis, int]]:
        """Run the launches without their bounds, on two blocks of the host function along each axis."""
        blocks = {axis.axis: 2 for axis in self.tiling.axes}
        lengths = {axis.axis: 2 * axis.tile for axis in self.tiling.axes}
        programs, shapes = self._programs(lengths)
        inside = {p.name: _inside(p.shape, self.tiling.shape(p, lengths)) for p in shapes.values()}
        beyond = max(prod(p.shape) for p in shapes.values())
        terms, memory = Terms(), {}
        strangers = np.array(terms.atoms(BEYOND, beyond), np.int64)
        for p in shapes.values():
            given = p.name in {q.name for q in self.program.parameters if q.role != "out"}
            unwritten = np.full(prod(p.shape), UNWRITTEN, np.int64)
            memory[p.name] = np.array(terms.atoms(p.name, prod(p.shape)), np.int64) if given else unwritten
        for number, (launch, program) in enumerate(zip(self.filled.host.launches, programs, strict=True)):
            for name in launch.arrays:
                own = memory[name]
                memory[name] = np.where((own == UNWRITTEN) & ~inside[name], strangers[: len(own)], own)
            later = read_after(self.filled.host, number)
            if findings := left_by(program, launch.arrays, memory, terms, later):
                raise Fixed(f"without the bounds that the arrays' lengths set, {launch.kernel.name}: {findings[0]}")
        parameters = tuple(replace(p, shape=shapes[p.name].shape) for p in self.program.parameters)
        extra = Parameter(BEYOND, parameters[0].dtype, (beyond,), "in", self.program.place)
        results: dict[str, list[Term]] = {}
        for p in parameters:
            if p.role in ("out", "inout"):
                results[p.name] = np.where(inside[p.name], memory[p.name], UNWRITTEN).tolist()
        self.tiling = replace(self.tiling, spans={**self.tiling.spans, BEYOND: (None,)})
        return MeaningAt(lengths, replace(self.program, parameters=(*parameters, extra)), terms, results), blocks

    def _programs(self, lengths: Mapping[Axis, int]) -> tuple[list[Program], dict[str, Parameter]]:
        """Return each launch's program on as many blocks as the lengths take, and each array as large as all need."""
        programs, host = [], self.filled.host
        shapes = {p.name: p for p in (*host.parameters, *host.scratch)}
        reached: dict[str, tuple[int, ...]] = {name: self.tiling.shape(p, lengths) for name, p in shapes.items()}
        for launch, own in zip(host.launches, self.found.launches, strict=True):
            program, tiling = self.filled.programs[launch.kernel.name], self.found.kernels.get(launch.kernel.name)
            if tiling is not None:
                whole = {a.axis: a.tile * a.blocks(own[a.axis].at(lengths)) for a in tiling.axes}
                program = tiling.at(without_bounds(program, tiling), whole)
            programs.append(program)
            far = largest_indices(program)
            for p, name in zip(program.parameters, launch.arrays, strict=True):
                furthest = [last + 1 for last in far.get(p.name, (0,) * len(p.shape))]
                extents = zip(reached[name], p.shape, furthest, self.tiling.spans[name], strict=True)
                large = tuple(max(a, b, c) if span else a for a, b, c, span in extents)
                if prod(large) > MAX_CELLS:
                    raise Fixed(f"{name} is reached too far from its block")
                reached[name] = tuple(map(int, large))
        shapes = {name: replace(p, shape=reached[name]) for name, p in shapes.items()}
        for number, (launch, program) in enumerate(zip(host.launches, programs, strict=True)):
            named = zip(program.parameters, launch.arrays, strict=True)
            parameters = tuple(replace(p, shape=reached[name]) for p, name in named)
            programs[number] = replace(program, parameters=parameters)
        return programs, shapes


class MovedMeaning:
    """What a kernel of any length makes of its inputs, at the lengths that their shapes say: for validation.

    It runs without bounds on whole blocks, on inputs with ones behind their ends, which reach nothing inside.
    """

    def __init__(self, program: Program, tiling: Tiling) -> None:
        self.program, self.tiling = program, tiling

    def __call__(self, *arrays: Any) -> Mapping[str, Any]:
        given = dict(zip((p.name for p in inputs(self.program)), map(np.asarray, arrays), strict=True))
        lengths = self.tiling.declared
        for name, array in given.items():
            for extent, span in zip(array.shape, self.tiling.spans[name], strict=True):
                if span is not None:
                    lengths[span.axis] = (extent - span.halo) // span.scale
        if self.tiling.of_loops:  # nothing else grows, and what is behind the end is masked
            here = self.tiling.at(with_length(self.program, self.tiling, lengths["k"]), lengths)
            return launched(here, list(given.values()))
        wide = self.tiling.at(
            without_bounds(self.program, self.tiling),
            {a.axis: a.tile * a.blocks(lengths[a.axis]) for a in self.tiling.axes},
        )
        far, parameters = largest_indices(wide), []
        for p in wide.parameters:
            furthest = far.get(p.name, (0,) * len(p.shape))
            extents = zip(p.shape, furthest, self.tiling.spans[p.name], strict=True)
            parameters.append(replace(p, shape=tuple(int(max(a, b + 1)) if span else a for a, b, span in extents)))
        wide = replace(wide, parameters=tuple(parameters))
        padded = []
        for p in inputs(wide):
            ends = [(0, extent - own) for extent, own in zip(p.shape, given[p.name].shape, strict=True)]
            padded.append(np.pad(given[p.name], ends, constant_values=1) if ends else given[p.name])
        left = launched(wide, padded)
        declared = {p.name: p for p in self.program.parameters}
        return {
            name: value[tuple(map(slice, self.tiling.shape(declared[name], lengths)))] for name, value in left.items()
        }


def _inside(shape: tuple[int, ...], extents: tuple[int, ...]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell of each element of an array whether its index is within some extents."""
    return np.array([
        all(i < extent for i, extent in zip(unflattened(shape, at), extents, strict=True)) for at in range(prod(shape))
    ])  # fmt: skip
