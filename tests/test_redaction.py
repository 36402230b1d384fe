import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.build.validation.private_texts import private_texts
from caretbench.redaction import REDACTED, is_secret_name, redact, secret_shapes, secret_values

SECRETS = {
    "private_key": "-----BEGIN RSA PRIVATE "
    + "KEY-----\n"
    + ("MIIEow7T" * 8 + "\n") * 3
    + "-----END RSA PRIVATE "
    + "KEY-----",
    "access_key": "xoxb-" + "123456789012-abcDEFghi",
    "storage_key": "AccountKey=" + "Ab3/" * 20 + "==",
    "message_hook": "https://hooks.slack.com/services/" + "T0AB12CD3/B0AB12CD3/" + "a1B2c3D4" * 3,
    "web_token": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w",
    "address_with_password": "postgres://ada:s3cr3t" + "@db7.acme.io/x",
    "written_password": "db_password = '" + "Tr7-kelp-Quarry9" + "'",
}
MORE_KEYS = [
    "npm_" + "a1B2" * 9, "sk_live_" + "a1B2" * 6, "GOCSPX-" + "a1B2c" * 5, "SG." + "a1B2" * 5 + "." + "a1B2" * 10,
    "-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\n\n" + "lQOYBF7q" * 8,
    "-----BEGIN RSA PRIVATE " + "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A\n\n" + "MIIEow7T" * 8,
    "github_pat_" + "a1B2" * 12, "ghu_" + "a1B2" * 9, "glpat-" + "a1B2" * 5, "AIza" + "a1B2c" * 7, "hf_" + "a1B2" * 9,
]  # fmt: skip
EARLIER_SHAPES = [
    r"(?i)\b(?:Bearer|Basic)\s+(?P<secret>[^\s\"',;}]{8,})",
    r"://[^\s:/@]*:(?P<secret>[^\s@/]+)@",
    r"(?i)(?:^|[?&\s\"'{,;])(?:x-)?(?:(?:access|auth|api|secret|client)[_-]?)?(?:key|token|secret|password|passwd)"
    r"[\"']?\s*[=:]\s*[\"']?(?P<secret>[^\s\"'&,;}]{4,})",
    r"\b(?P<secret>(?:sk|pk|rk)-[A-Za-z0-9_*-]{8,})",
    r"\b(?P<secret>(?:hf|gsk|ghp|gho|ghs|glpat|xai|r8|nvapi|pplx|fw)[_-][A-Za-z0-9_-]{12,})",
    r"\b(?P<secret>github_pat_[A-Za-z0-9_]{12,})",
    r"\b(?P<secret>AIza[A-Za-z0-9_-]{20,})",
    r"\b(?P<secret>(?:AKIA|ASIA)[A-Z0-9]{12,})",
    r"\b(?P<secret>eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)",
]


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


def test_every_shape_of_a_secret_has_an_example() -> None:
    assert [*SECRETS] == [shape.kind for shape in secret_shapes() if shape.in_code]


@pytest.mark.parametrize("kind", [*SECRETS])
def test_what_may_not_be_in_a_problem_does_not_reach_a_log_either(kind: str) -> None:
    text = f"x = 1\n{SECRETS[kind]}\ny = 2\n"
    found = [one for one in private_texts(text) if one.is_secret]
    assert kind in [one.kind for one in found]
    left = redact(text)
    assert REDACTED in left
    assert left.startswith("x = 1\n")
    assert left.endswith("\ny = 2\n")
    assert "MIIE" not in left
    assert not [one for one in private_texts(left.replace(REDACTED, "")) if one.is_secret]


@pytest.mark.parametrize("text", MORE_KEYS)
def test_keys_of_other_providers_are_found_and_redacted(text: str) -> None:
    assert [one.kind for one in private_texts(text) if one.is_secret]
    assert text[-16:] not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "class sk-fading-circle-loader-dark", "password = 'password'", "api_key = os.environ['KEY_NAME_12']",
        "token = 'your-token-here-1'", "key = 'sk-xxxxxxxxxxxxxxxxxxxxxxxx'", "secret = '{SECRET_VALUE_12}'",
    ],
)  # fmt: skip
def test_placeholders_are_no_secrets(text: str) -> None:
    assert not [one for one in private_texts(text) if one.is_secret]


def test_a_key_with_a_placeholder_before_it_is_found() -> None:
    for text in ("ghp_EXAMPLE" + "a1B2" * 9, "sk-xxxxxxxx" + "a1B2" * 6):
        assert [one.kind for one in private_texts(text)] == ["access_key"]


@pytest.mark.parametrize("shape", EARLIER_SHAPES)
@given(data=st.data())
def test_no_text_that_was_redacted_before_stays(shape: str, data: st.DataObject) -> None:
    pattern = re.compile(shape)
    text = data.draw(st.from_regex(pattern))
    left = redact(text)
    assert all(REDACTED in found["secret"] for found in pattern.finditer(left)), left


def test_redaction_of_a_long_text_without_secrets_is_quick() -> None:
    text = "def area(width, height):\n    return width * height\n" * 2_000
    started = time.process_time()
    redact(text)
    assert time.process_time() - started < 0.25
