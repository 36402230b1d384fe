"""Exchange of a review with others: exports, ratings for runs, imports, added items."""
