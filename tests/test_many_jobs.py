"""`bench.many_jobs` in small: workers killed, drivers stopped, connections cut; nothing lost, nothing twice."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.many_jobs import outcome, solves, try_clusters, try_scaling, try_soak, try_solves, try_trivial

pytestmark = pytest.mark.slow
dask = pytest.mark.skipif(find_spec("distributed") is None, reason="the extra dask is not installed")
both = pytest.mark.parametrize("engine", ["local", pytest.param("dask", marks=dask)])


@dask
def test_solve_jobs_on_both_engines(tmp_path: Path) -> None:
    """Two workers killed and two stops on the way: one answer each, and the same ones."""
    told = [try_solves(tmp_path, engine, 60, 2) for engine in ("local", "dask")]
    assert [(each["jobs"], each["lost"]) for each in told] == [(60, 0)] * 2
    assert all(0 < first < second < 60 for first, second in (each["kept at the stops"] for each in told))
    found = [outcome(tmp_path / f"solves-{engine}.sqlite", solves(60)) for engine in ("local", "dask")]
    assert found[0] == found[1]
    assert all(answer["status"] in ("sat", "unsat") for answer in found[0].values())


@both
def test_memory_does_not_grow_with_jobs(tmp_path: Path, engine: str) -> None:
    """A driver and its workers hold what they held after a tenth of the jobs, or a little more."""
    told = try_trivial(tmp_path, engine, 20_000, 2)
    assert told["lost"] == 0
    early, late = told["MiB of the driver, after a tenth and all"]
    assert late <= early + 40
    early, late = told["MiB of workers"]
    assert max(late) <= max(early) + 10


@both
def test_a_soak(tmp_path: Path, engine: str) -> None:
    """A worker is killed every two seconds: jobs are begun again, and all are done."""
    told = try_soak(tmp_path, engine, 8, 2, 2)
    assert told["lost"] == 0
    assert told["statuses"] == {"done": told["jobs"]}
    assert told["killed workers"] >= 2


@dask
def test_two_clusters(tmp_path: Path) -> None:
    """One loses the connection to a worker, the other its scheduler, which comes again: both drivers end."""
    told = try_clusters(tmp_path, 200, 2)
    assert (told["lost"], told["answered twice"]) == (0, 0)


def test_the_rate_against_workers(tmp_path: Path) -> None:
    """It is measured for 1 and 2 workers; no more can be had of sleeping jobs than the workers' number of them."""
    told = try_scaling(tmp_path, "local", 0.1, 2)
    assert [0 < each["of the ideal"] < 1.1 for each in told["workers"].values()] == [True, True]
