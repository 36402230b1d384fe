"""Training of completion models: pairs, and benchmarks that must not be among them."""
