"""Validation that holds for every length: blocks with variables for what lengths have beyond them, and long loops."""
