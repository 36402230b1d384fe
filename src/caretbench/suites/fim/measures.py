"""Measures of answers to conventional benchmarks: exact matches, and the released metrics as columns.

Released rules that need the reference (its number of lines, say) are columns here and no policies: a policy never sees
the reference.
"""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from rapidfuzz.distance import Indel, Levenshtein

from caretbench.extraction.legacy_cuts import parses_as_released
from caretbench.extraction.policies import get_policy
from caretbench.languages import get_language
from caretbench.languages.node_kinds import node_kinds
from caretbench.problem import Problem
from caretbench.suites.suite_types import Measurement
from caretbench.syntax.parser import parse, text_of, walk


class FuzzRatios(NamedTuple):
    """Edit similarity of two texts by fuzzywuzzy 0.18.0 with each of its backends, from 0 to 100."""

    difflib: int
    levenshtein: int


class EditScore(NamedTuple):
    """Equality (0 or 1) and edit similarities (0 to 100) of an answer to its reference."""

    em: int
    es_difflib: int
    es_levenshtein: int


class CrossCodeEvalScore(NamedTuple):
    """Measures of CrossCodeEval: of the text (see :class:`EditScore`), and of its identifiers, from 0 to 1."""

    em: int
    es_difflib: int
    es_levenshtein: int
    id_em: int
    id_precision: float
    id_recall: float
    id_f1: float


class RepoformerScore(NamedTuple):
    """Measures of Repoformer, and the texts that they compare; ``es_repoeval`` is from 0 to 1."""

    answer: str
    reference: str
    em: int
    es_difflib: int
    es_levenshtein: int
    es_repoeval: float


class RepoCoderScore(NamedTuple):
    """Equality and Levenshtein similarity of RepoCoder, from 0 to 1."""

    em: int
    es: float


def fuzz_ratios(first: str, second: str) -> FuzzRatios:
    """Return ``fuzz.ratio`` of two texts; the order matters to difflib.

    Equal texts have 100, also empty ones; an empty text has 0 to every other.
    """
    if first == second:
        return FuzzRatios(100, 100)
    if not first or not second:
        return FuzzRatios(0, 0)
    size = len(first) + len(second)
    return FuzzRatios(
        # With its rule for popular characters, which texts from 200 characters have.
        round(100 * difflib.SequenceMatcher(None, first, second).ratio()),
        round(100 * ((size - Indel.distance(first, second)) / size)),
    )


def _filled_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def without_comments(text: str) -> str:
    """Return the text without ``#`` and ``//`` and what follows them in a line, in every language, also in strings."""
    return re.sub(r"//.*", "", re.sub(r"#.*", "", text))


_STRING: Final = re.compile(r"""(["'])(?:(?!\1)[^\\]|\\.)*+\1""")


def identifiers(text: str, language: str) -> list[str]:
    """Return the words of a text that begin with a Latin letter or ``_``, without keywords and words of strings."""
    words = re.findall(r"\w+", _STRING.sub("", text))
    keywords = get_language(language).keywords
    return [word for word in words if re.match("[_a-zA-Z]", word) and word not in keywords]


def crosscodeeval(cut: str, reference: str, language: str) -> CrossCodeEvalScore:
    """Return the measures of an answer that the policy ``legacy/cceval`` has cut.

    Source: amazon-science/cceval, commit 25f9cab, ``process_examples`` and ``compute_metric_stmt``.
    """
    answer, reference = without_comments(cut), without_comments(reference)
    lines, expected_lines = ([line.strip() for line in _filled_lines(text)] for text in (answer, reference))
    names, expected_names = identifiers(answer, language), identifiers(reference, language)
    answer_names, expected = set(names), set(expected_names)
    both = len(answer_names & expected)
    return CrossCodeEvalScore(
        int(lines == expected_lines),
        *fuzz_ratios(answer.strip(), reference.strip()),
        id_em=int(names == expected_names),
        id_precision=both / len(answer_names) if answer_names else 0.0,
        id_recall=both / len(expected) if expected else 0.0,
        id_f1=2 * both / (len(answer_names) + len(expected)) if answer_names or expected else 0.0,
    )


def repocoder(answer: str, reference: str) -> RepoCoderScore:
    """Return the measures of RepoCoder: as many lines of the answer as the reference has, blank ones not counted.

    Two texts without lines have similarity 1; the released code divides by zero. Of several samples the paper takes
    the greatest values. Source: microsoft/CodeT, commit 35f54d6, ``RepoCoder/compute_score.py``.
    """
    expected = _stripped_lines(reference)
    lines = _stripped_lines(answer)[: len(expected)]
    return RepoCoderScore(int(lines == expected), _levenshtein("\n".join(lines), "\n".join(expected), of_empty=1.0))


def _levenshtein(first: str, second: str, *, of_empty: float) -> float:
    longest = max(len(first), len(second))
    return 1 - Levenshtein.distance(first, second) / longest if longest else of_empty


def _tokens(text: str) -> list[str]:
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", re.sub(r"([^A-Za-z0-9_])", r" \1 ", text))
    return [token for token in re.sub(r"\s+", " ", spaced).replace('"', "`").replace("'", "`").split(" ") if token]


def _repoformer(answer: str, reference: str) -> RepoformerScore:
    stripped = answer.strip(), reference.strip()
    return RepoformerScore(
        answer,
        reference,
        int(_tokens(answer) == _tokens(reference)),
        *fuzz_ratios(*stripped),
        es_repoeval=_levenshtein(*stripped, of_empty=0.0),
    )


def repoformer_lines(answer: str, reference: str) -> RepoformerScore:
    """Return the measures of the answer's first lines: as many as the reference has, blank ones not counted.

    Equality is of tokens: words are divided at capital letters, quotes are all alike, blanks do not count.
    Source: amazon-science/Repoformer, commit 5b05713, ``repo_eval/eval_metric.py``; Qwen2.5-Coder's ``fim-bench``
    (commit d5ead97) is equal.
    """
    return _repoformer("\n".join(_filled_lines(answer)[: len(_filled_lines(reference))]), reference)


_MAX_CUTS: Final = 4_000
"""Maximum length of an answer's beginning that is tried in steps of a character; 256 tokens were asked for."""


def repoformer_function(answer: str, reference: str, prompt: str) -> RepoformerScore:
    """Return the measures of the body of the last Python function of ``prompt``, as answer and reference complete it.

    The answer is cut to the longest beginning with which the prompt parses. Where it has none, or no function is
    found, texts are compared as they are. Source: as :func:`repoformer_lines`.
    """
    lengths = [len(answer), *range(min(len(answer), _MAX_CUTS), -1, -1)]
    cut = next((answer[:size] for size in lengths if parses_as_released(prompt + answer[:size], "python")), None)
    if cut is None:
        return _repoformer(answer, reference)
    answer = cut.rstrip()
    body = _last_body(prompt, answer)
    # The released code found one after the other: a fault in the reference leaves the answer's body.
    expected = _last_body(prompt, reference) if body is not None else None
    return _repoformer(answer if body is None else body, reference if expected is None else expected)


def _last_body(prompt: str, completion: str) -> str | None:
    """Return the body of the completed program's function that is the last one of the prompt; None without one."""
    begun, bodies = _bodies(f"{prompt}pass"), _bodies(prompt + completion)
    if begun is None or not bodies or len(begun) > len(bodies):
        return None
    # Without a function in the prompt, the last one of the program: position -1.
    return bodies[len(begun) - 1]


def _bodies(program: str) -> list[str] | None:
    """Return the bodies of all functions, in the order of their beginnings; None if one does not end with its body."""
    kinds = node_kinds("python")
    functions = kinds.functions - kinds.anonymous_functions
    bodies: list[str] = []
    for node in walk(parse(program, "python").root_node):
        if node.type in functions:
            body = node.children[-1]
            if body.type not in kinds.statement_lists:
                return None
            bodies.append(text_of(body))
    return bodies


def execrepobench(answer: str, reference: str) -> FuzzRatios:
    """Return the edit similarity without triple-quoted strings and blank lines; ``#`` comments stay.

    The released code gives the reference first. Source: Qwen2.5-Coder, commit d5ead97, ``ExecRepoBench/utils/utils.py``
    and ``eval.py``.
    """
    texts = (re.sub(r'""".*?"""|\'\'\'.*?\'\'\'', "", text, flags=re.DOTALL) for text in (reference, answer))
    return fuzz_ratios(*("\n".join(_filled_lines(text)).strip() for text in texts))


def qwen_humaneval_fim(answer: str, reference: str) -> EditScore:
    """Return the measures of the answer's first line, or the second where only a blank is before its line feed.

    Source: Qwen2.5-Coder, commit d5ead97, ``fim-bench/hm_fim/humaneval_fim.py``, for rows of SantaCoder-FIM.
    """
    line = answer.split("\n")[answer.startswith(("\n", " \n"))].strip()
    return EditScore(int(line == reference.strip()), *fuzz_ratios(line, reference.strip()))


def repobench(answer: str, reference: str) -> EditScore:
    """Return equality of words and the edit similarity of the texts with all their blanks, the reference first.

    Source: Leolty/repobench, v1.1, ``evaluation/metrics.py`` and ``eval.py``.
    """
    return EditScore(int(answer.split() == reference.split()), *fuzz_ratios(reference, answer))


def safim_syntax_match(answer: str, reference: str, language: str, *, callee: bool = False) -> bool:
    """Return whether a call is the reference's: SAFIM's check of API calls, commit 9543286, ``evaluate.py``.

    As released, all blanks go, also those in strings; two calls in Python are equal if their arguments are, **whatever
    they call**, and other texts if they are equal. With ``callee`` (our default), blanks go only where Python's parser
    cannot compare both, and what is called must be equal, too.
    """
    bare, expected_bare = (re.sub(r"\s+", "", text) for text in (answer, reference))
    if get_language(language).name == "python":
        texts = (answer.strip(), reference.strip()) if callee else (bare, expected_bare)
        calls = [_call(text, callee=callee) for text in texts]
        if None not in calls:
            return calls[0] == calls[1]
    return bare == expected_bare


def _call(text: str, *, callee: bool) -> tuple[str, list[str], dict[str | None, str]] | None:
    """Return what a text calls, and its arguments; None if it is no call, or does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call):
            return None
        named = {keyword.arg: ast.dump(keyword.value) for keyword in call.keywords}
        return ast.dump(call.func) if callee else "", [ast.dump(argument) for argument in call.args], named
    # The last three: NUL bytes, and nesting deeper than the parser's stack.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _stripped_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def equal_lines(problem: Problem, answer: str) -> bool:
    """Return whether an answer has the lines of the reference, without blanks at their ends and without blank lines."""
    return _stripped_lines(answer) == _stripped_lines(problem.reference)


def _crosscodeeval(problem: Problem, answer: str) -> Mapping[str, float]:
    # Cut first, whatever the run's policy: a text that is cut already stays as it is.
    cut = get_policy("legacy/cceval").apply(answer, problem.caret).text
    return _named("crosscodeeval", crosscodeeval(cut, problem.reference, problem.caret.language))


def _repoformer_values(problem: Problem, answer: str) -> Mapping[str, float]:
    # The split whose answers are bodies of functions.
    if problem.labels.get("split") == "function":
        score = repoformer_function(answer, problem.reference, problem.caret.prefix)
    else:
        score = repoformer_lines(answer, problem.reference)
    return _named("repoformer", score)


def _safim(problem: Problem, answer: str) -> Mapping[str, float]:
    if problem.runs_as_program:
        return {}
    return {"safim_match": float(_same_call(problem, answer, callee=False))}


def _same_call(problem: Problem, answer: str, *, callee: bool) -> bool:
    return safim_syntax_match(answer, problem.reference, problem.caret.language, callee=callee)


METRICS: Mapping[str, Callable[[Problem, str], Mapping[str, float]]] = {
    "exact": lambda problem, answer: {"exact_match": float(equal_lines(problem, answer))},
    "crosscodeeval": _crosscodeeval,
    "repoformer": _repoformer_values,
    "safim": _safim,
    "repocoder": lambda problem, answer: _named("repocoder", repocoder(answer, problem.reference)),
    "execrepobench": lambda problem, answer: _named("execrepobench", execrepobench(answer, problem.reference)),
    "qwen_hm_fim": lambda problem, answer: _named("qwen", qwen_humaneval_fim(answer, problem.reference)),
    "repobench": lambda problem, answer: _named("repobench", repobench(answer, problem.reference)),
}
"""Released metrics by the names of descriptions: the values of an answer."""

_WITH_EQUALITY: Final = frozenset({"crosscodeeval", "repoformer", "repocoder", "repobench"})
"""Metrics whose value ``NAME_em`` says whether an answer equals the reference."""


def matches(rule: str, problem: Problem, answer: str, *, released: bool) -> bool:
    """Return whether an answer equals the reference by the rule of a description; ``released``: as its evaluator does.

    Otherwise calls are equal by callee and arguments (180 of SAFIM's 181 references in Python pass under a wrong name
    as released), and other texts by their lines.
    """
    if rule == "safim":
        return _same_call(problem, answer, callee=not released)
    if released and rule in _WITH_EQUALITY:
        return METRICS[rule](problem, answer)[f"{rule}_em"] == 1
    return equal_lines(problem, answer)


def released_measures(names: Sequence[str], problem: Problem, answer: str) -> list[Measurement]:
    """Return the released metrics of these names, a scorer each."""
    values = {name: METRICS[name](problem, answer) for name in names}
    return [Measurement(f"legacy/{name}@1", metrics) for name, metrics in values.items() if metrics]


def _named(prefix: str, score: NamedTuple) -> Mapping[str, float]:
    values = score._asdict()
    return {f"{prefix}_{name}": float(value) for name, value in values.items() if not isinstance(value, str)}
