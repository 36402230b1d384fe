"""C3-Bench: completion under an instruction, which says how to implement or how much to write."""
