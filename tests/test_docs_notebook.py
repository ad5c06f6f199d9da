"""docs/notebook.ipynb runs from top to bottom, as Jupyter runs it, and is kept without outputs."""

from __future__ import annotations

import json
import runpy
from typing import Any

import numpy as np
import pytest

from tests.pages import DOCS, text_of
from tests.patience import be_patient

NOTEBOOK = json.loads(text_of("notebook.ipynb"))
run = runpy.run_path(str(DOCS / "run_notebook.py"))["run"]
CODE = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Status, formulas, table, picture and explanation are what the text around them says."""
    be_patient(monkeypatch)
    scope: dict[str, Any] = {"__name__": "__main__"}
    status, formulas, table, solution, _ = [run("".join(cell["source"]), n, scope) for n, cell in enumerate(CODE)]
    assert status == ("sat", "1", True)
    assert formulas["xform1"] == "(lane + k) % 8" and len(formulas) == 3
    assert np.array_equal(table, (np.arange(8) + np.arange(3)[:, None]) % 8)
    assert solution._repr_html_().startswith("<iframe")
    said = capsys.readouterr().out
    assert said.startswith("unsat\n") and "one more register in mine" in said


def test_the_notebook_has_no_outputs() -> None:
    """What a run left behind would be stale, and large."""
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in CODE)
    assert (NOTEBOOK["nbformat"], len({cell["id"] for cell in NOTEBOOK["cells"]})) == (4, len(NOTEBOOK["cells"]))
