"""Results in a report and their computation: excluded problems, flags, errors, usage, best of three."""
