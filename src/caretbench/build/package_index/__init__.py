"""Package index proxy: the only network that a set-up command reaches."""
