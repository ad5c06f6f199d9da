"""A sketch prepared for search: run once with open holes, with its points, its outputs and its accumulates.

The run computes, for all threads, everything that does not depend on holes; the rest stays deferred. The same problem
serves every space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from swizzle.language.specs.specification import Meaning, outputs, symbolic_inputs
from swizzle.language.specs.verify import Mismatch, compare, run_canonical
from swizzle.solving.problem.mixing import mixes
from swizzle.solving.problem.nested import by_points, points_reached
from swizzle.solving.problem.stored_states import with_states
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.operator_laws import find_law
from symbolic.algebra.orders import accumulation
from symbolic.algebra.tally import Constant, Question, Size, Tally, Unwritten
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.ir.program import Program
from symbolic.ir.sites import Site
from symbolic.machine.arrays import NamedRows
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.machine import Machine
from symbolic.machine.memory import Snapshot, hit_at
from symbolic.machine.run import Accumulated, Run
from symbolic.values.data import Data, require
from symbolic.values.guard import Guard
from symbolic.values.union import Union
from symbolic.values.vector import Deferred, Encoding, HoleQuestion, Lanes, Vector, at, reach
from templates.chooser import Choice
from templates.holes import Point, Space, kind_of
from templates.registry import template
from templates.template import HolePoints, Template, TemplateFamily

Answers: TypeAlias = tuple[tuple[tuple[Point, Any], ...], ...]  # of each hole, its points with its values, in order

Cell: TypeAlias = tuple[str, int]  # of an array in global memory

ALL_SIZED, SIZED = 64, 16  # outputs that are all asked how many items they have; of more, so many far from each other


class Output(Struct, frozen=True):
    """One output element and the term that it must be."""

    array: str
    address: int
    term: Term


class Stored(Struct, frozen=True):
    """One thread's store to an output array at an address that depends on holes: the stored value must be right."""

    array: str
    write: int
    thread: int


class Content(Struct, frozen=True):
    """How often one item is in each output of an array, which are all reductions by one operator; of a sequence, in
    which order some items are.

    The item None is the number among the items, UNWRITTEN what a cell holds before its first write. Where an output is
    a number that absorbs everything, only that number counts.
    """

    array: str
    item: Question


class ItemCount(Struct, frozen=True):
    """How many items each output of such an array has. It follows, but says at once that too few are added up."""

    array: str


Demand: TypeAlias = "Output | Stored | Content | ItemCount"


class Problem(Struct, dict=True):
    """A sketch's run with open holes.

    `program` is the one that is searched, where what is stored of states are the states (`stored_states`).
    `points` are those at which some filling's run may ask each hole. If `branches` holds, the run of one filling may
    ask fewer.
    """

    posed: Program
    program: Program
    terms: Terms
    run: Run
    points: list[HolePoints]
    wanted: dict[str, list[Term]]
    finals: dict[str, Snapshot]
    branches: bool  # a hole is asked for threads only if another hole says so
    meaning: Meaning  # what is wanted of a kernel without holes: of its words, where this one has states
    naive: Literal[0, 1, 2] = 0  # the depth of the naive template, 0 for the paper's
    families: tuple[TemplateFamily, ...] = ()  # users' own, and those on request
    on_request: bool = True  # whether those on request are still there
    signed: bool = False  # whether a value is also looked at as an item that is taken off
    nested: bool = False  # whether a hole is asked at points that another hole decides
    rows: list[NamedRows] = field(default_factory=list)
    _final_writes: dict[str, list[int]] = field(default_factory=dict)
    _last_writers: dict[str, Lanes] = field(default_factory=dict)
    _writes_of_run: tuple[Run, dict[str, list[tuple[int, Lanes]]]] | None = None

    @staticmethod
    def of(
        program: Program,
        spec: Callable[..., Any],
        meaning: Meaning | None = None,
        naive: Literal[0, 1, 2] = 0,
        families: tuple[TemplateFamily, ...] = (),
    ) -> Problem:
        """Run a sketch; raises `SwizzleError` if it breaks a rule whatever its holes are.

        `meaning` is the specification's, if it is known already.
        """
        found = Problem._with_states(program, meaning or Meaning.of(program, spec))
        return replace(found, naive=naive, families=families)

    @staticmethod
    def _with_states(program: Program, meaning: Meaning) -> Problem:
        """Run a sketch in which states of several words may be stored."""
        said = with_states(program, meaning.wanted, meaning.terms)
        found, tried, of_more = Problem._of(program, said.program, said.wanted, meaning), None, said.computed
        if of_more is not None:
            given = of_more.given(meaning.terms)
            tried = Problem._of(program, of_more.program, said.wanted, meaning, given).run
        wanted = said.settled(meaning.terms, tried)
        if wanted is None:
            return Problem._of(program, program, said.taken, meaning)
        return replace(found, wanted=wanted)

    @staticmethod
    def _of(
        posed: Program, program: Program, wanted: dict[str, list[Term]], meaning: Meaning,
        states: Mapping[str, Lanes] | None = None,
    ) -> Problem:  # fmt: skip
        """Run a program whose holes are open; `states` are further inputs."""
        terms = meaning.terms
        asked: list[list[Lanes]] = [[] for _ in program.holes]
        branches = nests = False

        def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
            nonlocal branches, nests
            domain = kind_of(program.holes[number]).values(program.holes[number])
            if any(isinstance(a, Deferred) for a in args):
                branches = nests = True
                asked[number].append(points_reached(args, mask, machine.shape.count, program.holes[number]))
                return by_points(number, args, frozenset(domain))
            branches |= isinstance(mask, Deferred)
            lanes: list[Lanes] = [a for a in args if isinstance(a, np.ndarray)]
            asked[number].append(points_asked(lanes, mask))

            def compute(encoding: Encoding, t: int) -> Union:
                return encoding.hole(number, tuple(int(a[t]) for a in lanes))

            question = HoleQuestion(number, tuple(lanes), np.array(domain))
            return Deferred(
                compute,
                lambda t: frozenset(domain),
                question,
                lambda: np.broadcast_to(question.values[:, None], (len(domain), len(lanes[0]))),
            )

        given = symbolic_inputs(posed, terms) | dict(states or {})
        machine, rows = Machine(program, Canonical(terms), given, hole), list[NamedRows]()
        machine.arrays.on_rows = rows.append
        run = machine.run()
        if run.violations:
            raise run.violations[0].error()
        finals = {p.name: run.memories[p.name].snapshot() for p in outputs(program)}
        points = _points_of_all(asked)
        for each, some in zip(program.holes, points, strict=True):
            kind_of(each).check(each, some)
        return Problem(posed, program, terms, run, points, wanted, finals, branches, meaning, nested=nests, rows=rows)

    @cached_property
    def outputs(self) -> list[Output]:
        """The output elements."""
        return [Output(name, address, term) for name in self.finals for address, term in enumerate(self.wanted[name])]

    def templates(self, space: Space) -> list[Template]:
        """Return each hole's template in a space."""
        holes = zip(self.program.holes, self.points, strict=True)
        return [template(hole, points, space, self.naive, self.families, self.on_request) for hole, points in holes]

    def leave_out_requests(self) -> None:
        """Leave out, from now on, the families on request: their functions were tried."""
        self.on_request = False

    def take_off(self) -> None:
        """Look at values, from now on, also as items that are taken off."""
        self.signed = True

    def light(self, space: Space) -> list[Template]:
        """Return the templates of a space, restricted to their light constants (0, 1, -1, the sizes)."""
        return [made.restricted(strides=bool(self.reductions)) for made in self.templates(space)]

    def has_more(self, space: Space, before: Space) -> bool:
        """Say whether a space has functions that an earlier one does not have."""
        here, there = self.templates(space), self.templates(before)
        return [made.components for made in here] != [made.components for made in there]

    def require(self, encoding: Encoding, demand: Demand, unless: tuple[Guard, ...] = ()) -> None:
        """Require, unless one of these guards holds, what a demand says of every right filling."""
        memory, seen = self.run.memories[demand.array], self.finals[demand.array]
        if isinstance(demand, Content):
            self._require_content(encoding, demand, unless)
            return
        if isinstance(demand, ItemCount):
            self._require_number(encoding, demand, unless)
            return
        if isinstance(demand, Output):
            memory.require(encoding, seen, demand.address, demand.term, unless)
            return
        write, wanted = seen.diffuse[demand.write], self.wanted[demand.array]
        if True not in reach(write.mask, demand.thread):
            return
        for address in at(write.address, encoding, demand.thread).values:
            if address >= 0 and seen.number[address] < write.number:
                hit = hit_at(write, encoding, demand.thread, address)
                require(write.value, encoding, demand.thread, wanted[address], (*unless, -hit))

    def _require_content(self, encoding: Encoding, demand: Content, unless: tuple[Guard, ...]) -> None:
        cells, found = self._reduced(demand.array)
        order = accumulation(self.terms, self.reductions[demand.array])
        plain, item = self._natural(cells, found), demand.item
        asked = [] if item is None or item == UNWRITTEN else [order.answer(item, output.term) for output in found]
        for number, output in enumerate(found):
            tally: Tally
            if item == UNWRITTEN:
                tally, amount = Unwritten(), 0
            elif item is None:
                tally, amount = Constant(order.op), order.number(order.items(output.term))
            elif order.absorbs(output.term):
                continue
            else:
                tally = order.tally(item, asked, plain, self._is_tight(cells, output, order.op))
                amount = asked[number]
            held = cells.held(encoding, output.address, tally)
            encoding.guards.add((*unless, tally.says(encoding.guards, held, amount)))

    def too_few(self, output: Output) -> tuple[int, int] | None:
        """Return how many items a reduction must contain, and how many it has at most; None if these are enough."""
        op = self.reductions.get(output.array) or self.terms.nodes[output.term][0]
        if not self.by_items or find_law(op) is None:
            return None
        order = accumulation(self.terms, op)
        cells, size = self._reduced(output.array)[0], Size(order.op, 0, True, by_coefficients=False)
        number, most = size.of(self.terms, output.term), cells.sizes(self.terms, output.address, size)[1]
        return None if number <= most or order.absorbs(output.term) else (number, most)

    def _is_tight(self, cells: Data, output: Output, op: str) -> bool:
        """Say whether an output is made of as many items at most as it must have, so that each is there once."""
        size = Size(op, 0, True, by_coefficients=False)
        return cells.sizes(self.terms, output.address, size)[1] == size.of(self.terms, output.term)

    def _require_number(self, encoding: Encoding, demand: ItemCount, unless: tuple[Guard, ...]) -> None:
        cells, found = self._reduced(demand.array)
        order = accumulation(self.terms, self.reductions[demand.array])
        exact = order.law.order in ("bag", "linear", "sequence") and self._natural(cells, found)
        wanted: list[tuple[int, Size]] = []
        for output in found:
            if not order.absorbs(output.term):
                number = Size(order.op, 0, True, exact).of(self.terms, output.term)
                some = (True, False) if exact else (True,)
                wanted += [(output.address, Size(order.op, number, at_least, exact)) for at_least in some]
        limits = [(size, cells.sizes(self.terms, address, size)) for address, size in wanted]
        if any(not size.fits(least) and not size.fits(most) for size, (least, most) in limits):
            encoding.guards.add(unless)
            return
        few = range(len(found) - 1, -1, -max(1, len(found) // SIZED) if len(found) > ALL_SIZED else -1)
        asked = {found[at].address for at in few}
        for address, size in wanted:
            if address in asked:
                encoding.guards.add((*unless, cells.sized(encoding, address, size)))

    def _reduced(self, array: str) -> tuple[Data, list[Output]]:
        """Return the cells of an output array, and what they must be."""
        cells = self.run.memories[array].cells_of(self.finals[array])
        return cells, [output for output in self.outputs if output.array == array]

    def _natural(self, cells: Data, some: Sequence[Output]) -> bool:
        return all(cells.natural(self.terms, output.address) for output in some)

    def contents(self, wrong: Mismatch) -> list[Content]:
        """Return what is wrong with an output about which it is asked how often it contains each item."""
        order = accumulation(self.terms, self.reductions[wrong.array])
        if wrong.got == UNWRITTEN:
            return [Content(wrong.array, UNWRITTEN)]
        if order.absorbs(wrong.got) or order.absorbs(wrong.wanted):
            return [Content(wrong.array, None)]
        return [Content(wrong.array, question) for question in order.different(wrong.got, wrong.wanted)]

    @cached_property
    def reductions(self) -> dict[str, str]:
        """The output arrays about which it is asked how often they contain each item, each with its operator."""
        found = {}
        for parameter in outputs(self.program):
            seen, stored = self.finals[parameter.name], self._stored(parameter.name)
            if not seen.diffuse and any(value.by_items(t) for value, t in stored):
                ops = frozenset[str]().union(*(value.reduced_by(t) for value, t in stored))
                if len(ops) == 1 and all(find_law(op) is not None for op in ops):
                    (found[parameter.name],) = ops
        return found

    @cached_property
    def by_items(self) -> bool:
        """Whether it must be asked of some output how often it contains each item."""
        return any(
            value.combines and value.by_items(t)
            for p in outputs(self.program)
            if self.run.memories[p.name].cells_of(self.finals[p.name]).combines
            for value, t in self._stored(p.name)
        )

    @cached_property
    def mixes(self) -> bool:
        """Whether holes decide what happens to values that others decided and an operator made (`mixing.py`)."""
        return mixes(self.program)

    def _stored(self, array: str) -> list[tuple[Data, int]]:
        """Return the values that depend on holes and may be stored to an output array, each with its thread."""
        return self.run.memories[array].cells_of(self.finals[array]).stored

    def thread_of(self, demand: Demand) -> int:
        """Return the thread that stores what a demand is about; if there are several, one of them."""
        if isinstance(demand, Content | ItemCount):
            return int(self._writers(demand.array)[0])
        return demand.thread if isinstance(demand, Stored) else int(self._writers(demand.array)[demand.address])

    def _writers(self, array: str) -> Lanes:
        """Return the thread that is last to write each cell, or may be: of several, the first; 0 if holes decide it."""
        if array not in self._last_writers:
            seen = self.finals[array]
            found = self._last_writers[array] = seen.writer.copy()
            for write in seen.diffuse:
                if isinstance(write.address, np.ndarray):
                    threads = np.flatnonzero(write.address >= 0)[::-1]
                    threads = threads[seen.number[write.address[threads]] < write.number]
                    found[write.address[threads]] = threads
        return self._last_writers[array]

    def first_demands(self) -> list[Demand]:
        """Return a few demands that are likely to differ: the ends of the first block's share of each output.

        The last element comes first: where indices are largest, the functions of a small space fail soonest. So does
        the last item, which of a scan's outputs only the last one has: that says what must not come in, too.
        """
        found: list[Demand] = []
        blocks = int(np.prod(self.program.grid))
        for parameter in outputs(self.program):
            own = [o for o in self.outputs if o.array == parameter.name]
            if parameter.name in self.reductions:
                order = accumulation(self.terms, self.reductions[parameter.name])
                questions = list(order.questions(own[-1].term))
                found += [ItemCount(parameter.name), *(Content(parameter.name, each) for each in questions[-1:])]
                continue
            last = self.final_writes(parameter.name)
            if last:
                threads = LaunchShape.of(self.program).block_threads
                found += [
                    Stored(parameter.name, j, t) for j, t in dict.fromkeys(((last[-1], threads - 1), (last[0], 0)))
                ]
            else:
                found += [own[i] for i in dict.fromkeys((max(1, len(own) // blocks) - 1, 0))] if own else []
        return found

    def demands_of(self, threads: set[int]) -> list[Demand]:
        """Return all demands on what some threads store."""
        found: list[Demand] = []
        for parameter in outputs(self.program):
            writes, seen = self.final_writes(parameter.name), self.finals[parameter.name]
            found += [Stored(parameter.name, j, t) for j in writes for t in sorted(threads)]
            if not seen.diffuse or len(writes) < len(seen.diffuse):
                writer = self._writers(parameter.name).tolist()
                found += [o for o in self.outputs if o.array == parameter.name and writer[o.address] in threads]
        return found

    def final_writes(self, array: str) -> list[int]:
        """Return the diffuse writes that no later write can overwrite: their stores can be judged one by one."""
        if array not in self._final_writes:
            seen = self.finals[array]
            later: set[int] = set()
            found = []
            for j in range(len(seen.diffuse) - 1, -1, -1):
                write = seen.diffuse[j]
                count = LaunchShape.of(self.program).count
                touched = {a for t in range(count) if True in reach(write.mask, t) for a in reach(write.address, t)}
                if not touched & later:
                    found.append(j)
                later |= touched
            self._final_writes[array] = found[::-1]
        return self._final_writes[array]

    def demand_for(self, run: Run, array: str, address: int) -> Demand:
        """Return what a candidate's run violates at a wrong output element."""
        seen, final = self.finals[array], self.final_writes(array)
        for j, writer in self._last_first(run, array):
            if seen.diffuse[j].number < seen.number[address]:
                break
            if writer[address] >= 0:
                if j in final:
                    return Stored(array, j, int(writer[address]))
                break
        return Output(array, address, self.wanted[array][address])

    def _last_first(self, run: Run, array: str) -> list[tuple[int, Lanes]]:
        """Return the diffuse writes of a candidate's run, the last one first, each with the first thread that writes
        each cell, -1 where none does; those of the last run are kept."""
        if self._writes_of_run is None or self._writes_of_run[0] is not run:
            self._writes_of_run = run, {}
        known = self._writes_of_run[1]
        if array not in known:
            seen, found = self.finals[array], list[tuple[int, Lanes]]()
            for j in range(len(seen.diffuse) - 1, -1, -1):
                mask, where, _ = run.accesses.get(seen.diffuse[j].key, (None, None, 0))
                if isinstance(mask, np.ndarray) and isinstance(where, np.ndarray):
                    threads = np.flatnonzero(mask & (where >= 0))[::-1]
                    writer = np.full(len(seen.data), -1)
                    writer[where[threads]] = threads
                    found.append((j, writer))
            known[array] = found
        return known[array]

    def candidate(self, templates: Sequence[Template], choices: Sequence[Choice]) -> tuple[Run, list[Mismatch]]:
        """Run the sketch with chosen functions for all threads; return the run and its wrong outputs."""
        if not templates:
            return self.run, list(compare(self.program, self.run, self.wanted))
        shape = (LaunchShape.of(self.program).count,)

        def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
            return np.broadcast_to(np.asarray(templates[number].apply(choices[number], args)), shape)

        run = run_canonical(self.program, self.terms, hole, violation_limit=256)
        return run, list(compare(self.program, run, self.wanted))

    def answers(self, templates: Sequence[Template], choices: Sequence[Choice]) -> Answers:
        """Return what a filling's holes give where its run asks them.

        Fillings with equal answers run alike. They are one solution, whatever their functions are at other points.
        """
        points = self._points_of(templates, choices) if self.branches else self.points
        found = []
        for made, choice, some in zip(templates, choices, points, strict=True):
            columns = list(some.table.T)
            values = np.broadcast_to(np.asarray(made.apply(choice, columns)), (len(some),)).tolist() if some else []
            found.append(tuple(zip(some, values, strict=True)))
        return tuple(found)

    def _points_of(self, templates: Sequence[Template], choices: Sequence[Choice]) -> list[HolePoints]:
        """Return the points at which a filling's run asks each hole."""
        asked: list[list[Lanes]] = [[] for _ in templates]

        def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
            lanes: list[Lanes] = [a for a in args if isinstance(a, np.ndarray)]
            asked[number].append(points_asked(lanes, mask))
            return np.broadcast_to(np.asarray(templates[number].apply(choices[number], args)), lanes[0].shape)

        run_canonical(self.program, self.terms, hole)
        return _points_of_all(asked)

    def must_store(self) -> set[Cell]:
        """Return the output elements that every right kernel stores: all except those that keep their value."""
        cells = {(array, index): term for array, some in self.wanted.items() for index, term in enumerate(some)}
        left = {cell for cell, term in cells.items() if self.terms.nodes[term] == ("atom", cell)}
        return cells.keys() - left

    def must_load(self) -> set[Cell]:
        """Return the input elements that every right kernel loads: those that a stored output contains."""
        nodes = self.terms.nodes
        waiting = [self.wanted[array][index] for array, index in self.must_store()]
        found, seen = set[Cell](), set(waiting)
        while waiting:
            op, arguments = nodes[waiting.pop()]
            if op == "atom":
                found.add(arguments)
            elif op != "const":
                fresh = set(arguments) - seen
                seen |= fresh
                waiting += fresh
        return found

    def accumulates(self) -> dict[Site, list[Accumulated]]:
        """Return the accumulate statements that ran, by identity, with their executions."""
        found: dict[Site, list[Accumulated]] = {}
        for entry in self.run.accumulated:
            found.setdefault(entry.site, []).append(entry)
        return found


def points_asked(arguments: Sequence[Lanes], mask: Vector) -> Lanes:
    """Return the points at which threads that are on, or may be, ask a hole: ascending, a line each."""
    columns = [a[mask] if isinstance(mask, np.ndarray) else a for a in arguments]
    return distinct(np.stack(columns, axis=1))


def distinct(points: Lanes) -> Lanes:
    """Return points, a line each, in ascending order and once each."""
    if not len(points):
        return points
    least = points.min(axis=0)
    sizes = (points.max(axis=0) - least + 1).tolist()
    if prod(sizes) > 2 * len(points):
        return np.unique(points, axis=0)
    seen = np.zeros(sizes, np.bool_)
    seen[tuple((points - least).T)] = True
    found: Lanes = np.argwhere(seen) + least
    return found


def _points_of_all(asked: Sequence[Sequence[Lanes]]) -> list[HolePoints]:
    """Return all points at which each hole was asked, in ascending order; holes with the same points share them."""
    found = list[HolePoints]()
    for some in asked:
        table = distinct(np.concatenate(some)) if len(some) > 1 else some[0] if some else np.zeros((0, 0), np.int64)
        known = next((each for each in found if np.array_equal(each.table, table)), None)
        found.append(HolePoints.from_table(table) if known is None else known)
    return found
