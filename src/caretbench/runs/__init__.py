"""A run: its folder, its models, and the stages that generate, judge and score."""
