"""Warm starts of project commands: a Java compiler and pytest that are loaded before the command needs them."""
