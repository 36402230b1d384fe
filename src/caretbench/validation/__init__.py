"""Is a problem fit to measure anything? Mutants, near-duplicates and the gate that every problem goes through."""
