"""Contrasts of rates: a part against the rest, own against other generators, printed rates without their problems."""
