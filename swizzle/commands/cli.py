"""The command line: what each command accepts.

The commands themselves are functions of (arguments, stdout, stderr) in `swizzle.commands`; nothing heavy is
imported before one of them runs, so `swizzle --help` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from swizzle.commands.completion import (
    SHELLS,
    Shell,
    complete_pattern,
    complete_target,
    script,
)
from swizzle.commands.help import (
    BEST,
    CACHE,
    CHECK,
    CONVERT,
    DERIVE,
    DOCTOR,
    OPERATOR,
    PROVE,
    RUN,
    SCAN,
    SOLVE,
    START,
    SWEEP,
    TUNE,
)
from swizzle.commands.help import EXIT_STATUS as EPILOG
from swizzle.commands.options import (
    build_options,
    comma_separated,
    cost_option,
    define_option,
    engine_options,
    export_kinds,
    families_option,
    file_kinds,
    fix_option,
    json_option,
    launch_options,
    limit_options,
    operator_kinds,
    output_option,
    quiet_option,
    read_families_option,
    sketch_arguments,
    trust_option,
)
from swizzle.commands.output import DONE
from swizzle.commands.startup import work_begins
from swizzle.solving.solution.version import __version__
from templates.holes import SPACES

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(context_settings=CONTEXT, epilog=START)
@click.version_option(__version__, prog_name="swizzle")
def cli() -> None:
    """Complete GPU kernels that have holes in their index expressions, and prove the result right."""


@cli.command("solve", epilog=SOLVE, short_help="Fill the holes of a sketch and prove the kernel right.")
@sketch_arguments
@output_option("DIR", "Write NAME.cu and NAME.json into DIR.")
@click.option(
    "--space",
    type=click.Choice([*SPACES, "all"]),
    help="Search one space, or 'all' to prove the optimum over all. Default: smallest first, up to the first answer.",
)
@cost_option
@click.option("--all", "all_solutions", is_flag=True, help="Enumerate every distinct solution.")
@click.option("--pareto", is_flag=True, help="List the solutions that none equals or beats in every cost.")
@limit_options
@click.option(
    "--solver",
    type=click.Choice(["auto", "z3", "cvc5", "cadical", "glucose", "portfolio"]),
    default="auto",
    show_default=True,
    help="auto: Glucose.",
)
@click.option("--no-light", is_flag=True, help="Do not try simple constants (0, 1, -1, the sizes) first.")
@click.option(
    "--template",
    type=click.Choice(["paper", "naive-1", "naive-2"]),
    default="paper",
    show_default=True,
    help="What ?sw_xform becomes; naive: any expression of depth 1 or 2, for comparison (docs/solving.md).",
)
@families_option
@click.option("--no-canonical", is_flag=True, help="Let a solver decide whether data is equal, for comparison.")
@click.option("--certify", is_flag=True, help="Check the answer by an independent route.")
@json_option
@click.option(
    "--emit",
    metavar="KINDS",
    callback=file_kinds,
    help="Which files -o writes, separated by commas: cuda (the default), header, numba, ptx.",
)
@click.option(
    "--fill",
    metavar="NAME.json",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Take holes of device functions from another sketch's solution; may be repeated.",
)
@trust_option
@click.option("--no-cache", is_flag=True, help="Neither use nor keep cached answers.")
@quiet_option("Show no progress; --json shows none either.")
@click.pass_context
def solve(context: click.Context, /, **options: Any) -> int:
    """Fill the holes of a sketch, cheapest first, and prove the kernel equal to its specification."""
    from swizzle.commands import solve as command

    work_begins()
    return command.solve(command.SolveArguments(**options), *context.obj)


@cli.command("check", epilog=CHECK, short_help="Verify a kernel without holes, or a saved solution.")
@sketch_arguments
@click.option(
    "--emitted", is_flag=True, help="Also check the printed CUDA text: compile it, validate its PTX, run it on the CPU."
)
@click.option("--mutate", is_flag=True, help="With --emitted: try these checks on mutants of the text.")
@read_families_option
@trust_option
@json_option
@limit_options
@quiet_option("Accepted as in solve and run; a check shows no progress.")
@click.pass_context
def check(context: click.Context, /, **options: Any) -> int:
    """Verify a kernel without holes, or a saved solution (NAME.json), against its specification."""
    from swizzle.commands import check as command

    work_begins()
    return command.check(command.CheckArguments(**options), *context.obj)


@cli.command("run", epilog=RUN, short_help="Run the printed kernel on random data against the specification.")
@sketch_arguments
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random data.")
@read_families_option
@trust_option
@limit_options
@click.option("--no-cache", is_flag=True, help="Neither use nor keep cached answers.")
@quiet_option()
@click.pass_context
def run(context: click.Context, /, **options: Any) -> int:
    """Run the printed kernel on random data and compare with the specification on NumPy arrays."""
    from swizzle.commands import run as command

    work_begins()
    return command.run(command.RunArguments(**options), *context.obj)


@cli.command("explain", epilog=EPILOG, short_help="Say why a sketch has no solution, and what would help.")
@sketch_arguments
@click.option("--space", type=click.Choice([*SPACES, "all"]), help="Explain one space. Default: all of them.")
@families_option
@limit_options
@click.option("--solver", type=click.Choice(["auto", "z3", "cvc5", "cadical", "glucose", "portfolio"]), default="auto")
@json_option
@quiet_option()
@click.pass_context
def explain(context: click.Context, /, **options: Any) -> int:
    """Say which outputs cannot be produced, which holes are to blame, and which changes help."""
    from swizzle.commands import explain as command

    work_begins()
    return command.explain(command.ExplainArguments(**options), *context.obj)


@cli.command("show", epilog=EPILOG, short_help="Draw what a kernel moves: a figure, or a page to explore.")
@sketch_arguments
@output_option(
    "FILE", "Where to draw: NAME.html, one self-contained page to step through, or NAME.svg, a figure for a paper."
)
@click.option("--block", type=click.IntRange(min=0), default=0, show_default=True, help="The block whose warp to draw.")
@click.option("--warp", type=click.IntRange(min=0), default=0, show_default=True, help="Which warp of that block.")
@click.option(
    "--colour",
    "--color",
    type=click.Choice(["element", "lane"]),
    default="element",
    show_default=True,
    help="Colour cells by the element that they hold, or by the lane that had it first.",
)
@cost_option
@trust_option
@limit_options
@quiet_option()
@click.pass_context
def show(context: click.Context, /, **options: Any) -> int:
    """Draw what one warp of a kernel moves, step by step: the register each lane reads, and the lane it asks.

    FILE is a sketch, which is solved first, a kernel without holes, or a saved solution (NAME.json). The command prints
    each hole in words ('rotate by k'), and what each access costs in sectors, lines and bank conflicts.

    \b
    swizzle show conv1d.py                      words only
    swizzle show conv1d.py -o conv1d.html       a page: arrow keys step, point at a cell to follow its value
    swizzle show out/conv1d.json -o conv1d.svg  a figure of what was solved before
    swizzle show aos.py:crc -D warp_size=8 -o crc.svg   small enough for a slide
    """
    from swizzle.commands import show as command

    work_begins()
    return command.show(command.ShowArguments(**options), *context.obj)


@cli.command("operator", epilog=OPERATOR, short_help="Find the operator of a serial loop, and prove its laws.")
@sketch_arguments
@click.option(
    "--domain",
    type=click.Choice(["words", "integers", "reals"]),
    default="words",
    show_default=True,
    help="What numbers are; words wrap as their type does, floating-point numbers are real ones in all three.",
)
@output_option("DIR", "Write NAME.cuh, a proved operator, into DIR.")
@click.option(
    "--emit", metavar="KINDS", callback=operator_kinds, help="Which files -o writes: cub (the default), numba, ..."
)
@json_option
@click.option(
    "--effort",
    metavar="N",
    type=click.FloatRange(0, 1000, min_open=True),
    default=1.0,
    show_default=True,
    help="Give each question of a proof N times the solver's steps.",
)
@limit_options
@quiet_option("Show no progress, as in solve and run; this shows none.")
@click.pass_context
def operator(context: click.Context, /, **options: Any) -> int:
    """Find an associative operator that makes a scan or a reduction of a serial loop, and prove its laws."""
    from swizzle.commands import operator as command

    work_begins()
    return command.operator(command.OperatorArguments(**options), *context.obj)


@cli.command("doctor", epilog=DOCTOR, short_help="Find and mend bank conflicts in a CUDA kernel.")
@click.argument("target", metavar="FILE", shell_complete=complete_target)
@launch_options()
@build_options
@output_option("DIR", "Write the mended file into DIR, and pictures.")
@json_option
@trust_option
@limit_options
@quiet_option("Accepted as in solve and run; this shows no progress.")
@click.pass_context
def doctor(context: click.Context, /, **options: Any) -> int:
    """Say what a kernel's accesses to memory cost, line by line; mend its bank conflicts, and prove the mend.

    FILE is a CUDA file of anybody's, or a sketch without open holes. Nothing of a CUDA file is run: its PTX is
    interpreted.
    """
    from swizzle.commands import doctor as command

    work_begins()

    def printed(target: str, trust: bool) -> Any:
        from swizzle.commands.printed import printed

        return printed(target, trust)

    return command.doctor(command.DoctorArguments(**options), printed, *context.obj)


@cli.command("prove", epilog=PROVE, short_help="Prove that a CUDA kernel computes a specification.")
@click.argument("target", metavar="FILE", shell_complete=complete_target)
@click.argument("specification", metavar="[SPEC.py[:NAME]]", required=False, shell_complete=complete_target)
@click.option(
    "--against", metavar="REF.cu[:KERNEL]", help="Another kernel to compare with, in place of a specification."
)
@launch_options(several=True)
@build_options
@output_option("DIR", "Write inputs on which they differ into DIR, and a host program that shows it.")
@json_option
@trust_option
@limit_options
@quiet_option("Accepted as in solve and run; this shows no progress.")
@click.pass_context
def prove(context: click.Context, /, **options: Any) -> int:
    """Prove that a kernel of a CUDA file computes a specification, or what another kernel does, for all inputs.

    FILE is a CUDA file of anybody's; SPEC.py has a function from its inputs to its outputs. Nothing of the CUDA file is
    run: its PTX is interpreted.
    """
    from swizzle.commands import prove as command

    work_begins()
    return command.prove(command.ProveArguments(**options), *context.obj)


@cli.command("tune", epilog=TUNE, short_help="Find the cheapest kernel among a sketch's choices, proved.")
@sketch_arguments
@fix_option
@click.option(
    "--device",
    default="h100",
    show_default=True,
    help="The GPU to tune for: a100, h100, h200, k4000, l4, rtx4090, or the JSON file of a table of your own.",
)
@click.option("--budget", default="5m", show_default=True, metavar="S", help="What the search may take; see below.")
@click.option(
    "--search",
    type=click.Choice(["tag", "bound", "random"]),
    default="tag",
    show_default=True,
    help="Threshold ascent on the tree of decisions, branch and bound, or at random.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the search.")
@click.option("--count", is_flag=True, help="Say how many candidates there are, and try none.")
@click.option("--explain", is_flag=True, help="Say what each requirement leaves, and try no candidate.")
@click.option("--resume", is_flag=True, help="Take what was tried before as tried.")
@click.option("--table", is_flag=True, help="Print all candidates, the cheapest first.")
@click.option(
    "--plot", metavar="OUT.svg", type=click.Path(path_type=Path), help="Draw the costs of all candidates, and bounds."
)
@click.option("--export", metavar="kernel-tuner=FILE", help="Write the candidates as a cache file of Kernel Tuner.")
@engine_options
@output_option("DIR", "Write the best kernel, NAME.cu, .cuh and .json, and NAME.tune.jsonl, all candidates, into DIR.")
@json_option
@limit_options
@quiet_option("Show no progress; --json shows none either.")
@click.pass_context
def tune(context: click.Context, /, **options: Any) -> int:
    """Search the choices of a sketch file for the cheapest kernel; each candidate is solved and proved."""
    from swizzle.commands import tune as command

    work_begins()
    return command.tune(command.TuneArguments(**options), *context.obj)


@cli.command("derive", epilog=DERIVE, short_help="Derive kernels of a specification in patterns, by proved rules.")
@click.argument("target", metavar="[FILE[:NAME]]", required=False, shell_complete=complete_target)
@define_option
@click.option("--rules", is_flag=True, help="Show every rewrite rule with its law, its conditions and its proof.")
@click.option(
    "--script",
    metavar="NAME.derivation.json",
    type=click.Path(path_type=Path),
    help="Replay the steps that -o wrote, in place of those of the file.",
)
@click.option(
    "--search",
    metavar="N",
    type=click.IntRange(min=1),
    help="In place of the file's steps, rank N of all derivations of the specification, and prove the best.",
)
@output_option("DIR", "Write the sketch, the .cu file, the solution and the derivation into DIR.")
@json_option
@limit_options
@quiet_option("Accepted as in solve and run; this shows no progress.")
@click.pass_context
def derive(context: click.Context, /, **options: Any) -> int:
    """Apply a derivation's rules to its specification, lower what they lead to to a sketch, solve and prove it.

    With --rules, prove the rules themselves anew, for all lengths.
    """
    from swizzle.commands import derive as command

    work_begins()
    return command.derive(command.DeriveArguments(**options), *context.obj)


@cli.command("scan", epilog=SCAN, short_help="Make a device-wide scan of a serial loop.")
@sketch_arguments
@output_option("DIR", "Write NAME_scan.cuh, NAME_scan.cu and NAME_scan.json into DIR.")
@click.option(
    "--form",
    type=click.Choice(["three-pass", "look-back"]),
    default="three-pass",
    show_default=True,
    help="Three passes over parts, or one kernel whose blocks look back for the words of those before them.",
)
@click.option("--backward", is_flag=True, help="For each element, what the loop returns of it and all behind it.")
@click.option("--emitted", is_flag=True, help="Compile the kernels, and validate their PTX for every length.")
@json_option
@limit_options
@quiet_option("Show no progress, as in solve and run; this shows none.")
@click.pass_context
def scan(context: click.Context, /, **options: Any) -> int:
    """Make a scan of a serial loop, for arrays of any length, and check its kernels and their composition."""
    from swizzle.commands import scan as command

    work_begins()
    return command.scan(command.ScanArguments(**options), *context.obj)


@cli.command("sweep", epilog=SWEEP, short_help="Answer thousands of jobs, each once, here or on a cluster.")
@click.argument("targets", metavar="FILES|JOBS.jsonl...", nargs=-1, shell_complete=complete_target)
@click.option("--set", "values", metavar="NAME=RANGE", multiple=True, help="Values of a parameter: N=1..64, N=8,16,32.")
@click.option(
    "--option",
    "choices",
    metavar="NAME=VALUES",
    multiple=True,
    help="Options of the command: space=1,2; cost:=terms,bytes is one value.",
)
@click.option(
    "--do",
    type=click.Choice(["solve", "check", "tune", "operator", "prove"]),
    default="solve",
    show_default=True,
    help="The command that answers.",
)
@engine_options
@click.option(
    "--retries",
    metavar="N",
    type=click.IntRange(0, 100),
    default=2,
    show_default=True,
    help="How often a job is begun again whose worker is gone.",
)
@click.option(
    "--rerun", metavar="WHAT", callback=comma_separated, help="Ask again what has these statuses: timeout,killed."
)
@click.option("--show", is_flag=True, help="Print a table and failures by reason; draw seconds in sweep.svg.")
@click.option(
    "--export", metavar="KINDS", callback=export_kinds, help="Write sweep.csv or sweep.parquet: csv, parquet."
)
@click.option(
    "--journal",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where answers are kept. Default: one file for all sweeps, in the cache folder.",
)
@click.option(
    "-o",
    "output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Where to write. Default: here.",
)
@click.option("--json", "json_object", is_flag=True, help="Print a JSON object for each job instead of text.")
@limit_options
@quiet_option("Show no progress; --json shows none either.")
@click.pass_context
def sweep(context: click.Context, /, **options: Any) -> int:
    """Answer many jobs: files, each with all combinations of values, or the lines of a file of jobs.

    Each job runs in another process, within --timeout and --memory, which are a job's own. A mistake, a limit and a
    worker that is gone are answers. What was answered is kept, and not asked again. Without files, what the journal
    has is told.
    """
    from swizzle.commands import sweep as command

    work_begins()
    return command.sweep_command(command.SweepArguments(**options), *context.obj)


@cli.group("layouts", short_help="Layouts of shared tiles and conversions of registers, without a kernel.")
def layouts() -> None:
    """Find the layout of a shared tile for several accesses, or a conversion between distributions over lanes."""


def layout_options(command: Any) -> Any:
    """Add what both commands of layouts take."""
    output = output_option(
        "FILE",
        "Draw the tile into NAME.svg, or write the device function into NAME.cuh; may be repeated.",
        multiple=True,
    )
    quiet = quiet_option("Accepted as in solve and run; this shows no progress.")
    return output(json_option(limit_options(quiet(command))))


@layouts.command("best", epilog=BEST, short_help="The layout of a shared tile with the fewest turns.")
@click.argument("shape")
@click.argument("accesses", metavar="PATTERN...", nargs=-1, required=True, shell_complete=complete_pattern)
@click.option("--bits", type=int, default=32, show_default=True, help="The size of an element.")
@click.option("--width", type=int, help="Elements a lane moves at once, for patterns that do not say it.")
@click.option("--families", metavar="NAMES", callback=comma_separated, help="Some of xor, rotate, pad, table.")
@click.option("--at-most", type=int, metavar="BYTES", help="The most that the tile may take.")
@click.option("--tma", is_flag=True, help="Only layouts that a mode of TMA stores.")
@click.option("--name", default="cell", show_default=True, help="The name of the device function.")
@layout_options
@click.pass_context
def best(context: click.Context, /, **options: Any) -> int:
    """Find the layout of a tile of SHAPE, such as 32x32, with the fewest turns of shared memory, and prove it.

    Each PATTERN is a way in which the tile is accessed.
    """
    from swizzle.commands import layouts as command

    work_begins()
    return command.best(command.BestArguments(**options), *context.obj)


@layouts.command("convert", epilog=CONVERT, short_help="How elements get from one distribution to another.")
@click.argument("src", shell_complete=complete_pattern)
@click.argument("dst", shell_complete=complete_pattern)
@click.option("--bits", type=int, default=16, show_default=True, help="The size of an element.")
@click.option("--shape", help="The tile's, such as 16x8; of patterns.")
@click.option("--via", type=click.Choice(["auto", "shuffles", "shared"]), default="auto", show_default=True)
@click.option(
    "--fewest", type=click.Choice(["clocks", "shuffles", "instructions"]), default="clocks", show_default=True
)
@click.option("--arch", type=int, default=90, show_default=True, help="The architecture, as in sm_90.")
@click.option("--free", type=int, metavar="AXIS", help="An axis whose index DST may permute: 0, 1, ...")
@click.option("--name", default="convert", show_default=True, help="The name of the device function.")
@layout_options
@click.pass_context
def convert(context: click.Context, /, **options: Any) -> int:
    """Find how a warp's elements get from the distribution SRC to DST: by shuffles, or through shared memory."""
    from swizzle.commands import layouts as command

    work_begins()
    return command.convert(command.ConvertArguments(**options), *context.obj)


@cli.command("cache", epilog=CACHE, short_help="Show or clear the cache of earlier answers.")
@click.argument("action", type=click.Choice(["show", "clear"]), default="show")
@json_option
@click.pass_context
def cache(context: click.Context, /, **options: Any) -> int:
    """Show the cache of earlier answers: where it is, and how large. `clear` removes it."""
    from swizzle.commands import cache as command

    work_begins()
    return command.cache(command.CacheArguments(**options), *context.obj)


@cli.command("completion", epilog=EPILOG, short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, /, shell: Shell) -> int:
    """Print what makes a shell complete files, sketches, parameters and options.

    \b
    bash, in ~/.bashrc:  eval "$(swizzle completion bash)"
    zsh, in ~/.zshrc:    eval "$(swizzle completion zsh)"
    fish, once:          swizzle completion fish > ~/.config/fish/completions/swizzle.fish
    """
    context.obj[0].write(script(shell))
    return DONE
