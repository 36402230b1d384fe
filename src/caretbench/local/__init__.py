"""Local models: cached weights, GGUF files, and a server in a process of its own."""
