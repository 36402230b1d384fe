"""Builds that ask models."""
