"""Dependency bundles: content-addressed, read-only folders of packages, built beforehand, not while testing.

Specifications are data (``*.toml`` with a lock file next to it). ``build`` makes a bundle, ``installed`` finds
one, ``status`` says which are there and how to get the others.
"""
