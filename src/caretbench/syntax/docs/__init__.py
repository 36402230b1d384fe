"""Comments and documentation of a program."""
