"""Packages of a Python project's tests as its files name them; nothing of the project is executed."""
