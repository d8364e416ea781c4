"""Constraint programming as a dispatcher: the models of four papers, their searches, and what decisions are about."""
