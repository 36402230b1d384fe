"""The error that a user can mend."""


class DataError(ValueError):
    """A file does not hold what it should; the message names file and line, and what to do."""
