"""Loading the sketches of a file: `.py` files are run as modules of their own, `.swz` files are read."""

from __future__ import annotations

import itertools
import sys
import traceback
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from swizzle.frontend.source import syntax_mistake
from swizzle.frontend.suggest import near
from swizzle.frontend.swz_file import read_swz
from swizzle.parameters import MODULE_KEY, Declared, Parameters
from swizzle.sketch import Sketch
from symbolic.errors import Place, SwizzleError

MAX_BYTES: Final = 1 << 20
_ROOT: Final = Path(__file__).parent.parent
_PACKAGES: Final = tuple(_ROOT / name for name in ("swizzle", "symbolic", "templates", "cuda_out"))
_serial = itertools.count(1)


def load(path: str | Path, selector: str | None = None, overrides: Mapping[str, int] | None = None) -> list[Sketch]:
    """Return the sketches of a file in order, or the one named `selector`; `overrides` set declared parameters."""
    return load_declared(path, selector, overrides)[0]


def load_declared(
    path: str | Path, selector: str | None = None, overrides: Mapping[str, int] | None = None
) -> tuple[list[Sketch], Mapping[str, Declared]]:
    """Return the sketches of a file as `load` does, and the parameters that the file declares."""
    file = Path(path)
    if file.suffix not in (".py", ".swz"):
        raise SwizzleError(f"{path} is not a sketch file", expected="a .py or a .swz file")
    text = _read(file)
    parameters = Parameters(dict(overrides or {}), once=True)
    if file.suffix == ".swz":
        sketches = {sketch.name: sketch for sketch in read_swz(text, str(path), parameters)}
    else:
        sketches = _run_module(text, str(path), parameters)
    parameters.require_all_used(str(path))
    if not sketches:
        raise SwizzleError(f"{path} has no sketch", expected="a function with @sketch(...) at the file's top level")
    if selector is None:
        return list(dict.fromkeys(sketches.values())), parameters.declared
    if selector not in sketches:
        raise SwizzleError(
            f"{path} has no sketch {selector}", expected=f"one of {', '.join(sketches)}", mend=near(selector, sketches)
        )
    return [sketches[selector]], parameters.declared


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise SwizzleError(f"{file} is larger than {MAX_BYTES} bytes", expected="a sketch file")
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise SwizzleError(f"{file} is not a text in UTF-8") from None
    except OSError as error:
        raise SwizzleError(f"{file} cannot be read: {error.strerror}", expected="a .py or a .swz file") from None


def _run_module(text: str, file: str, parameters: Parameters) -> dict[str, Sketch]:
    """Run a `.py` file as a module of its own and return the sketches that it made, by name."""
    name = f"_swizzle_sketch_{next(_serial)}"
    module = types.ModuleType(name)
    module.__file__ = file
    module.__dict__[MODULE_KEY] = parameters
    sys.modules[name] = module
    try:
        exec(compile(text, file, "exec"), module.__dict__)
    except SwizzleError:
        raise
    except SyntaxError as error:
        raise syntax_mistake(error, error.filename or file) from None
    except (Exception, SystemExit) as error:
        if not _is_theirs(error, file):
            raise
        raise _module_mistake(error, file) from error
    finally:
        del sys.modules[name]
    return {
        name: value for name, value in vars(module).items() if isinstance(value, Sketch) and value.place.file == file
    }


def _is_theirs(error: BaseException, file: str) -> bool:
    """Tell whether an exception comes from the file, or from what it calls, and not from inside Swizzle."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == file:
            return True
        if any(Path(frame.filename).is_relative_to(package) for package in _PACKAGES):
            return frame.filename == __file__  # the call of `exec` itself: the file did not compile
    return True


def _module_mistake(error: BaseException, file: str) -> SwizzleError:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    place = Place(file, 1, 1)
    if frames:
        last = frames[-1]
        column = (getattr(last, "colno", None) or 0) + 1
        end = getattr(last, "end_colno", None) if getattr(last, "end_lineno", None) == last.lineno else None
        place = Place(file, last.lineno or 1, column, (end or column) + 1)
    return SwizzleError(f"running the file failed: {type(error).__name__}: {error}", place=place)
