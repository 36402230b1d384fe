"""Released spans and labels, and the paper's tables about them."""
