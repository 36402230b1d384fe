"""Models on this machine: weights in a cache, GGUF files, and a server in a process of its own."""
