"""From the files of a project to tasks."""
