"""The suite ``efcb``: questions about merged pull requests, which need no environment to run in."""
