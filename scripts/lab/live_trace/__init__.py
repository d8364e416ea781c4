"""A trace as real processes of the live service, through kills."""
