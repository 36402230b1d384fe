"""Errors that a user can fix."""


class DataError(ValueError):
    """Error in the content of a file; the message names file and line, and the remedy."""


class MachineError(RuntimeError):
    """Error: this machine lacks something; the message names what to install or to set."""
