"""A job of a sweep, done by the command that it names: the answer is what that prints with `--json`."""

from __future__ import annotations

import contextvars
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

import swizzle.commands.solve as _  # noqa: F401  before the first job, whose time it would be
from swizzle.commands.cli import cli
from swizzle.commands.process import usage_mistake
from swizzle.sweeps.folder import job_folder
from symbolic.errors import SwizzleError

DO: Final = ("solve", "check", "tune", "operator", "prove")
"""The commands that a job may name."""
_OWN: Final = (
    "target", "overrides", "timeout", "memory", "json_object", "quiet", "no_cache", "trust", "fill", "resume",
    "engine", "scheduler", "workers", "output", "plot", "export", "table",
)  # fmt: skip
"""What a job says elsewhere, or may not say: nothing but its answer is written, and nothing is trusted."""


def perform(job: Mapping[str, Any]) -> dict[str, Any]:
    """Do a job, with its files in a folder of its own; raises SwizzleError for a mistake in it."""
    with job_folder(job) as folder:
        out = io.StringIO()
        words = command_line(job)
        try:
            contextvars.copy_context().run(
                cli.main, words, prog_name="swizzle", standalone_mode=False, obj=(out, io.StringIO())
            )
        except click.UsageError as error:
            raise usage_mistake(error) from None
        said = out.getvalue().replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")
        answer: dict[str, Any] = json.loads(said)
        return answer


def command_line(job: Mapping[str, Any]) -> list[str]:
    """Return the words of the command that answers a job; raises SwizzleError where there is none."""
    do, timeout, memory = job["do"], job.get("timeout"), job.get("memory")
    command = cli.commands.get(do) if do in DO else None
    if command is None:
        known = [each for each in DO if each in cli.commands]
        raise SwizzleError(f"a job to {do!r}", expected=f"one of {', '.join(known)}", fix=f'"do": "{known[0]}"')
    takes = {parameter.name: parameter for parameter in command.params}
    words = [do]
    words += [word for name, value in job.get("set", {}).items() for word in ("-D", f"{name}={value}")]
    for name, value in job.get("options", {}).items():
        words += _option(command, name, value)
    words += ["--json", *(["--no-cache"] if "no_cache" in takes else [])]
    words += ["--timeout", f"{timeout!r}"] if timeout is not None else []
    words += ["--memory", str(memory)] if memory is not None else []
    return [*words, "--", job["target"], *_positional(command, job.get("options", {}))]  # none of which is an option


def _positional(command: click.Command, options: Mapping[str, Any]) -> list[str]:
    """Return the arguments behind the target, such as a specification."""
    names = [each.name for each in command.params if isinstance(each, click.Argument) and each.name != "target"]
    return [str(options[name]) for name in names if name in options]


def _option(command: click.Command, name: str, value: Any) -> list[str]:
    """Return an option as words: a flag of true, one option for each part of a list."""
    for parameter in command.params:
        spelled = [word.lstrip("-") for word in (*parameter.opts, *parameter.secondary_opts)]
        if name != parameter.name and name not in spelled:
            continue
        if parameter.name in _OWN:
            break
        if isinstance(parameter, click.Argument):
            return []
        flag = isinstance(parameter, click.Option) and parameter.is_flag
        values: Sequence[Any] = value if isinstance(value, list) and parameter.multiple else [value]
        if any(not isinstance(each, bool if flag else int | float | str) for each in values):
            raise SwizzleError(
                f"{name}: {json.dumps(value)} of {command.name}", fix="another job for another value",
                expected="true or false" if flag else f"a {'list' if parameter.multiple else 'word or number'}",
            )  # fmt: skip
        if flag:
            return [parameter.opts[-1]] if value else []
        return [word for each in values for word in (parameter.opts[-1], str(each))]
    known = [each.opts[-1].lstrip("-") for each in command.params if each.name not in _OWN]
    raise SwizzleError(
        f"an option {name!r} of {command.name}", expected=f"one of {', '.join(known)}",
        fix="leave it out; limits of time and memory are a job's own",
    )  # fmt: skip
