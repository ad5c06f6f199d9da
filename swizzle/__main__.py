"""`python -m swizzle` is the command line."""

from swizzle.commands.cli import main

main()
