"""Completion in bash, zsh and fish: files, sketches of a file, its parameters and their values.

Files are read as text and never run, whatever they hold: what cannot be parsed completes to nothing.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
)
from msgspec import Struct

from symbolic.extensions import extension_names

Shell = Literal["bash", "zsh", "fish"]
SHELLS: Final[tuple[Shell, ...]] = ("bash", "zsh", "fish")
ASKED: Final = dict.fromkeys(("operator", "scan"), ("serial", "operator"))
"""The decorators of what a command is asked for, where that is no sketch."""
MOST_BYTES: Final = 1 << 20
MOST_VALUES: Final = 100


class Declaration(Struct, frozen=True):
    """A `parameter(...)` or `choice(...)` of a file as it is spelled; `values` where its domain is made of literals."""

    name: str
    summary: str
    values: tuple[int, ...]


def complete_target(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete FILE, and FILE:SKETCH once the file is there; of `swizzle operator` and `scan`, serial loops and
    operators."""
    path, colon, begun = incomplete.rpartition(":")
    file = path if colon and not Path(incomplete).exists() else incomplete
    if Path(file).suffix not in (".py", ".swz") or not Path(file).is_file():
        return [CompletionItem(incomplete, type="file")]
    names = [
        name
        for name in decorated(file, *ASKED.get(context.info_name or "", ("sketch",)))
        if not colon or name.startswith(begun)
    ]
    whole = [] if colon else [CompletionItem(file)]
    return [*whole, *(CompletionItem(f"{file}:{name}") for name in names)]


def complete_define(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete -D NAME=VALUE from the parameters of the file that was named before it."""
    given = [context.params.get("target"), *context.args]
    declared = [d for word in given if isinstance(word, str) for d in declared_parameters(word)]
    name, equals, begun = incomplete.partition("=")
    if not equals:
        return [CompletionItem(f"{d.name}=", help=d.summary) for d in declared if d.name.startswith(name)]
    values = [value for d in declared if d.name == name for value in d.values]
    return [CompletionItem(f"{name}={value}") for value in values if str(value).startswith(begun)]


def complete_kernel(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete --kernel from the kernels of the CUDA file that was named before it."""
    from swizzle.strangers.reading.text import CudaText
    from symbolic.errors import SwizzleError
    from symbolic.files import file_text

    given = [context.params.get("target"), *context.args]
    file = next((Path(str(each)) for each in given if each and str(each).endswith((".cu", ".cuh"))), None)
    with suppress(OSError, UnicodeDecodeError, SwizzleError):
        if file is not None and file.stat().st_size <= MOST_BYTES:
            kernels = CudaText(str(file), file_text(file)).kernels()
            names = dict.fromkeys(each.name for each in kernels if each.name.startswith(incomplete))
            return [CompletionItem(name) for name in names]
    return []


def complete_pattern(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a pattern of `swizzle layouts`."""
    from swizzle.commands.layouts import presets

    return [CompletionItem(each) for each in presets(context.info_name == "convert") if each.startswith(incomplete)]


def complete_families(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the last of some names of families from what installed packages have."""
    *before, begun = incomplete.split(",")
    names = [name for name in extension_names("families") if name.startswith(begun) and name not in before]
    return [CompletionItem(",".join([*before, name])) for name in names]


def complete_operators(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the last of some operators from what installed packages have, or as a file."""
    *before, begun = incomplete.split(",")
    names = [name for name in extension_names("operators") if name.startswith(begun) and name not in before]
    return [CompletionItem(",".join([*before, name])) for name in names] or [CompletionItem(incomplete, type="file")]


def decorated(file: str, *names: str) -> list[str]:
    """Return the functions of a file that have one of these decorators, in order."""
    return [
        node.name
        for node in _statements(file)
        if isinstance(node, ast.FunctionDef) and any(_last_name(d) in names for d in node.decorator_list)
    ]


def declared_parameters(target: str) -> list[Declaration]:
    """Return the parameters that FILE or FILE:SKETCH declares at its top level."""
    file = target if Path(target).is_file() else target.rpartition(":")[0]
    found = []
    for node in _statements(file):
        for call in ast.walk(node) if isinstance(node, ast.Assign) else ():
            if not isinstance(call, ast.Call) or _called(call) not in ("parameter", "choice"):
                continue
            of_values = "domain" if _called(call) == "parameter" else "values"
            second = "default" if of_values == "domain" else of_values
            given = dict(zip(("name", second), call.args, strict=False))
            given.update({str(keyword.arg): keyword.value for keyword in call.keywords})
            name = given.get("name")
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                texts = [f"{part} {ast.unparse(given[part])}" for part in ("default", of_values) if part in given]
                found.append(Declaration(name.value, ", ".join(texts), _literal_values(given.get(of_values))))
    return found


def script(shell: Shell) -> str:
    """Return what a shell evaluates to complete `swizzle`."""
    made = get_completion_class(shell)
    assert made is not None
    return ShellComplete.source(made(click.Command("swizzle"), {}, "swizzle", "_SWIZZLE_COMPLETE")) + "\n"


def _statements(file: str) -> Iterator[ast.stmt]:
    from swizzle.language.source.hole_marks import find_marks
    from symbolic.errors import SwizzleError
    from symbolic.files import file_text

    with (
        suppress(OSError, ValueError, SyntaxError, RecursionError, MemoryError, SwizzleError),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        if Path(file).suffix in (".py", ".swz") and Path(file).stat().st_size <= MOST_BYTES:
            text = file_text(Path(file))
            yield from ast.parse(find_marks(text, file)[0] if file.endswith(".swz") else text).body


def _called(node: ast.expr) -> str:
    """Return the last part of the name of what is called, '' for no call."""
    return _last_name(node) if isinstance(node, ast.Call) else ""


def _last_name(node: ast.expr) -> str:
    """Return the last part of a name, or of the name of what is called."""
    named = node.func if isinstance(node, ast.Call) else node
    return named.id if isinstance(named, ast.Name) else named.attr if isinstance(named, ast.Attribute) else ""


def _literal_values(domain: ast.expr | None) -> tuple[int, ...]:
    with suppress(ValueError, TypeError, SyntaxError):
        if isinstance(domain, ast.Call) and isinstance(domain.func, ast.Name) and domain.func.id == "range":
            return tuple(range(*[ast.literal_eval(a) for a in domain.args])[:MOST_VALUES])
        if isinstance(domain, ast.Tuple | ast.List):
            return tuple(value for value in ast.literal_eval(domain)[:MOST_VALUES] if isinstance(value, int))
    return ()


class _Bash(BashComplete):
    """Bash breaks words at `:` and `=`: the words are cut at spaces, and answers begin after the last break."""

    source_template = """\
%(complete_func)s() {
    local line="${COMP_LINE:0:COMP_POINT}" words response kind value
    read -ra words <<< "$line"
    [[ "$line" == *[[:space:]] ]] && words+=("")
    local current="${words[${#words[@]}-1]}" done=""
    [[ "$current" == *[:=]* ]] && done="${current%%"${current##*[:=]}"}"
    response=$(env COMP_WORDS="$line" COMP_CWORD=$((${#words[@]} - 1)) %(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    while IFS="," read -r kind value; do
        case "$kind" in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("${value#"$done"}")
                [[ "$value" == *= ]] && compopt -o nospace
                ;;
        esac
    done <<< "$response"
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


add_completion_class(_Bash)
