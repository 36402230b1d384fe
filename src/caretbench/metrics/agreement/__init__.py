"""Agreement of people and judges: coefficients, statistics over items with intervals, tests of judges."""
