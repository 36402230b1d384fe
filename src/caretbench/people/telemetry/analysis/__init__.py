"""Statistics over completion events, with intervals over users: usage, failures, weights, codes, acceptance."""
