"""An explanation as the text that people read."""

from __future__ import annotations

from collections.abc import Sequence

from swizzle.explain.explanation import Explanation, Trial, Unproducible


def as_text(explanation: Explanation) -> str:
    """Return the explanation, the headline first."""
    name, result = explanation.sketch, explanation.result
    if explanation.status == "sat":
        lines = [f"{name}: has a solution, so there is nothing to explain"]
        lines += [f"    {hole.name} = {hole.formula}   at {hole.place}" for hole in result.best.holes]
    elif explanation.status == "unknown":
        lines = [f"{name}: undecided, so there is nothing to explain yet"]
    else:
        lines = [f"{name}: no choice in Space {explanation.space} gives the specification's terms"]
        if not _holes(explanation):
            lines = [f"{name}: has no holes, and its terms are not the specification's"]
        lines += _body(explanation)
    reason = explanation.cut_short or result.reason
    if reason:
        lines.append(f"  note: {reason}")
    return "\n".join(lines) + "\n"


def _holes(explanation: Explanation) -> bool:
    posed = explanation.result.posed
    return posed is not None and bool(posed.program.holes)


def _body(explanation: Explanation) -> list[str]:
    lines = []
    if explanation.outputs:
        many = len(explanation.outputs) > 1
        made = "cannot be produced" if _holes(explanation) else "is not produced"
        lines.append(f"  {made}{' together' if many else ''}{_extent(explanation)}")
        lines += [f"    {_output(output)}" for output in explanation.outputs]
    elif explanation.blamed:
        lines.append("  no rule-abiding choice exists, whatever the outputs are")
    if explanation.reasons:
        lines.append("  because")
        lines += [f"    {reason}" for reason in explanation.reasons]
    if explanation.blamed:
        lines.append(f"  forbidden by{' these together' if len(explanation.blamed) > 1 else ''}")
        for part in explanation.blamed:
            lines.append(f"    {part.text}   at {part.place}")
            if part.example:
                lines.append(f"      {part.example}")
    elif explanation.outputs and _holes(explanation):
        lines.append("  forbidden by the statements without holes, whatever values the holes have")
    if explanation.trials:
        lines.append("  tried")
        lines += [f"    {line}" for line in _tried(explanation.trials)]
    return lines


def _extent(explanation: Explanation) -> str:
    if len(explanation.outputs) < 2:
        return ""
    if explanation.smallest:
        return ", though any fewer can"
    return ", though without any one of them the others can" if explanation.minimal else " (fewer may do)"


def _output(output: Unproducible) -> str:
    who = f" of {output.thread}" if output.thread else ""
    where = f"   at {output.place}" if output.place else ""
    return f"{output.cell}{who}, which should be {output.wanted}{where}"


def _tried(trials: Sequence[Trial]) -> list[str]:
    """Return one line a trial that helps or is not decided; those of one kind that do not help share a line."""
    lines = []
    for trial in trials:
        note = " (another specification)" if trial.kind == "specification" else ""
        detail = trial.detail or "solvable"
        if trial.verdict == "solvable":
            lines.append(f"{trial.change}{note}: {detail if detail.startswith('solvable') else f'solvable, {detail}'}")
    lines += [f"{trial.change}: {trial.detail}" for trial in trials if trial.verdict == "not decided"]
    idle = [trial for trial in trials if trial.verdict == "does not help"]
    for kind in dict.fromkeys(trial.kind for trial in idle):
        changes = [trial.change for trial in idle if trial.kind == kind]
        lines.append(f"{'; '.join(changes)}: {'does' if len(changes) == 1 else 'do'} not help")
    return lines
