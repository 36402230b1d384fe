"""Item-difficulty model: abilities of models and difficulties of problems from their numbers of passes."""
