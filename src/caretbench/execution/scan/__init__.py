"""Static scan of answers for ways to fake a pass."""
