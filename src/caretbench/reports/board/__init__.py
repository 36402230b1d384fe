"""Board: models × suites from many runs, ranks as intervals, a static site, and the check of a submission."""
