"""Reports of these tests have the sections of strengths and of generator bias."""

from caretbench.people.strengths.report_sections import add_strength_sections

add_strength_sections()
