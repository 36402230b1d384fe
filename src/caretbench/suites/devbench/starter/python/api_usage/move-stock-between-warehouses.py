"""Stock of a small distributor: one row per article and warehouse, and a journal of what was moved."""

import sqlite3

SCHEMA = """
CREATE TABLE stock (
    sku TEXT NOT NULL,
    warehouse TEXT NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity >= 0),
    PRIMARY KEY (sku, warehouse)
);
CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    sku TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    quantity INTEGER NOT NULL
);
"""


class UnknownStock(LookupError):
    """The source warehouse has never held the article."""


def open_stock(path=":memory:"):
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    connection.executescript(SCHEMA)
    return connection


def quantity_of(connection, sku, warehouse):
    row = connection.execute(
        "SELECT quantity FROM stock WHERE sku = ? AND warehouse = ?", (sku, warehouse)
    ).fetchone()
    return row["quantity"] if row else None


def move(connection, sku, source, target, quantity):
    """Move pieces between warehouses, all or nothing, and give the number of the journal entry."""
    with connection:
        taken = connection.execute(
            "UPDATE stock SET quantity = quantity - ? WHERE sku = ? AND warehouse = ?",
            (quantity, sku, source),
        )
        if taken.rowcount == 0:
            raise UnknownStock(f"{source} holds no {sku}")
        # The target may see this article for the first time, or hold some already.
⟦        connection.execute(
            "INSERT INTO stock (sku, warehouse, quantity) VALUES (?, ?, ?) "
            "ON CONFLICT (sku, warehouse) DO UPDATE SET quantity = quantity + excluded.quantity",
            (sku, target, quantity),
        )
⟧        entry = connection.execute(
            "INSERT INTO journal (sku, source, target, quantity) VALUES (?, ?, ?, ?)",
            (sku, source, target, quantity),
        )
    return entry.lastrowid
⟦tests⟧
db = open_stock()
db.executemany(
    "INSERT INTO stock VALUES (?, ?, ?)",
    [("bolt-m8", "north", 40), ("bolt-m8", "south", 5), ("nut-m8", "north", 7), ("nut-m8", "south", 3)],
)
db.commit()

first = move(db, "bolt-m8", "north", "south", 12)
assert quantity_of(db, "bolt-m8", "north") == 28
assert quantity_of(db, "bolt-m8", "south") == 17
assert quantity_of(db, "nut-m8", "south") == 3

second = move(db, "bolt-m8", "south", "harbour", 17)
assert quantity_of(db, "bolt-m8", "south") == 0
assert quantity_of(db, "bolt-m8", "harbour") == 17
assert second == first + 1

move(db, "bolt-m8", "north", "harbour", 3)
assert quantity_of(db, "bolt-m8", "harbour") == 20
assert quantity_of(db, "bolt-m8", "north") == 25

# More than there is: nothing changes, nothing is journalled.
try:
    move(db, "nut-m8", "north", "south", 8)
except sqlite3.IntegrityError:
    pass
else:
    raise AssertionError("a warehouse went below zero")
assert quantity_of(db, "nut-m8", "north") == 7
assert quantity_of(db, "nut-m8", "south") == 3

try:
    move(db, "washer", "north", "south", 1)
except UnknownStock:
    pass
else:
    raise AssertionError("an unknown article was moved")
assert quantity_of(db, "washer", "south") is None
assert db.execute("SELECT COUNT(*) FROM journal").fetchone()[0] == 3
assert db.execute("SELECT SUM(quantity) FROM stock WHERE sku = 'bolt-m8'").fetchone()[0] == 45
db.close()
