"""Masking: known shapes are masked, everything else is left as it is, in linear time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehydrate.redact import mask

A40 = "aB3dE5gH7j" * 4


@pytest.mark.parametrize(
    ("secret", "kind"),
    [
        ("AKIA" + "ABCDEFGHIJ234567", "aws key"),
        ("ghp_" + A40, "github token"),
        ("gho_" + A40, "github token"),
        ("github_pat_" + A40 + "_" + A40, "github token"),
        ("glpat-" + A40[:20], "gitlab token"),
        ("xoxb-" + "123456789012-abcdefghijkl", "slack token"),
        ("AIza" + A40[:35], "google key"),
        ("GOCSPX-" + A40[:28], "google secret"),
        ("sk-ant-api03-" + A40, "anthropic key"),
        ("sk-" + A40, "openai key"),
        ("sk-proj-" + A40 + "-" + A40, "openai key"),
        ("sk_live_" + A40[:24], "stripe key"),
        ("rk_test_" + A40[:24], "stripe key"),
        ("npm_" + A40[:36], "npm token"),
        ("pypi-" + A40 + A40, "pypi token"),
        ("hf_" + A40[:34], "hugging face token"),
        ("SG." + A40[:22] + "." + A40 + "abc", "sendgrid key"),
        ("dop_v1_" + "0123456789abcdef" * 4, "digitalocean token"),
        ("123456789:AA" + A40[:33], "telegram token"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + A40, "jwt"),
        ("AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2, "age key"),
    ],
)
def test_F64_known_shapes(secret: str, kind: str) -> None:
    for around in ("{}", "key is {}.", "'{}'", "+ {}\n", "https://host/?t={}", "[x]({})"):
        assert mask(around.format(secret)) == around.format(f"[redacted: {kind}]")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("DB_PASSWORD=hunter", "DB_PASSWORD=[redacted: secret]"),
        ("export API_KEY=abcd1234efgh", "export API_KEY=[redacted: secret]"),
        ('SECRET="correct horse battery"', 'SECRET="[redacted: secret]"'),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=[redacted: secret]"),
        ('"password": "hunter2"', '"password": "[redacted: secret]"'),
        ('{\\"api_key\\": \\"abcd1234efgh5678\\"}', '{\\"api_key\\": \\"[redacted: secret]\\"}'),
        ("password: hunter2", "password: [redacted: secret]"),
        ("curl -d 'user=a&password=s3cr3t-word&x=1'", "curl -d 'user=a&password=[redacted: secret]&x=1'"),
        ("clientSecret = 'f00ba4f00ba4f00b'", "clientSecret = '[redacted: secret]'"),
        ("Authorization: Bearer abcDEF123456789012", "Authorization: Bearer [redacted: authorization]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted: authorization]"),
        ("-H 'Bearer 0123456789abcdef0123'", "-H 'Bearer [redacted: authorization]'"),
        ("postgres://bob:s3cr3t@db:5432/x", "postgres://bob:[redacted: password]@db:5432/x"),
        ("redis://:s3cr3t@db", "redis://:[redacted: password]@db"),
        (
            "https://hooks.slack.com/services/T00000000/B00000000/" + "X1x2" * 6,
            "https://hooks.slack.com/services/[redacted: slack webhook]",
        ),
        ("AccountKey=" + "aB3+" * 21 + "aB==;x", "AccountKey=[redacted: azure key];x"),
    ],
)
def test_F64_assignments_headers_and_addresses(text: str, masked: str) -> None:
    assert mask(text) == masked


BODY = "\n".join("MIIEpAIBAAKCAQEA" * 4 for _ in range(10))


@pytest.mark.parametrize("kind", ["", "RSA ", "OPENSSH ", "ENCRYPTED "])
def test_F64_private_keys_over_many_lines(kind: str) -> None:
    key = f"-----BEGIN {kind}PRIVATE KEY-----\n{BODY}\n-----END {kind}PRIVATE KEY-----"
    assert mask(f"a\n{key}\nb\n{key}\nc") == "a\n[redacted: private key]\nb\n[redacted: private key]\nc"
    assert mask(key.replace("\n", "\\n")) == "[redacted: private key]"
    assert mask("  " + key.replace("\n", "\n  ")) == "  [redacted: private key]"


def test_a_private_key_without_an_end_is_masked_as_far_as_it_looks_like_one() -> None:
    assert mask(f"-----BEGIN PRIVATE KEY-----\n{BODY}\nSee below.") == "[redacted: private key]See below."
    assert mask("It begins with -----BEGIN PRIVATE KEY----- as usual") == (
        "It begins with -----BEGIN PRIVATE KEY----- as usual"
    )


@pytest.mark.parametrize(
    "text",
    [
        "PASSWORD=$PASSWORD",
        "PASSWORD=${DB_PASSWORD}",
        "TOKEN=<your token>",
        "API_KEY=your-api-key",
        "API_KEY=xxxxxxxx",
        "TOKEN=***",
        "api_key=os.environ['API_KEY']",
        "API_KEY = os.environ.get('API_KEY')",
        "SECRET=settings.SECRET",
        "token=process.env.TOKEN",
        "password = get_password()",
        "password: str",
        "token: Optional[str] = None",
        "def f(token=None, secret=secret):",
        "max_tokens=4096, MAX_TOKEN=4096",
        '{"type": "token", "token": "hello"}',
        'token = "access_token"',
        'password: "Password is required"',
        'autocomplete="new-password"',
        "postgres://user:$PASS@db and http://user:password@host and http://host:8080/a@b",
        "git@github.com:owner/name.git",
        "bearer authentication/authorization",
        "3f786850e387550fdab836ed7e6dc881de23001b",
        "550e8400-e29b-41d4-a716-446655440000",
        "task-abcdefghijklmnopqrstuvwxyz0123456789abcd",
        "sk-learn is scikit-learn-contrib",
        "The secret: never push on Friday. The key = patience.",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert mask(text) == text


@given(
    st.text()
    | st.text(alphabet="abcTOKEN=:\"'\\ 123[]/@.-_\n").map(lambda text: "PASSWORD=" + text + " token: " + text)
)
def test_masking_twice_changes_nothing_more(text: str) -> None:
    once = mask(text)
    assert mask(once) == once


@pytest.mark.parametrize(
    "unit",
    [
        *("eyJ", "eyJabcdefgh.", "ghp_", "glpat-", "xoxb-", "sk-", "AKIA", "AIza", "SG.", "hf_", "npm_", "pypi-"),
        *("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAA\n", "://a:", "://", "bearer "),
        *(
            "password",
            "password=",
            'password="',
            "token: '",
            "api_key = ",
            "authorization: bearer ",
            "PRIVATE KEY",
            "a",
        ),
    ],
)
def test_time_is_linear_whatever_is_repeated(unit: str) -> None:
    text = (unit * (1_000_000 // len(unit))) + "@"
    start = time.perf_counter()
    mask(text)
    assert time.perf_counter() - start < 3.0


def test_no_hit_costs_next_to_nothing() -> None:
    text = "An ordinary line of a log, with nothing in it that matters.\n" * 17_000
    start = time.perf_counter()
    assert mask(text) is text
    assert time.perf_counter() - start < 0.25
