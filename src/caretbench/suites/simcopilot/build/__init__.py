"""SimCopilot: what only building needs."""
