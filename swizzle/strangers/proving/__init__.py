"""Proofs that somebody's kernel computes a specification, or what another kernel does."""
