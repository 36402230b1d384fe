"""The model client on the providers of Inspect."""
