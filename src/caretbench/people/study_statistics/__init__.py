"""Statistics of contrasts, difficulty, halves and replacement, for strengths and studies."""
