"""Exchange of problems as JSON in the layout of the paper (its Figure 3): :func:`to_rows` and :func:`from_rows`."""

from caretbench.suites.codevbench.build.exchange.published_layout import read_test_names
from caretbench.suites.codevbench.build.exchange.rows_in import RowSource, from_rows
from caretbench.suites.codevbench.build.exchange.rows_out import to_rows, write_rows_out

__all__ = ["RowSource", "from_rows", "read_test_names", "to_rows", "write_rows_out"]
