"""Digests that guard every move of code: what each dispatcher makes of known traces, and what is kept of it."""
