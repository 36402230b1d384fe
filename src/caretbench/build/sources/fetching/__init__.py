"""Fetching of projects: source distributions, archives, git repositories, unpacked safely into the cache."""
