"""Git history: commits, patches, merged branches."""
