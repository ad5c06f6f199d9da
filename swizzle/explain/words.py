"""A conflict in the sketch's own terms: the outputs, what forbids them, and why."""

from __future__ import annotations

from typing import Final

from swizzle.explain.blame import Blame
from swizzle.explain.explanation import Blamed, Unproducible
from swizzle.explain.forced import beyond_arguments, beyond_template, two_values
from swizzle.explain.needs import reasons
from swizzle.explain.part_names import PartNames, listing
from swizzle.explain.relaxed import Relaxed
from swizzle.explain.requirements import Ignores, Obeys, Requirement, Right

RULES: Final = {
    "bounds": "no index is out of bounds here",
    "unwritten": "no cell is read here before it is written",
    "present": "all threads get here together",
    "race": "no two threads meet in a cell here with no barrier between, one of them writing",
}


def unproducible(names: PartNames, blame: Blame) -> tuple[Unproducible, ...]:
    """Return the outputs of a conflict, each with what it should be."""
    found = []
    for number in blame.outputs:
        output = names.problem.outputs[number]
        place, thread = names.store_of(output), None
        if names.problem.finals[output.array].written[output.address]:
            thread = names.thread(names.problem.thread_of(output))
        cell = names.cell(output.array, output.address)
        found.append(Unproducible(cell, output.array, output.address, thread, place, names.term(output.term)))
    return tuple(found)


def structural(names: PartNames, blame: Blame) -> tuple[str, ...]:
    """Say why an output cannot be produced whatever values the holes have; empty if the values are the reason."""
    if blame.holes or blame.rules or len(blame.outputs) != 1:
        return ()
    return tuple(reasons(names.problem, names, names.problem.outputs[blame.outputs[0]]))


def about_values(relaxed: Relaxed, names: PartNames, blame: Blame, deadline: float) -> tuple[str, ...]:
    """Say which values the holes would need, but cannot have."""
    for hole in blame.holes:
        text = beyond_template(relaxed, names, hole, blame.requirements - {Obeys(hole)}, deadline)
        if text:
            return (text,)
    if not blame.holes and len(blame.outputs) > 1:
        text = two_values(relaxed, names, blame.outputs, frozenset(blame.rules), deadline)
        return (text,) if text else ()
    return ()


def about_arguments(extended: Relaxed, names: PartNames, blame: Blame, deadline: float) -> tuple[str, ...]:
    """Say which uses of a hole with the same arguments would need different values."""
    ignoring = blame.ignoring or ()
    for hole in ignoring:
        others: frozenset[Requirement] = frozenset(Ignores(h) for h in ignoring if h != hole)
        text = beyond_arguments(extended, names, hole, others | frozenset(map(Right, blame.outputs)), deadline)
        if text:
            return (text,)
    return ()


def blamed(relaxed: Relaxed, names: PartNames, blame: Blame) -> tuple[Blamed, ...]:
    """Return what forbids the outputs: holes and their arguments, then rules, each with its place."""
    found = []
    for number in blame.holes:
        hole = names.program.holes[number]
        found.append(Blamed("hole", hole.name, hole.place, f"{hole.name} = {names.hole(number)}"))
    for number in blame.ignoring or ():
        hole = names.program.holes[number]
        arguments = listing(names.arguments(number)) or "nothing"
        text = f"{hole.name} = {names.hole(number)}, even as any function of {arguments}"
        found.append(Blamed("arguments", hole.name, hole.place, text))
    for rule in blame.rules:
        example = relaxed.violations[rule]
        text = f"the rule that {RULES[rule.rule]}"
        others = sorted({names.nodes[n].place.line for n in rule.nodes} - {example.place.line})
        if others:
            text += f" (and at line {others[0]})"
        found.append(Blamed("rule", rule.rule, example.place, text, f"for example, {example.message}"))
    return tuple(found)
