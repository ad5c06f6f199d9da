"""The texts that a job takes along: the file it names, what that imports or includes beside it, and files in options.

Nothing of them is run. What Python finds among installed packages is not taken along: it's installed where jobs run.
"""

from __future__ import annotations

import ast
import os
import site
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from swizzle.strangers.reading.files import cuda_text
from swizzle.sweeps.job import SweepJob
from symbolic.errors import PACKAGES, SwizzleError
from symbolic.files import file_text

CUDA: Final = (".cu", ".cuh")
FOLDERS: Final = ("I", "includes")
"""The option that names folders of headers, as it is spelled."""
NAMING: Final = ("specification", "against", "operators", "device", *FOLDERS)
"""The options whose values may be files; those of others are words, also where a file has that name."""
_OURS: Final = {package.name for package in PACKAGES}


def with_files(job: SweepJob, folder: Path) -> SweepJob:
    """Return a job with the texts that it needs, all named from the folder that holds them; its own names are paths
    from `folder`, but for the text that it has already.

    Raises SwizzleError where the target cannot be read.
    """
    texts = {Path(os.path.abspath(folder / name)): text for name, text in job.files.items()}
    target, name = _split(folder, job.target, texts)
    if target is None:
        raise SwizzleError(
            f"{job.target} is not there",
            expected="a file, FILE or FILE:NAME",
            fix=f"the paths of jobs are from {folder}",
        )
    if target.suffix == ".json":
        raise SwizzleError(
            f"{job.target} is a saved solution", expected="a sketch: a job has no seal of yours",
            fix=f"swizzle check {job.target}",
        )  # fmt: skip
    if target.is_dir() and target not in texts:
        raise SwizzleError(f"{job.target} is a folder", expected="a file", fix=f"{Path(job.target)}/*.py: its files")
    named = {option: [*_named(folder, value)] for option, value in job.options.items() if option in NAMING}
    roots: set[Path] = set()
    includes = [str(path) for option in FOLDERS for path, _ in named.get(option, [])]
    for path in [target, *(path for some in named.values() for path, _ in some if path.is_file())]:
        if path in texts:
            continue
        if path.suffix in CUDA:
            text = cuda_text(path, includes, expected="a file that can be read", fix="mend it, or name another one")
            texts |= {path: _text(path)} | {Path(header): each.text for header, each in text.headers.items()}
        elif path.suffix == ".py":
            _take_imports(path, texts, roots)
        else:
            texts[path] = _text(path)
    base = Path(os.path.commonpath([path.parent for path in texts]))
    options = {option: _renamed(value, named.get(option, ()), base) for option, value in job.options.items()}
    return SweepJob(
        job.do, _from(base, target) + (f":{name}" if name else ""), job.set, options, job.timeout, job.memory,
        {_from(base, path): text for path, text in sorted(texts.items())},
        tuple(sorted(_from(base, root) for root in roots)), job.asked or job.target,
    )  # fmt: skip


def _split(folder: Path, word: str, texts: Collection[Path] = ()) -> tuple[Path | None, str]:
    """Return the file or folder that a word names, one of `texts` or on the disk, and NAME of FILE:NAME."""
    for said, name in ((word, ""), (word.rpartition(":")[0], word.rpartition(":")[2])):
        path = Path(os.path.abspath(folder / said))
        if said and (path in texts or path.is_file() or path.is_dir()):
            return path, name
    return None, ""


def _words(value: Any) -> list[str]:
    return [word for each in (value if isinstance(value, list) else [value]) for word in str(each).split(",")]


def _named(folder: Path, value: Any) -> Iterator[tuple[Path, str]]:
    """Yield the files and folders that an option names, each with the word for it."""
    for word in _words(value) if isinstance(value, str | list) else ():
        path, _ = _split(folder, word)
        if path is not None and path != folder:
            yield path, word


def _renamed(value: Any, named: Iterable[tuple[Path, str]], base: Path) -> Any:
    """Return an option's value with names that hold where the job runs."""
    if isinstance(value, list):
        return [_renamed(each, named, base) for each in value]
    words = str(value).split(",")
    for path, word in named:
        colon = f":{word.rpartition(':')[2]}" if Path(word).name != path.name else ""
        words = [_from(base, path) + colon if each == word else each for each in words]
    return ",".join(words) if isinstance(value, str) else value


def _from(base: Path, path: Path) -> str:
    return Path(os.path.relpath(path, base)).as_posix()


def _text(path: Path) -> str:
    try:
        return file_text(path)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise SwizzleError(
            f"{path} cannot be read: {why}", expected="a file that can be read", fix="mend it, or name another one"
        ) from None


# ---- what Python imports -----------------------------------------------------------------------------------------


def _take_imports(path: Path, texts: dict[Path, str], roots: set[Path]) -> None:
    """Take a Python file along, and what it imports from folders that hold nobody's installed packages."""
    if path in texts:
        return
    texts[path] = _text(path)
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # whose job it is says what is wrong
        for name in _imported(ast.parse(texts[path]), path, roots):
            for root in dict.fromkeys((*_own_folders(), path.parent)):  # the latter where the file adds it to the path
                for module in _modules(root, name):
                    roots |= {root} & {*_own_folders()}
                    _take_imports(module, texts, roots)


def _imported(tree: ast.Module, path: Path, roots: Iterable[Path]) -> Iterator[str]:
    """Yield the dotted names that a file may import; `from a import b` may be of the module a.b."""
    package = next((path.parent.relative_to(root).parts for root in roots if path.is_relative_to(root)), ())
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package[: len(package) - level + 1] if level else ()
                head = ".".join([*above, *([module] if module else [])])
                yield head
                yield from (f"{head}.{alias.name}" for alias in names)


def _own_folders() -> list[Path]:
    """Return the folders in which Python looks for modules, but for those of installed packages."""
    installed = {*site.getsitepackages(), *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib"))}
    folders = dict.fromkeys(Path(os.path.abspath(each)) for each in sys.path)
    return [
        folder for folder in folders if folder.is_dir() and not any(folder.is_relative_to(each) for each in installed)
    ]


def _modules(root: Path, name: str) -> Iterator[Path]:
    """Yield the files of a module below a folder, with those of the packages that hold it."""
    parts = name.split(".")
    if parts[0] in _OURS:
        return
    for count in range(1, len(parts) + 1):
        at = root.joinpath(*parts[:count])
        for file in (at.with_suffix(".py"), at / "__init__.py"):
            if parts[0] and file.is_file():
                yield file
