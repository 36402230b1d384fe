"""CaretBench: measure a code-completion model at the caret."""
