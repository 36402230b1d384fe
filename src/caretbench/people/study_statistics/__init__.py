"""Statistics of contrasts and of generator bias, for strengths and hold-outs."""
