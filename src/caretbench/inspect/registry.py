"""What Inspect finds through the entry point ``inspect_ai``: our providers and tasks. Importing it registers them."""
