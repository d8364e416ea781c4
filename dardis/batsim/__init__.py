"""Batsim's protocol: this program in place of Batsim, for a scheduler that is another program."""
