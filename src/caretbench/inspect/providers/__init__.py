"""Providers for Inspect: fill-in-the-middle endpoints, local models, commands."""
