"""Overview of several suites: a table of models and suites, made of the heads of the suites' own reports."""
