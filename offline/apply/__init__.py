"""Applies exported requests to nodes' controllers at the planned times."""
