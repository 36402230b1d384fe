"""Tuning of models on training pairs. torch is imported within functions: no other verb needs it."""
