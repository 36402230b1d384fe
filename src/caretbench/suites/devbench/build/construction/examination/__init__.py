"""Examination of generators' answers: texts, rules, the gate, and the instance that remains."""
