"""Features of a completion event that are computed where its texts are, and contain none of them."""
