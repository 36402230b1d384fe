"""Construction of instances: scenarios, requests to generators, checks, and the folder of a built set."""
