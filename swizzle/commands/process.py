"""The process of the command line: each end of a command as an exit status, and streams that may be gone."""

from __future__ import annotations

import atexit
import errno
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from swizzle.commands.cli import cli
from swizzle.commands.output import BUG, DONE, MISTAKE, UNDECIDED

if TYPE_CHECKING:
    from symbolic.errors import SwizzleError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def execute(arguments: Sequence[str], stdout: TextIO, stderr: TextIO) -> int:
    """Run one command line and return its exit status; every exception becomes a line on stderr."""
    from swizzle.commands.output import on_screen
    from symbolic.errors import SwizzleError
    from symbolic.limits import Interruption

    plain = stdout, stderr
    stdout, stderr = on_screen(stdout), on_screen(stderr)
    try:
        with redirect_stdout(plain[0]), redirect_stderr(plain[1]):
            status = cli.main(list(arguments), prog_name="swizzle", standalone_mode=False, obj=(stdout, stderr))
        return DONE if status is None else int(status)
    except click.exceptions.NoArgsIsHelpError as error:  # a group of commands alone
        print(error.format_message(), file=stdout)
        return DONE
    except click.UsageError as error:
        print(usage_mistake(error), file=stderr)
        return MISTAKE
    except click.ClickException as error:
        error.show(file=stderr)
        return error.exit_code
    except SwizzleError as error:
        print(error, file=stderr)
        return MISTAKE
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=stderr)
        return UNDECIDED
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # of a file that the command line names, or what is made of its name
            print(SwizzleError("a file name that is too long", expected="as many bytes as the file system takes",
                               fix="use a shorter name, or a folder nearer to the root"), file=stderr)  # fmt: skip
            return MISTAKE
        if error.errno not in NO_ROOM:
            return _bug(error, stderr)
        print(f"error: cannot write: {error.strerror}", file=stderr)
        return MISTAKE
    except UnicodeEncodeError as error:
        if error.encoding.lower().replace("-", "") == "utf8":
            return _bug(error, stderr)
        print(SwizzleError(f"this locale has no file names such as {error.object}: it writes them in {error.encoding}",
                           expected="a locale that takes every name", fix="set PYTHONUTF8=1, or LC_ALL=C.UTF-8"),
              file=stderr)  # fmt: skip
        return MISTAKE
    except (Interruption, MemoryError) as stopped:
        why = str(stopped) if isinstance(stopped, Interruption) else ""
        print(f"undecided: {why or 'out of memory'}", file=stderr)
        return UNDECIDED
    except SystemExit as stop:
        if "_SWIZZLE_COMPLETE" in os.environ:  # a shell asked, and has its answer
            return int(stop.code or 0)
        raise BrokenPipeError from stop  # click's answer to a reader that went away
    except Exception as error:
        if not isinstance(error, ValueError) or "integer string conversion" not in str(error):
            return _bug(error, stderr)
        print(SwizzleError("an int of thousands of digits, which Python does not write",
                           expected="sizes, constants and data of 64 bits", fix="compute with smaller numbers"),
              file=stderr)  # fmt: skip
        return MISTAKE


def usage_mistake(error: click.UsageError) -> SwizzleError:
    """Say what is wrong with a command line in the form of every other mistake."""
    import re
    from difflib import get_close_matches

    from symbolic.errors import SwizzleError

    found, _, near = error.format_message().removesuffix(".").partition("Did you mean ")
    if near.startswith("one of: "):
        wrong, *names = re.findall(r"'(.*?)'", f"{found}{near}")
        near = f"{get_close_matches(wrong, names, 1, cutoff=0)[0]!r}?"
    found, _, expected = found.rstrip(" (").removesuffix(".").partition(": expected ")
    command = error.ctx.command_path if error.ctx else "swizzle"
    usage = error.ctx.get_usage().removeprefix("Usage: ") if error.ctx else "swizzle COMMAND"
    return SwizzleError(
        found,
        expected=expected or " ".join(usage.split()),
        fix=f"did you mean {near}" if near else f"{command} --help shows what it takes",
    )


def _bug(error: Exception, stderr: TextIO) -> int:
    """Say in one line what went wrong inside."""
    if os.environ.get("SWIZZLE_DEBUG") == "1":
        import traceback

        traceback.print_exception(error, file=stderr)
    summary = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"internal error: {summary}; please report it (SWIZZLE_DEBUG=1 shows where)", file=stderr)
    return BUG


def main() -> None:
    """Run the process's command line."""
    try:
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # the shell has closed it: >&-
                setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
            getattr(sys, name).reconfigure(errors="backslashreplace")  # a file's name may be any bytes
        status = execute(sys.argv[1:], sys.stdout, sys.stderr)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`swizzle ... | head`): leave as a process that SIGPIPE ended would.
        status = _abandon(141)
    except KeyboardInterrupt:
        status = _abandon(UNDECIDED, "interrupted")
    except OSError as error:
        status = _abandon(MISTAKE, f"error: cannot write: {error.strerror}")
    leave(status)


def leave(status: int) -> NoReturn:
    """End the process, and leave its memory to the system: to free a large search object by object takes seconds."""
    try:
        sys.stderr.flush()
        atexit._run_exitfuncs()
    except OSError:  # of a stream that nobody reads
        pass
    finally:
        os._exit(status)


def _abandon(status: int, complaint: str = "") -> int:
    """Let go of what the streams still hold, so that the interpreter does not try to write it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    try:
        if complaint:
            print(complaint, file=sys.stderr, flush=True)
    except OSError:
        os.dup2(nowhere, sys.stderr.fileno())
    return status
