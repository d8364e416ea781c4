"""Dispatchers by constraint programming: the models of four papers, searches, and decision problems."""
