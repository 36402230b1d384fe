"""Text and contents of a merged change: title, description, people, generated files."""
