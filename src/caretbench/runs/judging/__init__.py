"""Parts of the judging stage: texts of a run, graders, forecasts, ratings by people."""
