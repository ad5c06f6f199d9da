"""The front end: source text to a program (`symbolic.ir.program`); one clear error for what is outside the language."""
