"""Commands in projects: snapshots, patches, prepared projects, test results."""
