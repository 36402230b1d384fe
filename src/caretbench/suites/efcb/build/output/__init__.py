"""Folder and report of a build."""
