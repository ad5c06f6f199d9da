"""Thousands of jobs: each a pure function from JSON to JSON, run by an engine, kept in a journal."""
