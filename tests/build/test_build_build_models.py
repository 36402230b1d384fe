"""Numbers of requests that a build still needs."""

from caretbench.build.build_models import AnswersMissingError, ExpectedRequests


def test_later_requests_are_as_long_as_known_ones_unless_a_suite_says_more() -> None:
    """The forecast of a build's cost counts ``growth`` characters more for each of them."""
    assert ExpectedRequests("generator", 1, 2, "", "").growth == 0
    assert AnswersMissingError("no answer").expected is None
