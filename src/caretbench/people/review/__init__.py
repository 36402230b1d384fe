"""Review of problems and answers by people: protocols, items, stored decisions, and the page for deciding."""
