"""Facts and resources of the host that a sandbox is built from."""
