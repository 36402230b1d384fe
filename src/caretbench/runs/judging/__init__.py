"""The judging stage: texts of a run, graders at work, forecasts, ratings by people."""
