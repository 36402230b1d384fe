"""Values of a report and their computation: left-out problems, flags, errors, usage, best of three."""
