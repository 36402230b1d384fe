"""The sandbox: one untrusted program, its isolation and its supervision."""
