"""Models as judges: prompts, strict parsing, calibration."""
