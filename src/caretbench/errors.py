"""The errors that a user can mend."""


class DataError(ValueError):
    """A file does not hold what it should; the message names file and line, and what to do."""


class MachineError(RuntimeError):
    """This machine lacks something; the message says what to install or to set."""
