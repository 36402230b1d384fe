"""Configuration of a run and its plan: options, run files, presets, prices, roles, the chosen problems."""
