"""Set-up of the user's projects, checks of their tests, agents that repair a set-up, and lines that tests reach."""
