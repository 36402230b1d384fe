"""The suite ``devbench``."""
