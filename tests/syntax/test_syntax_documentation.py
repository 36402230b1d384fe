from __future__ import annotations

import pytest

from caretbench.syntax.documentation import documentation_of

PYTHON = '''
import functools

def plain(a):
    return a

@functools.cache
def google(first, second=2, *rest):
    """Adds things up.

    Args:
        first (int): The first number.
        second: The second one,
            over two lines.
        *rest: All others.

    Returns:
        The sum.

    Raises:
        ValueError: If first is negative.
    """

class Outer:
    # a remark, no documentation
    """Holds things."""

    def numpy(self, x, y):
        """Do it.

        Parameters
        ----------
        x : int
            What to do.
        y : str

        Returns
        -------
        bool
            Whether it was done.

        Raises
        ------
        OSError
            When the disk is full.
        """

    def sphinx(self, a, b):
        """Do it again.

        :param a: the first
        :param int b: the second
        :returns: nothing much
        :raises KeyError: never
        """

    class Inner:
        def plain(self):
            'Inner one.'
'''


def test_google_style() -> None:
    found = documentation_of(PYTHON, "python", "google")
    assert found is not None
    assert found.text.startswith("Adds things up.\n\nArgs:\n    first (int): The first number.")
    assert found.parameters == ("first", "second", "rest")
    assert found.returns
    assert found.throws == ("ValueError",)
    assert found.word_count == 28
    assert PYTHON.encode()[found.start : found.end].startswith(b'"""Adds')


def test_numpy_style_counts_only_described_parameters() -> None:
    found = documentation_of(PYTHON, "python", "numpy")
    assert found is not None
    assert found.parameters == ("x",)
    assert found.returns
    assert found.throws == ("OSError",)


def test_sphinx_style() -> None:
    found = documentation_of(PYTHON, "python", "sphinx")
    assert found is not None
    assert found.parameters == ("a", "b")
    assert found.returns
    assert found.throws == ("KeyError",)


def test_class_docstring_after_a_comment_and_nesting() -> None:
    outer = documentation_of(PYTHON, "python", "Outer")
    assert outer is not None
    assert outer.text == "Holds things."
    inner = documentation_of(PYTHON, "py", "Inner.plain")
    assert inner is not None
    assert inner.text == "Inner one."
    first_documented = documentation_of(PYTHON, "python", "plain")
    assert first_documented == inner


@pytest.mark.parametrize("name", ["nobody", "Outer.google", "functools"])
def test_nothing_there(name: str) -> None:
    assert documentation_of(PYTHON, "python", name) is None


SCRIPT = """
/**
 * Adds two numbers.
 *
 * @param {number} a - The first.
 * @param {number} [b=1] The second.
 * @param {Options} c
 * @returns {number} The sum.
 * @throws {RangeError} If too large.
 */
export async function add(a, b, c) {}

/** A class. */
export default class Shop {
  /** How many. @return {number} */
  count = () => 1;

  // only a remark
  plain() {}

  /** Sells. */
  static async *sell() {}
}

/** Arrow. */
const arrow = (x) => x;

/** Exported. */
exports.other = function () {};

const table = {
  /** In a table. */
  entry: function () {},
  /** Short. */
  short() {},
};
"""


def test_jsdoc() -> None:
    found = documentation_of(SCRIPT, "javascript", "add")
    assert found is not None
    assert found.text.startswith("Adds two numbers.\n\n@param {number} a - The first.")
    assert found.parameters == ("a", "b")
    assert found.returns
    assert found.throws == ("RangeError",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Shop", "A class."),
        ("sell", "Sells."),
        ("Shop.sell", "Sells."),
        ("arrow", "Arrow."),
        ("other", "Exported."),
        ("entry", "In a table."),
        ("short", "Short."),
    ],
)
@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_kinds_of_declarations(name: str, text: str, language: str) -> None:
    found = documentation_of(SCRIPT, language, name)
    assert found is not None
    assert found.text == text
    assert found.word_count == len(text.split())


def test_field_with_function() -> None:
    found = documentation_of(SCRIPT, "javascript", "count")
    assert found is not None
    assert found.returns


def test_plain_comment_is_no_documentation() -> None:
    assert documentation_of(SCRIPT, "javascript", "plain") is None


def test_typescript_decorators_and_signatures() -> None:
    source = """
/** A component.
 * @typeParam T nothing
 */
@Component({ selector: 'x' })
export abstract class View<T> {
  /** Clicked. @param event what happened */
  @Listen('click')
  public handle(event: Event): void {}

  /** To do. */
  abstract later(): void;
}
/** Shape. */
export interface Shape {
  /** Its area. @returns square metres */
  area(): number;
}
"""
    assert (view := documentation_of(source, "typescript", "View")) is not None
    assert view.text.startswith("A component.")
    assert (handle := documentation_of(source, "typescript", "handle")) is not None
    assert handle.parameters == ("event",)
    assert (later := documentation_of(source, "typescript", "later")) is not None
    assert later.text == "To do."
    assert (area := documentation_of(source, "typescript", "Shape.area")) is not None
    assert area.returns


def test_javadoc_with_annotations_and_nesting() -> None:
    source = """
package a;
/** The outer one. */
@SuppressWarnings("x")
public class Outer {
    /**
     * Reads a thing.
     *
     * @param path where
     *        it lies
     * @param empty
     * @return the thing
     * @throws java.io.IOException on bad luck
     * @exception IllegalStateException too
     */
    @Override
    public <T> String read(String path, int empty) throws java.io.IOException { return ""; }

    static class Inner {
        /** Inner one. */
        Inner() {}
    }
    void bare() {}
}
"""
    found = documentation_of(source, "java", "read")
    assert found is not None
    assert found.parameters == ("path",)
    assert found.returns
    assert found.throws == ("java.io.IOException", "IllegalStateException")
    assert (outer := documentation_of(source, "java", "Outer")) is not None
    assert outer.text == "The outer one."
    assert (inner := documentation_of(source, "java", "Inner")) is not None
    assert inner.text == "Inner one."
    assert documentation_of(source, "java", "bare") is None


def test_doxygen() -> None:
    source = """
// remark
/// \\brief Adds.
/// \\param[in] a the first
/// \\param b the second
/// \\return the sum
/// \\throw std::bad_alloc never
template <typename T>
T add(T a, T b);

namespace shop {
/** A point. */
struct Point {
  /*! Moves. */
  Point& move(int by);
  /// Gone.
  ~Point() {}
};
}  // namespace shop

/** Outside. */
static const int* shop::Point::find(int* where) { return where; }
"""
    found = documentation_of(source, "cpp", "add")
    assert found is not None
    assert found.text.startswith("\\brief Adds.")
    assert found.parameters == ("a", "b")
    assert found.returns
    assert found.throws == ("std::bad_alloc",)
    expected = {
        "Point": "A point.",
        "shop::Point": "A point.",
        "move": "Moves.",
        "~Point": "Gone.",
        "Point::find": "Outside.",
    }
    for name, text in expected.items():
        assert (documentation := documentation_of(source, "c++", name)) is not None, name
        assert documentation.text == text


def test_csharp_xml() -> None:
    source = """
namespace Shop {
    /// <summary>
    /// A till of <see cref="Coin"/>s.
    /// </summary>
    [Serializable]
    public class Till {
        /// <summary>Pays.</summary>
        /// <param name="amount">How much.</param>
        /// <param name="to"></param>
        /// <returns>The rest.</returns>
        /// <exception cref="T:System.InvalidOperationException">If empty.</exception>
        [Obsolete]
        public int Pay(int amount, string to) => 0;
        // remark
        public int Bare() => 1;
    }
}
"""
    found = documentation_of(source, "c_sharp", "Pay")
    assert found is not None
    assert found.text == "Pays.\nHow much.\n\nThe rest.\nIf empty."
    assert found.parameters == ("amount",)
    assert found.returns
    assert found.throws == ("System.InvalidOperationException",)
    assert (till := documentation_of(source, "csharp", "Till")) is not None
    assert till.word_count == 4
    assert documentation_of(source, "csharp", "Bare") is None


def test_broken_programs_do_not_raise() -> None:
    assert documentation_of('def f(\n"""x', "python", "f") is None
    assert documentation_of("\ud800 /** x */ class A {}", "java", "B") is None


GO = """package main

// License of the file.

// Basket holds items.
type Basket struct{ items []int }

// Add puts an item
// into the basket.
func (b *Basket) Add(item int) { b.items = append(b.items, item) }

// about nothing that follows

func bare() {}
"""


def test_in_go_a_plain_comment_documents() -> None:
    found = documentation_of(GO, "go", "Add")
    assert found is not None
    assert found.text == "Add puts an item\ninto the basket."
    basket = documentation_of(GO, "go", "Basket")
    assert basket is not None
    assert basket.text == "Basket holds items."
    assert documentation_of(GO, "go", "bare") is None
