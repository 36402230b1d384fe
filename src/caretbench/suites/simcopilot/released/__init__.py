"""The released spans and labels, counted as the paper counts them."""
