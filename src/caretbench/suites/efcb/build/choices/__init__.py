"""Multiple-choice questions: GMCQ-Easy and GMCQ-Hard."""
