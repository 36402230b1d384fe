"""Kernel mechanisms: system call filters, Landlock, control groups, the watchdog."""
