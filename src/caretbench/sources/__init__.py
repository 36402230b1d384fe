"""Where code comes from: git history, GitHub, and what of it is fit to be asked about."""
