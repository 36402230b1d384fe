"""Likeness of programs, and texts that no problem may hold."""
