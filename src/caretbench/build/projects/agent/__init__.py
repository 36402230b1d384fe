"""Recipes that set a project up, proposed from outside and tried in the sandbox; nothing here knows a model."""
