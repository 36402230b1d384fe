"""From what a problem shows to what a model is sent: strategies, templates, FIM formats, budgets."""
