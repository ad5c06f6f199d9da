"""Loading the sketches of a file: `.py` files are run as modules of their own, `.swz` files are read."""

from __future__ import annotations

import ast
import itertools
import linecache
import os
import re
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from swizzle.language.operators import HandedIn, Operator, find_operator, handed_in, handing_in
from swizzle.language.other_names import here
from swizzle.language.parameters import MODULE_KEY, Declared, Parameters
from swizzle.language.source.kernel_source import parse, split_lines, syntax_mistake
from swizzle.sketches.host import HostSketch
from swizzle.sketches.sketch import Sketch, SketchFamily, no_specification
from swizzle.sketches.swz_file import SwzReader, names_of_swz, parsed_swz, read_file
from symbolic.errors import Place, SwizzleError, is_ours, near, user_place
from symbolic.extensions import extension_names
from symbolic.files import file_text

if TYPE_CHECKING:
    from swizzle.sketches.choices import FileChoices, SliceRun

MAX_BYTES: Final = 1 << 20
_serial = itertools.count(1)
Made = TypeVar("Made", Sketch, HostSketch)


def load(
    path: str | Path,
    selector: str | None = None,
    overrides: Mapping[str, int] | None = None,
    operators: Sequence[Operator] = (),
) -> list[Sketch]:
    """Return the sketches of a file in order, or the one named `selector`; `overrides` set declared parameters.

    `operators` are users' own that the file may name.
    """
    with handing_in(HandedIn({operator.name: operator for operator in operators}, {})):
        return SketchFile.read(path).load(selector, overrides or {})


def operators_called(words: Sequence[str]) -> HandedIn:
    """Return operators by the names that installed packages give them, and all those at the top level of `.py` files.

    Raises SwizzleError for a name that no package has, and for a file without an operator.
    """
    found, files = dict[str, Operator](), dict[str, Path]()
    for word in words:
        if word.endswith(".py"):
            names = vars(_run_module(_read(Path(word)), word, Parameters()))
            own = {value.name: value for value in names.values() if isinstance(value, Operator)}
            files |= dict.fromkeys(own, Path(word))
            if not own:
                raise SwizzleError(
                    f"{word} has no operator",
                    expected="@operator(...) above a `def`, at its top level",
                    fix="write the operator in this file, or name the file that has it",
                )
        else:
            operator = find_operator(word, {})
            if operator is None:
                known = extension_names("operators")
                raise SwizzleError(
                    f"no installed package has an operator {word!r}",
                    expected=f"FILE.py, or one of {', '.join(known)}" if known else "FILE.py",
                    fix=near(word, known) or "install the package, or name the file (docs/extend.md)",
                )
            own = {operator.name: operator}
        found |= own
    return HandedIn(found, files)


def named_in_files(words: Sequence[str], what: str) -> list[Any]:
    """Return each word, or, of one that is `FILE.py:NAME`, what that file has under this name at its top level.

    `what` says what is looked for, in an error. A file is run once for all its names.
    """
    files: dict[str, Mapping[str, Any]] = {}
    found: list[Any] = []
    for word in words:
        file, colon, name = word.rpartition(":")
        if not file.endswith(".py") and not word.endswith(".py"):
            found.append(word)
            continue
        if not colon or word.endswith(".py"):
            raise SwizzleError(
                f"{word} without the name of {what}", expected=f"FILE.py:NAME, {what} at its top level",
                fix=f"write {word.rstrip(':')}:NAME",
            )  # fmt: skip
        if file not in files:
            files[file] = vars(_run_module(_read(Path(file)), file, Parameters()))
        if name not in files[file]:
            names = [
                each
                for each, value in files[file].items()
                if each[0] != "_" and not isinstance(value, types.ModuleType)
            ]
            raise SwizzleError(
                f"{file} has no {name}", expected=f"{what} at its top level", fix=near(name, names) or f"define {name}"
            )
        found.append(files[file][name])
    return found


def load_declared(
    path: str | Path, selector: str | None = None, overrides: Mapping[str, int] | None = None
) -> tuple[list[Sketch], Mapping[str, Declared]]:
    """Return the sketches of a file as `load` does, and the parameters that the file declares."""
    file = SketchFile.read(path)
    return file.load(selector, overrides or {}), file.instance(overrides or {}).parameters.declared


def load_names(
    path: str | Path, overrides: Mapping[str, int] | None = None, refused: dict[str, SwizzleError] | None = None
) -> Mapping[str, object]:
    """Return what a file has at its top level, of a `.swz` file all but sketches; `overrides` set parameters.

    Mistakes of sketches and loops are kept in `refused`, by name, if there is such a table, and are raised otherwise.
    """
    file = Path(path)
    if file.suffix not in (".py", ".swz"):
        raise _no_sketch_file(path, file)
    parameters, text = Parameters(dict(overrides or {}), operators=handed_in(), refused=refused), _read(file)
    if file.suffix == ".swz":
        names: Mapping[str, object] = names_of_swz(text, str(path), parameters)
    else:
        names = vars(_run_module(text, str(path), parameters))
    parameters.require_all_used(str(path))
    return names


def family_of(sketch: Sketch) -> SketchFamily[Sketch] | None:
    """Return a sketch's family: that of its file where Python itself has run that, None where there is no file."""
    if sketch.family is not None:
        return sketch.family
    try:
        (same,) = load(sketch.place.file, sketch.name, sketch.parameters)
    except SwizzleError:
        return None
    return same.family


class Instance(Struct, frozen=True):
    """A file with values of its parameters: the sketches by the names that they have at its top level."""

    parameters: Parameters
    sketches: Mapping[str, Sketch]
    hosts: Mapping[str, HostSketch] = {}

    def raise_refused(self, name: str | None) -> None:
        """Raise the mistake of the sketch of this name, without a name that of the first one that has any."""
        refused = self.parameters.refused or {}
        if refused and (name is None or name in refused):
            raise refused[next(iter(refused)) if name is None else name]

    @property
    def of_their_own(self) -> dict[str, Sketch]:
        """The sketches with a specification; raises SwizzleError for one without it that no host function launches."""
        self.raise_refused(None)
        launched = {id(kernel) for host in self.hosts.values() for kernel in host.kernels}
        for sketch in self.sketches.values():
            if not sketch.is_specified and id(sketch) not in launched:
                raise no_specification(sketch.name, sketch.spec.place)
        return {name: sketch for name, sketch in self.sketches.items() if sketch.is_specified}


class SketchFile(Struct):
    """The text of a file, and its instances: it runs once for each set of values of its parameters."""

    path: str
    text: str
    operators: Mapping[str, Operator] = field(default_factory=handed_in)
    _known: dict[frozenset[tuple[str, int]], Instance] = field(default_factory=dict)
    _choices: frozenset[str] | None = None

    @staticmethod
    def read(path: str | Path) -> SketchFile:
        """Read a file; raises SwizzleError where it is none of sketches."""
        file = Path(path)
        if file.suffix not in (".py", ".swz"):
            raise _no_sketch_file(path, file)
        return SketchFile(str(path), _read(file))

    def load(self, selector: str | None, overrides: Mapping[str, int]) -> list[Sketch]:
        """Return all sketches, or the one that is named."""
        made = self.instance(overrides)
        made.raise_refused(selector)
        sketches = made.sketches
        if selector is not None and selector not in (*sketches, *made.hosts):
            # A function that makes sketches gives its kernel another name than the module does.
            called = dict.fromkeys(sketch for sketch in sketches.values() if sketch.name == selector)
            sketches = dict.fromkeys([selector], next(iter(called))) if len(called) == 1 else sketches
        if selector is None:
            sketches = made.of_their_own
        elif selector in made.hosts:
            raise SwizzleError(
                f"{selector} is a host function, which launches {_listed(made.hosts[selector])}",
                place=made.hosts[selector].place,
                expected="a sketch",
                fix=f"name one of its kernels, or use `swizzle solve`, `check` or `run` on {self.path}:{selector}",
            )
        elif selector in sketches and not sketches[selector].is_specified:
            raise no_specification(sketches[selector].name, sketches[selector].spec.place)
        if not sketches and made.hosts:
            raise SwizzleError(
                f"{self.path} has host functions only: {', '.join(made.hosts)}",
                expected="a sketch with a specification of its own",
                fix=f"`swizzle solve`, `check` and `run` take {self.path}:{next(iter(made.hosts))}",
            )
        if not sketches:
            raise SwizzleError(
                f"{self.path} has no sketch",
                expected="a kernel with @sketch(...) above it, at the file's top level",
                fix="docs/language.md begins with a whole sketch",
            )
        if selector is None:
            return list(dict.fromkeys(sketches.values()))
        if selector not in sketches:
            raise SwizzleError(
                f"{self.path} has no sketch {selector}",
                expected=f"one of {', '.join(sketches)}",
                fix=near(selector, sketches) or f"write {self.path}:{next(iter(sketches))}",
            )
        return [sketches[selector]]

    def load_hosts(self, selector: str | None, overrides: Mapping[str, int]) -> tuple[list[HostSketch], bool]:
        """Return all host functions, or the one that is named, and whether there is nothing else to be had."""
        made = self.instance(overrides)
        made.raise_refused(selector)
        if selector is not None:
            return [made.hosts[selector]] if selector in made.hosts else [], selector in made.hosts
        return list(dict.fromkeys(made.hosts.values())), bool(made.hosts) and not made.of_their_own

    def instance(self, overrides: Mapping[str, int]) -> Instance:
        """Return what the file makes of these values."""
        key = frozenset(overrides.items())
        if key not in self._known:
            parameters = Parameters(
                dict(overrides), once=True, again=self._again, operators=self.operators, chosen=self._chosen(overrides),
                refused={},
            )  # fmt: skip
            hosts: dict[str, HostSketch] = {}
            if self.path.endswith(".swz"):
                read = read_file(self.text, self.path, parameters)
                sketches, hosts = {s.name: s for s in read.sketches}, {h.name: h for h in read.hosts}
            else:
                module = _run_module(self.text, self.path, parameters)
                sketches, hosts = _made_in(module, self.path, Sketch), _made_in(module, self.path, HostSketch)
            parameters.require_all_used(self.path)
            made = Instance(parameters, sketches, hosts)
            self._known[key] = self._known[frozenset(parameters.values.items())] = made
        return self._known[key]

    def choices(self, overrides: Mapping[str, int]) -> FileChoices:
        """Return the file's choices, of which some may be set, and what is required of them."""
        found = self._read_choices(overrides)
        self._choices = frozenset(found.declared)
        return found

    def alone(self) -> SketchFile:
        """Return the same file without its instances, for one of very many."""
        return replace(self, _known={})

    def _read_choices(self, overrides: Mapping[str, int]) -> FileChoices:
        from swizzle.sketches.choices import read_choices

        if not self.path.endswith(".swz"):

            def runner(nodes: Sequence[ast.stmt]) -> SliceRun:
                code = compile(ast.Module(list(nodes), []), self.path, "exec", dont_inherit=True)
                return lambda parameters: _run_code(lambda: code, self.text, self.path, parameters)

            return read_choices(self.path, parse(self.text, self.path).body, runner, overrides)
        tree, source = parsed_swz(self.text, self.path)

        def reading(nodes: Sequence[ast.stmt]) -> SliceRun:
            def run(parameters: Parameters) -> None:
                parameters.operators = self.operators
                reader = SwzReader(source, parameters)
                for node in nodes:
                    reader.statement(node)

            return run

        return read_choices(self.path, tree.body, reading, overrides)

    def _chosen(self, overrides: Mapping[str, int]) -> Mapping[str, int]:
        """Return the values of the choices that are not set."""
        if "choice" not in self.text or (self._choices is not None and self._choices <= overrides.keys()):
            return {}
        return self.choices(overrides).first()

    def _again(self, name: str, values: Mapping[str, int]) -> Sketch:
        made = self.instance(values)
        made.raise_refused(name)
        found = [sketch for sketch in dict.fromkeys(made.sketches.values()) if sketch.name == name]
        if not found:
            chosen = ", ".join(f"{key}={value}" for key, value in values.items())
            raise SwizzleError(
                f"{self.path} makes no sketch {name} where {chosen}",
                expected=f"a definition of {name} for these values",
                fix="choose values for which the file defines it",
            )
        return found[0]


def _no_text(file: Path, found: str, before: str) -> SwizzleError:
    """Say what of a file is no text, behind the part that is."""
    place = Place(str(file), before.count("\n") + 1, len(before) - before.rfind("\n"))
    return SwizzleError(found, place=place, expected="a text in UTF-8", fix="save the file as UTF-8")


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise SwizzleError(
                f"{file} is larger than {MAX_BYTES} bytes",
                expected="a sketch file",
                fix="put the sketch into a file of its own",
            )
        text = file_text(file)
        if (null := text.find("\0")) < 0:
            return text
        raise _no_text(file, "the byte 0x00 is no text", text[:null])
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode(errors="replace")
        raise _no_text(file, f"the byte 0x{error.object[error.start]:02x} is not UTF-8", before) from None
    except OSError as error:
        raise SwizzleError(
            f"{file} cannot be read: {error.strerror}", expected="a .py or a .swz file", fix=_near_files(file)
        ) from None


def _no_sketch_file(path: str | Path, file: Path) -> SwizzleError:
    """Say what a path is instead of a sketch file."""
    head, colon, tail = str(path).rpartition(":")
    if colon and Path(head).suffix in (".py", ".swz"):
        found, fix = f"{tail!r} is not the name of a sketch", f"write {head}, or {head}:NAME"
    elif os.path.isdir(file):
        found, fix = f"{path} is a folder", _near_files(file / "a.py") or "name a file in it"
    elif file.suffix in (".cu", ".cuh", ".ptx"):
        found, fix = f"{path} is a printed text", f"name the solution that it came with: {file.with_suffix('.json')}"
    else:
        there = [file.with_name(file.name + end) for end in (".py", ".swz")]
        meant = [f"did you mean {name}?" for name in there if name.is_file()]
        found = f"{path} is not a sketch file"
        fix = meant[0] if meant else "sketches are in files that end in .py or .swz"
    return SwizzleError(found, expected="a .py or a .swz file", fix=fix)


def _near_files(file: Path) -> str:
    """Suggest the file that was meant: one of its name below its folder, or one of another name in it."""
    below = sorted(found for depth in ("*", "*/*") for found in file.parent.glob(f"{depth}/{file.name}"))
    if below:
        return f"did you mean {below[0]}?"
    try:
        names = sorted(p.name for p in file.parent.iterdir() if p.suffix in (".py", ".swz") and p.is_file())
    except OSError:
        return f"there is no folder {file.parent}"
    if not names:
        return "no .py and no .swz file is in that folder"
    alike = near(file.name, names) or near(file.stem, [Path(name).stem for name in names])
    return alike or f"in that folder: {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}"


def _run_module(text: str, file: str, parameters: Parameters) -> types.ModuleType:
    """Run a `.py` file as a module of its own."""
    return _run_code(lambda: _compiled(text, file), text, file, parameters)


@contextmanager
def _text_at_hand(text: str, file: str) -> Iterator[None]:
    """Let Python find this text of a file, which is compiled here, whatever the file or another of its name holds."""
    before = linecache.cache.get(file)
    linecache.cache[file] = (len(text), None, [f"{line}\n" for line in split_lines(text)], file)
    try:
        yield
    finally:
        linecache.cache.pop(file, None)
        if before is not None:
            linecache.cache[file] = before


def _run_code(code: Callable[[], types.CodeType], text: str, file: str, parameters: Parameters) -> types.ModuleType:
    """Run the code of a file's text, or of a part of it, as a module of its own."""
    name = f"_swizzle_sketch_{next(_serial)}"
    module = types.ModuleType(name)
    module.__file__ = file
    module.__dict__[MODULE_KEY] = parameters
    sys.modules[name] = module
    try:
        with _text_at_hand(text, file):
            exec(code(), module.__dict__)
    except (Exception, SystemExit) as error:
        if not isinstance(error, SwizzleError | SyntaxError) and not _is_theirs(error, file):
            raise
        if parameters.refused:  # what fails later may follow from it
            raise next(iter(parameters.refused.values())) from None
        if isinstance(error, SwizzleError):
            raise
        if isinstance(error, SyntaxError):
            raise syntax_mistake(error, error.filename or file) from None
        raise _module_mistake(error, file) from error
    finally:
        del sys.modules[name]
    return module


@lru_cache(maxsize=8)
def _compiled(text: str, file: str) -> types.CodeType:
    return compile(text, file, "exec")


def _made_in(module: types.ModuleType, file: str, kind: type[Made]) -> dict[str, Made]:
    """Return the sketches, or the host functions, that a module has made, by name."""
    return {name: value for name, value in vars(module).items() if isinstance(value, kind) and value.place.file == file}


def _listed(host: HostSketch) -> str:
    return ", ".join(launch.kernel.name for launch in host.launches)


def _is_theirs(error: BaseException, file: str) -> bool:
    """Tell whether an exception comes from the file, or from what it calls, and not from inside Swizzle."""
    if isinstance(error, ValueError) and "integer string conversion" in str(error):
        return True  # an int of theirs, of so many digits that Python does not write it into a message
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == file:
            return True
        if is_ours(frame.filename):
            return frame.filename == __file__  # the call of `exec` itself: the file did not compile
    return True


def _module_mistake(error: BaseException, file: str) -> SwizzleError:
    in_file = any(frame.filename == file for frame in traceback.extract_tb(error.__traceback__))
    place = user_place(error, file) if in_file else Place(file, 1, 1)
    said = re.sub(r" \(\S+\)$", "", str(error)) if isinstance(error, ImportError) else str(error)  # no file of ours
    missing = re.search(r"(?:name|has no attribute) '(\w+)'", said)
    hint = here(missing[1]) if missing and isinstance(error, NameError | ImportError | AttributeError) else ""
    return SwizzleError(
        f"running the file failed: {type(error).__name__}: {said}",
        place=place,
        expected="a Python module that runs to its end",
        fix=hint or f"correct it there; `python {file}` shows the whole traceback",
    )
