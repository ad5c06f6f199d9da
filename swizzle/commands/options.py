"""What several commands take, as options of click: how it is spelled, and what of it is a mistake of the user's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from swizzle.commands.completion import (
    complete_define,
    complete_families,
    complete_kernel,
    complete_operators,
    complete_target,
)

EMITTED = ("cub", "cuda", "triton", "numba", "jax")
"""What an operator is written as; plain CUDA takes the header for CUB, too."""


def _parameters(context: click.Context, option: click.Parameter, words: tuple[str, ...]) -> dict[str, int]:
    values: dict[str, int] = {}
    for word in words:
        name, equals, text = word.partition("=")
        try:
            value = int(text, 0)
        except ValueError:
            value = None
        if not equals or not name.isidentifier() or value is None:
            raise click.BadParameter(f"expected NAME=VALUE with an integer VALUE, not {word!r}")
        if values.get(name, value) != value:
            raise click.BadParameter(f"{name} is given twice, as {values[name]} and as {value}")
        values[name] = value
    return values


def _seconds(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    from symbolic.limits import MAX_SECONDS

    if value is not None and not 0 < value <= MAX_SECONDS:
        raise click.BadParameter(f"expected seconds, more than 0 and at most {MAX_SECONDS}, not {value:g}")
    return value


def _bytes(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    from symbolic.errors import SwizzleError
    from symbolic.limits import size_of

    try:
        return size_of(value)
    except SwizzleError as error:
        raise click.BadParameter(f"expected a size, such as 4G or 512M, not {value!r}") from error


def file_kinds(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    from swizzle.answers.emit.emitters import FILE_KINDS

    words = tuple(dict.fromkeys(word.strip() for word in value.split(",")))
    for word in words:
        if word not in FILE_KINDS:
            raise click.BadParameter(f"expected some of {', '.join(FILE_KINDS)}, separated by commas, not {word!r}")
    return words


def operator_kinds(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    words = None if value is None else tuple(dict.fromkeys(word.strip() for word in value.split(",")))
    for word in words or ():
        if word not in EMITTED:
            raise click.BadParameter(f"expected some of {', '.join(EMITTED)}, separated by commas, not {word!r}")
    return words


def export_kinds(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...]:
    words = comma_separated(context, option, value)
    for word in words:
        if word not in ("csv", "parquet"):
            raise click.BadParameter(f"expected csv or parquet, not {word!r}")
    return words


def _names(context: click.Context, option: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in value.split(","))


def comma_separated(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in value.split(","))) if value else ()


def _registered(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Make families known that a saved solution may name."""
    if value and not context.resilient_parsing:
        from swizzle.sketches.loading import named_in_files
        from templates.registry import register

        register(named_in_files(comma_separated(context, option, value), "a family"))


def _operators(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Hand the operators in for as long as the command runs."""
    if value and not context.resilient_parsing:
        from swizzle.language.operators import handing_in
        from swizzle.sketches.loading import operators_called

        words = [word.strip() for word in value.split(",")]
        context.with_resource(handing_in(lambda: operators_called(words)))


define_option: Final = click.option(
    "-D",
    "overrides",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_parameters,
    shell_complete=complete_define,
    help="Set a declared parameter of the sketch (sizes, K, warp_size); may be repeated.",
)


def sketch_arguments(command: Any) -> Any:
    """Add what every command takes: FILE[:SKETCH] and -D."""
    operators = click.option(
        "--operators",
        metavar="NAMES",
        expose_value=False,
        callback=_operators,
        shell_complete=complete_operators,
        help="Operators of your own that the sketch names: FILE.py or installed ones, separated by commas.",
    )
    return click.argument("target", metavar="FILE[:SKETCH]", shell_complete=complete_target)(
        operators(define_option(command))
    )


fix_option: Final = click.option(
    "--fix",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_parameters,
    shell_complete=complete_define,
    help="Set a choice, which is not searched then; may be repeated.",
)
trust_option: Final = click.option(
    "--trust",
    is_flag=True,
    help="Run the files that a saved solution names, and an edited text, as they are (docs/what-runs-code.md).",
)


def limit_options(command: Any) -> Any:
    """Add what bounds a command's work."""
    seconds = click.option("--timeout", metavar="S", type=float, callback=_seconds, help="Stop after S seconds.")
    size = click.option(
        "--memory",
        metavar="SIZE",
        callback=_bytes,
        help="Stop at so much memory, such as 4G or 512M. Default: three quarters of what is free.",
    )
    return seconds(size(command))


cost_option: Final = click.option(
    "--cost",
    metavar="NAMES",
    default="accumulates",
    show_default=True,
    callback=_names,
    help="The costs to minimize, separated by commas, the most important first: names, or your own, FILE.py:NAME.",
)


families_option: Final = click.option(
    "--families",
    metavar="NAMES",
    callback=comma_separated,
    shell_complete=complete_families,
    help="Families of templates for Space 4, separated by commas: of installed packages, or your own, FILE.py:NAME.",
)
read_families_option: Final = click.option(
    "--families",
    metavar="NAMES",
    callback=_registered,
    expose_value=False,
    shell_complete=complete_families,
    help="Your own families of templates that a saved solution names, FILE.py:NAME.",
)


json_option: Final = click.option("--json", "json_object", is_flag=True, help="Print one JSON object instead of text.")


def output_option(metavar: str, help: str, multiple: bool = False) -> Callable[[Any], Any]:
    """-o, where a command writes; what it writes there differs."""
    return click.option("-o", "output", metavar=metavar, multiple=multiple, type=click.Path(path_type=Path), help=help)


def quiet_option(help: str = "Show no progress.") -> Callable[[Any], Any]:
    """-q, which each command accepts, whether or not it shows progress."""
    return click.option("-q", "--quiet", is_flag=True, help=help)


def engine_options(command: Any) -> Any:
    """Add where many jobs are done."""
    engine = click.option(
        "--engine", type=click.Choice(["local", "dask"]), help="Several processes here, or workers of Dask."
    )
    scheduler = click.option(
        "--scheduler", metavar="ADDRESS", help="A scheduler of Dask that runs. Default: a cluster of its own."
    )
    workers = click.option(
        "--workers", metavar="N", type=click.IntRange(1, 1024), help="Default: one for each processor."
    )
    return engine(scheduler(workers(command)))


def build_options(command: Any) -> Any:
    """Add what the build of somebody's CUDA file gives its compiler."""
    includes = click.option(
        "-I", "includes", metavar="DIR", multiple=True, help="A folder of the file's own headers; several."
    )
    defines = click.option(
        "-D", "defines", metavar="NAME=VALUE", multiple=True, help="A macro, as the build defines it; several."
    )
    return includes(defines(command))


def launch_options(several: bool = False) -> Callable[[Any], Any]:
    """Add which kernel of a CUDA file is meant, and how it is launched; `several` kernels run one after the other."""
    words = {
        "--kernel": (
            "NAME",
            "Which kernel of the file; of a template, 'NAME<32, float>'.",
            " Several times: one after the other.",
        ),
        "--launch": (
            "GRID,BLOCK",
            "How it is launched, such as 2x2,32x8; a third number is bytes of dynamic shared memory.",
            " Once a kernel.",
        ),
        "--args": (
            "ARGS",
            "What it is given, a word for each argument, such as 'f32[64,64],f32.out[64,64],i32=64'.",
            " Once a kernel.",
        ),
    }

    def add(command: Any) -> Any:
        for name, (metavar, help, of_several) in reversed(words.items()):
            complete = complete_kernel if name == "--kernel" else None
            text = help + of_several if several else help
            command = click.option(name, metavar=metavar, multiple=several, shell_complete=complete, help=text)(command)
        return command

    return add
