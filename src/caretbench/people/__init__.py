"""People wing: reviews, events of editors, releases of data sets, strengths and biases of models."""
