"""The suite ``efcb``."""
