"""Settings, test command and installation of a project."""
