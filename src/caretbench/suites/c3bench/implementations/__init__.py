"""Implementation-Control Completion: equivalent implementations of a middle, their predicates and instructions."""
