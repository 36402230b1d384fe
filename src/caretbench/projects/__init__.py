"""A software project and its tests: set-up, commands, runners, snapshots, reach."""
