"""The front end: source text to a program (`symbolic.program`); one clear error for what is outside the language."""
