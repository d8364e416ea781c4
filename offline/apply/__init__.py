"""Applies exported requests to node controllers in time."""
