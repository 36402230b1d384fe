from __future__ import annotations

import pytest

from caretbench.models import ChatPrompt, FillPrompt, TextPrompt
from caretbench.problem import Caret, ChoiceCheck, ContextFile, NoSplice, Problem, Provenance, Question
from caretbench.prompts import choose, get_strategy
from caretbench.prompts.question import (
    ChatQuestionStrategy,
    FillQuestionStrategy,
    LikeliestLetterStrategy,
    TextQuestionStrategy,
)
from caretbench.prompts.strategy import PromptBudget, UnpromptableError
from caretbench.runs.generate import ModelUnderTest
from tests.support.fakes import FakeClient

WIDE = PromptBudget(None, len)
QUESTION = Question(
    text="Which patch does this?\n",
    choices=("one\n", "``` two", "three", "four {{ 1 }} $mark"),
    context=(ContextFile(path="patch.diff", text="+ added"),),
)


def test_all_of_a_question_is_shown_in_order_behind_fences_that_no_text_closes() -> None:
    prompt = ChatQuestionStrategy().render_question(QUESTION, WIDE)
    assert isinstance(prompt, ChatPrompt)
    system, user = prompt.messages
    assert "A, B, C or D" in system.text
    places = [user.text.index(text) for text in ("Which", "patch.diff:", "+ added", "Choice A:", "one")]
    assert places == sorted(places)
    assert "Choice D:\n\n````\nfour {{ 1 }} $mark\n````" in user.text
    assert user.text.endswith("Answer with its letter alone.")


def test_a_question_without_choices_asks_for_no_letter() -> None:
    system, user = ChatQuestionStrategy().render_question(Question(text="Describe it."), WIDE).messages
    assert "letter" not in system.text + user.text
    assert user.text == "Describe it."


def test_a_base_model_continues_where_the_answer_begins() -> None:
    prompt = TextQuestionStrategy().render_question(QUESTION, WIDE)
    assert isinstance(prompt, TextPrompt)
    assert prompt.text.endswith("The letter of the right choice\nAnswer:")
    assert prompt.stop == ("\n",)
    assert TextQuestionStrategy().render_question(Question(text="Why?"), WIDE).stop == ()


def test_a_program_at_the_caret_gets_the_question_as_the_text_before_it() -> None:
    prompt = FillQuestionStrategy().render_question(QUESTION, WIDE)
    assert isinstance(prompt, FillPrompt)
    assert prompt.prefix == TextQuestionStrategy().render_question(QUESTION, WIDE).text
    assert (prompt.suffix, prompt.language, prompt.stop) == ("", "text", ("\n",))


@pytest.mark.parametrize(
    "ask", [ChatQuestionStrategy(), TextQuestionStrategy(), LikeliestLetterStrategy(), FillQuestionStrategy()]
)
def test_a_question_is_never_cut(ask: ChatQuestionStrategy | TextQuestionStrategy) -> None:
    with pytest.raises(UnpromptableError, match="never cut"):
        ask.render_question(QUESTION, PromptBudget(20, len))
    with pytest.raises(UnpromptableError, match="are letters"):
        ask.render_question(Question(text="?", choices=tuple(map(str, range(27)))), WIDE)
    with pytest.raises(UnpromptableError, match="a program"):
        ask.render(Caret(language="python", prefix="x"), WIDE)


def test_questions_and_carets_get_prompts_of_their_own() -> None:
    both, base = FakeClient(), FakeClient(accepts=("text",))
    assert choose(both, None, questions=True).name == "question"
    assert choose(base, "auto", questions=True).name == "question-text"
    assert choose(FakeClient(accepts=("fill",)), None, questions=True).name == "question-fill"
    with pytest.raises(ValueError, match="are questions"):
        choose(both, "chat", questions=True)
    with pytest.raises(ValueError, match="are places"):
        choose(both, "question")
    with pytest.raises(ValueError, match="--prompt"):
        choose(base, "question", questions=True)


def problem(shown: Question) -> Problem:
    return Problem(
        id=shown.text, suite="efcb", shown=shown, splice=NoSplice(), reference="A", checks=(ChoiceCheck(correct=0),),
        cluster="r@1", provenance=Provenance(source="r"),
    )  # fmt: skip


def test_a_question_that_names_a_control_token_of_the_model_is_not_asked() -> None:
    under_test = ModelUnderTest("m", FakeClient(control=("<|end|>",)), get_strategy("question"))
    [wanted] = under_test.pending_samples([problem(QUESTION)], {})
    assert isinstance(wanted.prompt, ChatPrompt)
    hostile = QUESTION.model_copy(update={"choices": ("a", "b", "c", "<|end|>")})
    [refused] = under_test.pending_samples([problem(hostile)], {})
    assert refused.prompt is None
    assert "control token" in refused.fault
    [mistaken] = ModelUnderTest("m", FakeClient(), get_strategy("chat")).pending_samples([problem(QUESTION)], {})
    assert mistaken.prompt is None


def test_a_letter_may_be_read_off_the_first_token_of_the_same_text() -> None:
    prompt = LikeliestLetterStrategy().render_question(QUESTION, WIDE)
    assert prompt.text == TextQuestionStrategy().render_question(QUESTION, WIDE).text
    assert (prompt.letters, prompt.stop) == (("A", "B", "C", "D"), ())
    assert get_strategy("question-logprob").key == "question-logprob@1"
    why = Question(text="Why?")
    assert LikeliestLetterStrategy().render_question(why, WIDE) == TextQuestionStrategy().render_question(why, WIDE)


def test_who_tells_no_probabilities_is_not_asked_for_them() -> None:
    silent = FakeClient(accepts=("text",))
    telling = FakeClient(accepts=("text",), returns_log_probabilities=True, context_tokens=100)
    assert choose(telling, "question-logprob", questions=True).name == "question-logprob"
    assert choose(telling, None, questions=True).name == "question-text"
    refused = "reads the log-probabilities of the first token, and fake/model tells none"
    with pytest.raises(ValueError, match=f"{refused}; give --prompt question-text$"):
        choose(silent, "question-logprob", questions=True)
    with pytest.raises(ValueError, match=refused):
        ModelUnderTest("m", silent, get_strategy("question-logprob"))
    under_test = ModelUnderTest("m", telling, get_strategy("question-logprob"))
    assert under_test.budget.tokens == 99, "the letter is one token, whatever --max-tokens says"
    [choice, refused_text] = under_test.pending_samples([problem(QUESTION), problem(Question(text="Why?"))], {})
    assert choice.prompt is not None
    assert (under_test.answer_tokens(choice.prompt), refused_text.prompt) == (1, None)
    with pytest.raises(ValueError, match="no room"):
        ModelUnderTest("m", telling, get_strategy("question-text"))
