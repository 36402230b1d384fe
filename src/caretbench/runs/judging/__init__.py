"""Parts of the judging stage: texts of a run, judges, forecasts, ratings by people."""
