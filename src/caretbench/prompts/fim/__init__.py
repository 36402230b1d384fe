"""Fill-in-the-middle formats: data, detection, rendering."""
