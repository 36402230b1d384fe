"""What the analysis finds in a file in Rust."""

from __future__ import annotations

from caretbench.syntax import SourceFile
from caretbench.syntax.analysis import analyse
from caretbench.syntax.analysis_types import Span
from caretbench.syntax.documentation import documentation_of

TEXT = """\
//! Prices.
use std::collections::HashMap;

/// One price list.
#[derive(Clone)]
pub struct Prices { rate: i64 }

impl Prices {
    /// The price of `x`.
    pub fn of(&self, x: i64) -> i64 {
        let mut y = self.rate;
        for step in 0..x {
            y += step;
        }
        let known: HashMap<i64, i64> = HashMap::new();
        helper(y, known.len() as i64)
    }
}

fn helper(a: i64, b: i64) -> i64 {
    if a > b { a } else if a < 0 { 0 } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works() {
        assert_eq!(helper(1, 2), 2);
    }
}
"""
FILE = analyse([SourceFile("src/lib.rs", TEXT)])["src/lib.rs"]


def test_names_are_found() -> None:
    body = Span(TEXT.index("let mut y"), TEXT.index("    }\n}\n\nfn helper"))
    found = {(one.name, one.binding, one.origin) for one in FILE.references_in(body)}
    assert found >= {
        ("rate", "field", "same_file"),
        ("x", "parameter", "same_function"),
        ("step", "loop_variable", "same_function"),
        ("HashMap", "class", "stdlib"),
        ("helper", "function", "same_file"),
    }


def test_tests_are_known_by_their_attributes() -> None:
    for text, is_test in (("assert_eq!", True), ("use super", True), ("let mut y", False), ("if a > b", False)):
        start = TEXT.index(text)
        assert FILE.is_test(Span(start, start + len(text))) is is_test, text


def test_blocks() -> None:
    kinds = {block.kind for block in FILE.blocks}
    assert kinds >= {
        "function_body", "loop_header", "loop_body", "if_condition", "if_body", "elif_condition", "elif_body",
        "else_body", "call_expression", "function_tail", "statement",
    }  # fmt: skip


def test_documentation_is_found_above_attributes() -> None:
    method, prices = (documentation_of(TEXT, "rust", name) for name in ("of", "Prices"))
    assert method is not None
    assert method.text == "The price of `x`."
    assert prices is not None
    assert prices.text == "One price list."
    assert documentation_of(TEXT, "rust", "helper") is None
