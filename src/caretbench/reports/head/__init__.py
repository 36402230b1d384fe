"""Head of a report: which model is better, the ranked models, and the warnings that change how numbers are read."""
