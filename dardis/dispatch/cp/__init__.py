"""Dispatchers by constraint programming: models of four papers, and searches."""
