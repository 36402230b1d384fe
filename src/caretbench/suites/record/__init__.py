"""The record: dated editions of blocks from real projects, which anyone rebuilds from their archives."""
