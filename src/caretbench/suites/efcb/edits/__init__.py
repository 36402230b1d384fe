"""Edits of rendered patches."""
