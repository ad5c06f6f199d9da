"""What is said of a search: a line for each candidate, the answer in words, a table, and a figure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from cuda_out.devices.device import Device
from swizzle.answers.show.svg import Canvas, number
from swizzle.derive.schedules.candidates import seconds_text
from swizzle.derive.tuning.spaces import ParameterSpace, Tunable
from swizzle.derive.tuning.tune import TriedCandidate, Tuned
from symbolic.choices.conditions import Value
from symbolic.choices.propagation import PartialAssignment, Propagator
from symbolic.choices.search import SpaceSize

MOST_SHOWN = 12
"""Decisions in one line, and columns of a table."""


def values_text(tuned: Tuned, decisions: Mapping[str, Value]) -> str:
    """Return the decisions that were open, of many the weightiest alone."""
    shown = [name for name in decisions if name in tuned.open]
    more = f", and {len(shown) - MOST_SHOWN} more" if len(shown) > MOST_SHOWN else ""
    return ", ".join(f"{name} = {decisions[name]}" for name in shown[:MOST_SHOWN]) + more


def count_text(space: Tunable, size: SpaceSize) -> str:
    choices = f"{len(space.decisions)} choice{'' if len(space.decisions) == 1 else 's'}"
    if size.low == size.high:
        return f"{space.name}: {size.estimate:,.0f} candidate{'' if size.low == 1 else 's'} in {choices}, counted"
    between = f"between {size.low:.2g} and {size.high:.2g} in 95 of 100 cases"
    return f"{space.name}: about {size.estimate:.2g} candidates in {choices} ({between}; {size.walks} random walks)"


def progress_line(tuned: Tuned) -> str:
    """Return one line about the latest candidate and all so far."""
    latest, statuses = tuned.tried[-1], tuned.statuses
    found = latest.record.reason if latest.record.static is None else f"{_cost(tuned, latest)}, {latest.record.static}"
    so_far = f"tried {len(tuned.tried)}, cut {tuned.cut}, proved {statuses['proved']}"
    if tuned.best is not None:
        so_far += f", best {_cost(tuned, tuned.best)}, bound {seconds_text(tuned.best.bound)}"
    return f"{tuned.name}: {values_text(tuned, latest.decisions)}: {latest.record.status}: {found} | {so_far}\n"


def _cost(tuned: Tuned, tried: TriedCandidate) -> str:
    return seconds_text(tried.cost) + (" an output" if tuned.per_output else "")


def lines(tuned: Tuned) -> Iterator[str]:
    """Yield the answer in words, a line each."""
    best, statuses = tuned.best, tuned.statuses
    several = ", ".join(f"{number} {status}" for status, number in statuses.items())
    if tuned.finished and not tuned.tried:
        yield f"{tuned.name}: {tuned.stopped}"
        return
    if best is None or best.record.static is None:
        yield f"{tuned.name}: no candidate is proved, of {len(tuned.tried)} that were tried ({several or 'none'})"
    else:
        yield f"{tuned.name}: {values_text(tuned, best.decisions)}"
        holes = best.record.holes
        if holes:
            yield f"  holes   {'; '.join(f'{name} = {text}' for name, text in holes.items())}"
        yield "  proved  equal to the specification for all inputs"
        if tuned.barriers:
            yield f"  barriers {tuned.barriers}"
        yield f"  static  {best.record.static}"
        how = f"estimated by the table of {tuned.device.title}, not measured"
        yield f"  cost    {_cost(tuned, best)}, {how}; bound {seconds_text(best.bound)}: {best.why}"
        if tuned.optimal == "open":
            least = f"; none takes less than {seconds_text(tuned.least)} by this device table" if tuned.least else ""
            yield f"  best    of those that were tried; others may be better{least}"
        else:
            yield (
                f"  best    no candidate in this space (hash {tuned.space}) beats it by this device table "
                f"({tuned.device.name}, hash {tuned.device.hash})"
            )
    size = tuned.size
    of = f"{size.estimate:,.0f}" if size.low == size.high else f"about {size.estimate:.2g}"
    stopped = f"; {tuned.stopped}" if tuned.stopped else ""
    yield f"  tried   {len(tuned.tried)} of {of}: {several or 'none'}; {tuned.cut} cut by their bound{stopped}"
    reasons = Counter((t.record.status, t.record.reason) for t in tuned.tried if t.record.reason)
    for (status, reason), times in reasons.most_common(5):
        yield f"  {status:7} {'once' if times == 1 else f'{times} times'}: {reason.partition(chr(10))[0]}"


COLUMNS = ("cost", "status", "instructions an output", "registers", "warps", "conflicts", "sectors")


def table(tuned: Tuned) -> Iterator[str]:
    """Yield the candidates as a table in Markdown, the cheapest first."""
    names = list(tuned.open)[:MOST_SHOWN]
    yield "| " + " | ".join([*names, *COLUMNS]) + " |"
    yield "|" + "---|" * (len(names) + len(COLUMNS))
    for each in sorted(tuned.tried, key=lambda tried: tried.cost):
        static = each.record.static
        cells = ["", "", "", "", ""]
        if static is not None:
            cells = [
                f"{static.per_output:.4g}",
                *map(str, (static.registers, static.warps, static.conflicts, static.sectors)),
            ]
        cost = _cost(tuned, each) if math.isfinite(each.cost) else ""
        reason = f": {each.record.reason.partition(chr(10))[0]}" if each.record.reason else ""
        values = [str(each.decisions.get(name, "")) for name in names]
        yield "| " + " | ".join([*values, cost, each.record.status + reason, *cells]) + " |"


def explanation(space: Tunable, propagation: Propagator, root: PartialAssignment, device: Device) -> Iterator[str]:
    """Yield what is left of each choice and why its other values are not, what each rule leaves, and the bound."""
    choices = space.choices if isinstance(space, ParameterSpace) else None
    for name, variable in space.decisions.items():
        left = propagation.values_left(root, variable)
        if len(left) > 1 or choices is not None:
            yield f"{name}: {', '.join(map(str, left))}"
        for value in () if choices is None else space.space.values[variable]:
            if choices is not None and value not in left:
                rules = choices.why_not(name, int(value))
                yield f"  {value} is not left: {'; '.join(rules) or 'nothing goes with it'}"
    if choices is not None:
        for rule in choices.rules:
            left_of, of = choices.share_left(rule)
            names = ", ".join(rule.names) or "no choice"
            failed = f"; {rule.failed}" if rule.failed else ""
            yield f"{rule.words}: leaves {left_of:,} of {of:,} combinations of {names}{failed}"
    bound = space.bound(root, device)
    yield f"bound: {bound}"


WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 320, 70, 40, 40


def plot(tuned: Tuned) -> str:
    """Return a figure: the cost of each candidate in the order in which they were tried, the best so far, the bound."""
    canvas = Canvas()
    costs = [each.cost for each in tuned.tried if math.isfinite(each.cost)]
    canvas.text(LEFT, 20, f"{tuned.name}: cost of each proved candidate, not measured", size=13, bold=True)
    if costs:
        bounds = [each.bound for each in tuned.tried if each.bound > 0]
        low = min([*costs, *bounds]) * 0.95
        high = max(costs) * 1.05
        steps = max(1, len(tuned.tried) - 1)

        def across(at: int) -> float:
            return LEFT + at / steps * (WIDTH - LEFT - 20)

        def up(cost: float) -> float:
            share = math.log(cost / low) / math.log(high / low)
            return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)

        for share in (0.0, 0.5, 1.0):
            cost = low * (high / low) ** share
            canvas.text(LEFT - 6, up(cost) + 3, seconds_text(cost), anchor="end")
            canvas.rect(LEFT, up(cost), WIDTH - LEFT - 20, 0.5, "#dddddd")
        best = math.inf
        for at, each in enumerate(tuned.tried):
            if each.bound > 0:
                canvas.rect(across(at) - 3, up(each.bound), 6, 1.5, "#c8553d")
            if math.isfinite(each.cost):
                better = each.cost < best
                best = min(best, each.cost)
                canvas.rect(across(at) - 2.5, up(each.cost) - 2.5, 5, 5, "#1b6ca8" if better else "#9bb8cf")
        canvas.text(LEFT, HEIGHT - 12, "candidates in the order of the search; dark: best so far; red: lower bounds")
    body = "".join(canvas.parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(WIDTH)}" height="{number(HEIGHT)}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="10">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>{body}</svg>\n'
    )
