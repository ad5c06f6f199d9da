"""`swizzle derive --rules`: what is printed, and the exit statuses."""

from __future__ import annotations

import io
import json

import pytest

from swizzle.commands.process import execute
from symbolic.patterns.terms import Term
from symbolic.rewriting.rule import RULES, Surroundings


def derive(*arguments: str) -> tuple[int, str, str]:
    """Return the exit status of the command, and what it prints."""
    out, err = io.StringIO(), io.StringIO()
    return execute(["derive", *arguments], out, err), out.getvalue(), err.getvalue()


def test_every_rule_is_proved() -> None:
    """The text ends with the verdict, and each rule has its law and what goes wrong without a condition."""
    status, out, _ = derive("--rules")
    assert status == 0
    assert "3c  split_join(size): proved\n    map(f) = join o map(map(f)) o split(size)\n" in out
    assert "    if lengths divide; without: map(lambda v: v + 1) o x gives split of length 6 by 4\n" in out
    assert "lemma  promotion: proved by induction\n" in out
    assert out.splitlines()[-1].startswith(f"{len(RULES)} rules and 8 lemmas: all proved in ")


def test_an_object_for_programs() -> None:
    """The JSON object has the same."""
    status, out, _ = derive("--rules", "--json")
    found = json.loads(out)
    assert status == 0 and found["status"] == "proved" and len(found["rules"]) == len(RULES)
    (rule,) = (each for each in found["rules"] if each["name"] == "reduce_part")
    assert (rule["figure"], rule["status"], rule["lemmas"]) == ("3d", "proved", ["congruence", "promotion"])
    assert [each["name"] for each in rule["conditions"]] == ["associative", "neutral", "divides"]
    assert all(each["wrong"] for each in rule["conditions"])


def test_a_wrong_rule_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 1, and the claim that fails is shown."""

    def forgets(term: Term, here: Surroundings) -> Term:
        return term.array  # type: ignore[union-attr]

    from msgspec.structs import replace

    monkeypatch.setitem(RULES, "map_of_join", replace(RULES["map_of_join"], apply=forgets))
    status, out, _ = derive("--rules")
    assert status == 1
    assert "join  map_of_join: not proved\n" in out
    assert "not proved: map(lambda v: f(v)) o join o x = join o x: " in out


def test_nothing_to_derive() -> None:
    """A command without a flag is a mistake."""
    status, _, err = derive()
    assert status == 2 and "nothing to derive" in err
