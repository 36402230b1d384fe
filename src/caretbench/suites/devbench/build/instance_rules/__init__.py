"""Rules of instances: numbers measured on a program, and checks of its text."""
