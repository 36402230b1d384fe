"""The suite ``simcopilot``."""
