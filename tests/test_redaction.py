import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.redaction import REDACTED, is_secret_name, redact, secret_values


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "TOKEN", "MY_SECRET", "AZURE_CREDENTIALS"],
)
def test_names_of_secrets(name):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["PATH", "KEYBOARD", "TOKENIZERS_PARALLELISM", "MONKEY", "OPENAI_BASE_URL"])
def test_names_of_other_things(name):
    assert not is_secret_name(name)


def test_values_of_the_environment_go(monkeypatch):
    monkeypatch.setenv("STRANGE_API_KEY", "neither-shape-nor-prefix")
    assert redact("say neither-shape-nor-prefix twice: neither-shape-nor-prefix") == (
        f"say {REDACTED} twice: {REDACTED}"
    )


def test_a_value_within_another_leaves_nothing(monkeypatch):
    monkeypatch.setenv("ONE_KEY", "abcdefgh")
    monkeypatch.setenv("TWO_KEY", "abcdefgh-and-more")
    assert redact("x abcdefgh-and-more y") == f"x {REDACTED} y"


def test_short_values_and_paths_are_no_secrets():
    environment = {"A_KEY": "short", "B_KEY": "/home/user/key.pem", "C_KEY": "  12345678 ", "HOME": "12345678901"}
    assert secret_values(environment) == ("12345678",)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Authorization: Bearer abc.def-ghi_jkl", "abc.def"),
        ("Incorrect API key provided: sk-proj-abcdefgh12345678.", "abcdefgh"),
        ("postgres://user:hunter2@host/db", "hunter2"),
        ("GET https://host/v1?key=AbCdEfGh&model=x", "AbCdEfGh"),
        ("https://host/v1?api_key=AbCdEfGh", "AbCdEfGh"),
        ('{"api_key": "AbCdEfGh"}', "AbCdEfGh"),
        ("x-api-key: AbCdEfGh", "AbCdEfGh"),
        ("hf_abcdefghijklmnopqrst", "abcdefgh"),
        ("AIzaSyA1234567890abcdefghijklmnop", "1234567890"),
        ("ghp_abcdefghijklmnopqrstuvwxyz", "abcdefgh"),
        ("password=swordfish", "swordfish"),
        ("AKIAABCDEFGHIJKLMNOP", "ABCDEFGH"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.abcdefgh", "eyJzdWIi"),
    ],
)
def test_shapes_of_keys_go(text, left):
    assert left not in redact(text)
    assert REDACTED in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "HTTP 429: slow down",
        "max_tokens=4096 is more than the model's 2048",
        "no answer within 120 s",
        "the model `gpt-4o-mini` does not exist",
        "def basic(key): return table[key]",
        "https://host:8080/v1/chat/completions",
    ],
)
def test_ordinary_messages_stay(text):
    assert redact(text) == text


def test_what_stands_around_a_key_stays():
    text = redact("GET https://me:pass1234@host/v1?key=AbCdEfGh&n=2 failed")
    assert text == f"GET https://me:{REDACTED}@host/v1?key={REDACTED}&n=2 failed"


@given(st.text(max_size=200))
def test_redaction_takes_any_text_and_is_settled_at_once(text):
    once = redact(text)
    assert redact(once) == once
