"""Style controls of judges: the same answer in another style, which must keep its score."""
