"""How well expected starts agree with recorded ones."""
