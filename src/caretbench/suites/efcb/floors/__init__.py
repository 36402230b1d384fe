"""Floors of the choice tasks: attacks by words and n-grams that a report computes for any run."""
