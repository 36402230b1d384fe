"""Model client on the providers of Inspect."""
