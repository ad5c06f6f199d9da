"""The folder in which a job is done: its files, and nothing that is known of them afterwards."""

from __future__ import annotations

import importlib
import linecache
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cuda_out.compile.children import scratch_folder
from symbolic.errors import SwizzleError


@contextmanager
def job_folder(job: Mapping[str, Any]) -> Iterator[Path]:
    """Work in a folder that has the files of a job, and find its modules; raises SwizzleError for a file outside."""
    before, paths = os.getcwd(), list(sys.path)
    with scratch_folder() as folder:
        for name, text in job.get("files", {}).items():
            file = folder / name
            if not file.resolve().is_relative_to(folder.resolve()):
                raise SwizzleError(f"a file named {name}", expected="a name below the job's folder", fix="rename it")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        os.chdir(folder)
        sys.path[:0] = [str(folder / each) for each in job.get("path", ())]
        importlib.invalidate_caches()
        try:
            yield folder
        finally:
            os.chdir(before)
            sys.path[:] = paths
            linecache.clearcache()
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", None) or "").startswith(f"{folder}/"):
                    del sys.modules[name]
