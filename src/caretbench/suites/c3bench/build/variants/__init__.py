"""Implementations and instructions that people or models write."""
