"""The safety net: verdicts, statuses, numbers and text hashes of a checkout, compared with those of a later one."""
