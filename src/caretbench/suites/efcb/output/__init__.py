"""The folder of a build, and the report of what is missing in it."""
