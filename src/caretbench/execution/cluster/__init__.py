"""Requests spread over several machines."""
