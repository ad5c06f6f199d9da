"""`python -m swizzle` is the command line."""

from swizzle.commands.entry import main

main()
