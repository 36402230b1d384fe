"""Mining of tasks from the files of a project."""
