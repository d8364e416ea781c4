"""Node power, cooling, price and income: pure functions of load, weather and tariff."""
