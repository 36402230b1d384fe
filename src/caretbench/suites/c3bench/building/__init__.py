"""Build of problems from functions with tests and from source files."""
