"""Strengths and weaknesses of a model against the field, comparable languages, and bias of generators."""
