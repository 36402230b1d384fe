"""A model as judge: prompts, strict parsing, calibration."""
