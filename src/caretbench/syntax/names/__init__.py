"""Names, references and data flow within and across files."""
