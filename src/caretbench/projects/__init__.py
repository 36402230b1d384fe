"""Software projects and their tests: setup, test commands, snapshots, and the statements that tests reach."""
