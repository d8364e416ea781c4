"""Experiments beside the product: kits that reproduce papers, benchmarks, mutations and growth curves."""
