"""Node power, cooling, prices and income, as pure functions."""
