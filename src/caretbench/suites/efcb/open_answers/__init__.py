"""Tasks whose answer is written: masked lines and descriptions."""
