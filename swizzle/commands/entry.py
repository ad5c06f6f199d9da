"""Where the command line begins: its version is said before anything is imported that commands need."""

from __future__ import annotations

import os
import sys

from swizzle.solving.solution.version import __version__


def main() -> None:
    """Run the command line; end the process with its status."""
    if sys.argv[1:] == ["--version"]:
        try:
            os.write(1, f"swizzle, version {__version__}\n".encode())
        except OSError:  # nobody reads it, or there is no room: the command line has words for that
            pass
        else:
            return
    from swizzle.commands.process import main as command_line

    command_line()
