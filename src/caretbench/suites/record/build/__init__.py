"""Builder of the record: recipes, archives by hash, editions, and their verification."""
