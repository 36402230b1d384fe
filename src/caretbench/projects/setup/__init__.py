"""Settings, commands and needs of a project."""
