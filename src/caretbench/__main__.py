"""Entry point of ``python -m caretbench``."""

from caretbench.cli import main

main()
