"""The starter set and the repository that it is built from."""
