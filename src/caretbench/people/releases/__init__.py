"""Releases of problem sets: parts, licences, datasheets, Croissant metadata, and differences between versions."""
