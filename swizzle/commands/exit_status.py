"""What a process's exit status says."""

from __future__ import annotations

DONE = 0
"""Solved, or equal."""

NO = 1
"""Proved that no filling gives the specification's terms, or not equal."""

MISTAKE = 2
"""A mistake of the user; stderr says which."""

UNDECIDED = 3
"""A timeout, or an interruption; what was found until then is printed. Or a solution whose minimum is not proved, as
fillings in which something cancels were too many. Or different terms whose numbers agree."""

BUG = 70
"""A bug of ours."""
