"""Errors that a user can fix."""


class DataError(ValueError):
    """Error in the content of a file; the message names file and line, and the remedy."""


class AnotherBuildError(DataError):
    """Error: a folder contains a build of other sources or with other options."""


class MachineError(RuntimeError):
    """Error: this machine lacks something; the message names what to install or to set."""
