"""Providers for Inspect: endpoints at the caret, local models, commands."""
