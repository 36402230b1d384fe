"""The only room that imports inspect_ai: our client on its providers, and our suites as its tasks."""
