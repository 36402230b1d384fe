from __future__ import annotations

from caretbench.suites.c3bench.build.variants.written_variants import table_lines

TEXT = '''\
# [[contexts]] in a comment
[[contexts]]
code = """
[[contexts]]
"""
other = 'a # no comment'
[[ contexts . implementations ]]
text = \'\'\'
"""
[[contexts.implementations]]
\'\'\'
quoted = "a \\" # [[contexts]]"
  [[contexts]]  # the second
[[contextsmore]]
'''


def test_headers_in_texts_and_comments_do_not_count() -> None:
    assert table_lines(TEXT, "contexts") == [2, 13]
    assert table_lines(TEXT, "contexts.implementations") == [7]
    assert table_lines("", "contexts") == []
