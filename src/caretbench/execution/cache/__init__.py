"""Verdicts and built folders kept by what decides them."""
