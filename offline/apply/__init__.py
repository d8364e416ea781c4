"""Applies exported requests to the nodes' controllers at the planned times."""
