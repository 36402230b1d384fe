"""Study of judges: how near they are to people, whom they may replace, and how much style moves them."""
