"""A result for people and for machines: the text that `solve` prints, and the JSON object of `--json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from textwrap import indent
from typing import Any, Final

from typing_extensions import assert_never

from swizzle.commands.output import Clean, cleaned
from swizzle.sketches.hole_formula import holes_as_json
from swizzle.solving.solution.in_words import cost_text, count, given_text, one_layout, optimality, proved_by_name
from swizzle.solving.solution.solution import Result, Solution, Status
from symbolic.errors import printable

MISMATCH: Final = "mismatch"
"""The key of a certificate under which a wrong kernel without holes has the lines that say what is wrong."""
MOST_HOMES: Final = 9
"""How many choices of homes have lines of their own."""


def as_json(result: Result, files: Sequence[str], *, all_solutions: bool = False) -> dict[str, Any]:
    """Return the object that `--json` prints; `all_solutions` adds the key 'all'."""
    best = result.solutions[0] if result.solutions else None
    certificate = dict(result.certificate)
    if result.reason:
        certificate["reason"] = result.reason
    answer: dict[str, Any] = {
        "sketch": result.sketch,
        "status": result.status,
        "space": result.space,
        "optimal": result.optimal,
        "cost": dict(best.cost) if best else {},
        "proved": proved_by_name(result),
        "solutions": len(result.solutions),
        "holes": holes_as_json(best.holes) if best else [],
        "warp_size": result.warp_size,
        "seconds": {
            part: round(result.seconds.get(part, 0.0), 4) for part in ("total", "interpret", "search", "verify")
        },
        "cached": result.cached,
        "certificate": certificate,
        "files": list(files),
    }
    if all_solutions:
        answer["all"] = [
            {"holes": holes_as_json(solution.holes), "cost": dict(solution.cost)} for solution in result.solutions
        ]
    if "front" in certificate:
        answer["front"] = [
            {"holes": holes_as_json(s.holes), "cost": dict(s.cost)}
            | ({"pads": pads} if (pads := _pads(result, s)) else {})
            for s in result.solutions
        ]
    return answer


def _pads(result: Result, solution: Solution) -> Mapping[str, int]:
    """Return the extents of a solution's pads, by their names."""
    names = result.certificate.get("pads", ())
    return {name: solution.posed.parameters[name] for name in names} if solution.posed is not None else {}


PARTS: Final = ("sources", "scan", "interpret", "search", "verify")
"""What time is spent on; the sources are the sketches that this one is filled from, the scan is that of its holes."""


def as_text(result: Result, files: Sequence[str], *, all_solutions: bool = False, every_space: bool = False) -> str:
    """Return what `solve` prints, without colour; the first line is the headline.

    `every_space` says that all spaces were searched, whichever holds the best solution.
    """
    match result.status:
        case "sat":
            lines = _solved_lines(result, all_solutions, every_space)
        case "unsat":
            lines = _refuted_lines(result)
        case "unknown":
            lines = [f"{result.sketch}: undecided"]
            if result.space:
                lines.append(f"  space   Space {result.space} was being searched")
        case _:
            assert_never(result.status)
    if result.reason:
        lines.append(f"  reason  {result.reason}")
    lines += [
        f"  table   {name} would need {_table_need(size)}, and {size['most']} are the most: no table was looked at\n"
        "          fewer values of what it is asked by, or of its own, take less: -D sets smaller sizes.\n"
        "          constant_table, as a further family, has larger ones, in constant memory"
        for name, size in result.certificate.get("no_table", {}).items()
    ]
    lines += _confirmation_lines(result.certificate)
    if result.cached:
        again = "the solution was verified again" if result.solutions else "the same sketch, limits and engine"
        lines.append(f"  cached  answered before: {again}; --no-cache solves afresh")
    lines.append(f"  time    {seconds_text(result.seconds)}")
    lines += [f"  wrote   {printable(file)}" for file in files]
    return "\n".join(lines) + "\n"


def _solved_lines(result: Result, all_solutions: bool, every_space: bool) -> list[str]:
    """Return what was found, what it rests on, and what is left open."""
    certificate = result.certificate
    lines = [f"{result.sketch}: solved, verified for all inputs", *_solution_lines(result, result.best)]
    if "unused" in certificate:
        lines.append(f"  unused  {', '.join(certificate['unused'])}: no output depends on it")
    lines += [f"  hint    {each}" for each in (one_layout(result.best.sketch) if result.best.sketch else ())]
    lines += [f"  assumes {each}" for each in certificate.get("assumed", ())]
    for name in ("scan", "place"):
        said = certificate.get(name, ())
        lines += [f"  {name if line is said[0] else '':<7} {line}" for line in said]
    for title, line in zip_longest(["cost"], optimality(result, every_space), fillvalue=""):
        lines.append(f"  {title:<7} {line}")
    lines += _home_lines(certificate.get("homes", ()))
    for space in certificate.get("left_open", ()):
        lines.append(f"  open    whether Space {space} has one of the same cost: --space {space} finds out, in time")
    if "cancelling" in certificate and not result.optimal:
        lines.append("  open    whether one costs less in which terms cancel: too many to be looked at")
        if "confirmed" not in certificate:
            lines.append("          --certify poses that question to a second reading, if there is time for it")
    if all_solutions:
        found = count(len(result.solutions), "distinct solution")
        more = "; there may be more" if result.reason else ""
        if "cancelling" in certificate:
            more = "; there may be more, in which terms cancel"
        if "left_out" in certificate:
            more = f"; there may be more: {certificate['left_out']}"
        lines += [f"  {'found' if more else 'all':<7} {found}{more}", *_other_solutions(result)]
    if "front" in certificate:
        of = count(certificate["front"]["of"], "solution")
        more = "" if certificate["front"]["whole"] else "; there may be more"
        lines.append(f"  front   {len(result.solutions)} of {of}: none equals or beats another in every cost{more}")
        lines += _other_solutions(result)
    return lines


def _refuted_lines(result: Result) -> list[str]:
    """Return what has no filling, or is wrong without holes."""
    sources = tuple(dict.fromkeys(hole.found_in for hole in result.posed.filled)) if result.posed else ()
    if MISMATCH in result.certificate:
        why = given_text(sources) if sources else "has no holes"
        head = f"{result.sketch}: {why}, and its terms are not the specification's"
        return [head, *(indent(line, "  ") for line in result.certificate[MISMATCH])]
    where = f" in Space {result.space}" if result.space else " of its holes"
    given = f", {given_text(sources)}" if sources else ""
    return [f"{result.sketch}: no filling{where} gives the specification's terms{given}"]


def _table_need(size: Mapping[str, int]) -> str:
    """Say what a table that was not looked at would need."""
    return f"{size['bytes']} bytes" if "bytes" in size else f"{size['values']} values of all entries together"


def _home_lines(homes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each home of an exchange, or for each choice of several: what it costs, or at least.

    Of many choices, those that were not looked at are counted.
    """
    every, looked = len(homes), [each for each in homes if "clocks" in each or "expected" in each]
    homes = homes if every <= MOST_HOMES else looked[:MOST_HOMES] or homes[:MOST_HOMES]
    lines, names = list[str](), [", ".join(each["homes"]) for each in homes]
    for name, each in zip(names, homes, strict=True):
        if "clocks" in each:
            least = each["clocks"] if each["clocks"] == each["least"] else count(each["least"], "clock")
            text = f"{count(each['clocks'], 'clock')}: {each['how']}; at least {least}, as {each['because']}"
        elif "expected" in each:
            text = f"{each['why']}: {count(each['expected'], 'clock')} by {each['how']}"
        elif each["least"] is None:
            text = f"none: {each['why']}"
        else:
            text = f"{each['why']}: at least {count(each['least'], 'clock')}, as {each['because']}"
        lines.append(f"  {'' if lines else 'homes':<7} {name:<{max(map(len, names))}}  {text}")
    if every > len(homes):
        lines.append(f"          and {every - len(homes)} other choices of homes (--json)")
    return lines


def _confirmation_lines(certificate: Mapping[str, Any]) -> list[str]:
    """Return one line a claim that was posed to a second solver; none when that was not asked for."""
    if "confirmed" not in certificate:
        return []
    lines = []
    for claim in certificate["confirmed"]:
        verdict = str(claim["verdict"])
        verdict += f" by {claim['solver']}" if verdict == "confirmed" else ""
        lines.append(f"  certify {claim['claim']} in Space {claim['space']}: {verdict}")
    lines = lines or ["  certify nothing to confirm: no claim that there is no filling"]
    for name, verdict in certificate.get("counted_again", {}).items():
        verdict += ", counted again thread by thread" if verdict == "confirmed" else ""
        lines.append(f"  certify {name}: {verdict}")
    if "counted_once" in certificate:
        lines.append(f"  certify {', '.join(certificate['counted_once'])}: not confirmed: counted in one way only")
    if "tried" in certificate:
        lines.append(f"  certify {certificate['tried']['claim']}: {certificate['tried']['verdict']}")
    return lines


def _other_solutions(result: Result) -> list[str]:
    """Return the lines of all solutions but the best."""
    lines = []
    for number, solution in enumerate(result.solutions[1:], start=2):
        lines.append(f"  solution {number}, {cost_text(solution.cost)}")
        lines += _solution_lines(result, solution)
    return lines


def _solution_lines(result: Result, solution: Solution) -> list[str]:
    """Return one line a pad and a hole: its name, its extent or formula, a hole's place, in columns."""
    pads = [f"    {name} = {extent}" for name, extent in _pads(result, solution).items()]
    if not solution.holes:
        return [*pads, "  (no holes)"]
    names = max(len(hole.name) for hole in solution.holes)
    formulas = max(len(hole.shown) for hole in solution.holes)
    lines = [
        f"    {hole.name:<{names}} = {hole.shown:<{formulas}}   at {hole.place}"
        + (f", found in {hole.found_in}" if hole.found_in else "")
        for hole in solution.holes
    ]
    tables = [
        f"  table   {hole.name} is no formula: it is looked up in {hole.table_bytes} bytes of constants"
        for hole in solution.holes
        if hole.table_bytes
    ]
    return pads + lines + tables


def seconds_text(seconds: Mapping[str, float]) -> str:
    """Return '0.42 s (interpret 0.05, search 0.30, verify 0.02)'."""
    parts = ", ".join(f"{part} {seconds[part]:.2f}" for part in PARTS if part in seconds)
    return f"{seconds.get('total', 0.0):.2f} s" + (f" ({parts})" if parts else "")


def coloured(text: str, status: Status) -> str:
    """Return the text of an answer for a terminal: the headline bold, green, red or yellow."""
    colour = {"sat": 32, "unsat": 31, "unknown": 33}[status]
    head, rest = cleaned(text).split("\n", 1)
    return Clean(f"\x1b[1;{colour}m{head}\x1b[0m\n{rest}")
