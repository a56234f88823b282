"""Masking: known shapes are masked, everything else is left as it is, in linear time."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benches.made_secrets import CONTEXTS, FORMATS, innocent, made, planted
from rehydrate import redact, secret_shapes
from rehydrate.redact import mask
from tests.steps import Counted

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
        '"nextToken": "RW5DdDJkMWYwZjM2", "ChangeToken": "abcd12f2-46da-4fdb-b8d5"',
        '"token": "550e8400-e29b-41d4-a716-446655440000"',
        "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyDatabase-a1b2c3",
        '"secret": "arn:aws:secretsmanager:us-west-2:12", "SecretAccessKey": "wJalrXUtnFEMI/K7MDENG/EXAMPLEKEY"',
        "frag_token: crate::__u32, PASSWORD: WIN32_ERROR = 86u32, key.PrivateKey = testRSA2048PrivateKey",
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


@pytest.mark.parametrize("vendor", FORMATS)
def test_every_documented_format_is_masked_wherever_it_stands(vendor: str) -> None:
    seeded = random.Random(vendor)
    for form in FORMATS[vendor]:
        for name, context in CONTEXTS.items():
            secret = made(form, seeded)
            if name == "URL-encoded" and quote(secret, safe="-_.~:$") != secret:
                continue
            masked = mask(context(secret))
            assert "[redacted: " in masked and secret[-18:] not in masked, (name, context(secret), masked)


def test_of_planted_secrets_98_in_100_are_masked() -> None:
    rows = [(text, core) for _, text, core in planted(7, 2)]
    assert all(core in text for text, core in rows)
    missed = [text for text, core in rows if core in mask(text)]
    assert len(missed) <= len(rows) * 0.02, missed


def test_of_innocent_lines_one_in_100_000_is_masked_at_most() -> None:
    alarms = [line for line in innocent(7, 100_000) if mask(line) != line]
    assert len(alarms) <= 1, alarms


def test_innocent_lines_are_left_alone_in_one_text_as_well() -> None:
    text = "\n".join(innocent(8, 10_000))
    assert mask(text) == text


@pytest.mark.parametrize(
    "token",
    ["ghp_" + "x" * 36, "sk-ant-api03-your-key-goes-here-X1", "AKIAIOSFODNN7EXAMPLE", "sk_live_" + "0" * 24],
)
def test_a_made_up_token_that_shows_what_one_looks_like_stays_readable(token: str) -> None:
    assert mask(f"Set it to {token} first") == f"Set it to {token} first"


def test_a_key_block_is_masked_in_json_in_json_and_in_a_diff() -> None:
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----"
    for text in (json.dumps({"k": key}), json.dumps(json.dumps({"k": key})), "+" + key.replace("\n", "\n+")):
        assert "MIIE" not in mask(text) and "[redacted: private key]" in mask(text)


def test_a_url_encoded_token_is_masked_where_its_own_characters_need_no_encoding() -> None:
    assert mask("next%3Dghp_" + A40) == "next%3D[redacted: github token]"
    assert mask("q%3Dsk-proj-" + A40 + "%26x") == "q%3D[redacted: openai key]%26x"


def test_what_basic_says_in_base64_is_masked_and_other_base64_is_not_looked_into() -> None:
    encoded = "Z2hwX2FCM2RFNWdIN2phQjNkRTVnSDdqYUIzZEU1Z0g3amFCM2RFNQ=="  # ghp_...
    assert mask(f"Authorization: Basic {encoded}") == "Authorization: Basic [redacted: authorization]"
    assert mask(f'{{\\"Authorization\\": \\"Basic {encoded}\\"}}').count("[redacted: authorization]") == 1
    assert mask(f"data: {encoded}") == f"data: {encoded}"


def test_a_token_that_is_broken_over_two_lines_is_not_known() -> None:
    broken = "ghp_" + A40[:20] + "\n" + A40[:20]
    assert mask(broken) == broken


def test_what_is_glued_to_a_token_goes_with_it() -> None:
    assert mask("ghp_" + "a1B2" * 100 + " end") == "[redacted: github token] end"
    assert mask("ghp_" + "a1B2" * 10 + "ghp_" + "a1B2" * 10 + " end") == "[redacted: github token] end"


def test_a_cut_leaves_no_part_of_a_secret_that_is_longer_than_the_margin() -> None:
    for forms in FORMATS.values():
        for form in forms:
            secret = made(form, random.Random(form))
            for size in range(redact.MARGIN, len(secret)):
                assert "[redacted: " in mask(secret[:size]), (form, size)


@pytest.mark.parametrize(
    "secret", ["a b" * 300, "ghp_" + A40 * 30, "eyJ" + "a" * 900 + ".eyJ" + "b" * 900 + "." + "c" * 900]
)
def test_text_of_any_length_can_stand_before_and_behind(secret: str) -> None:
    assert mask("word " * 50_000 + secret[:0] + "ghp_" + A40 + " word" * 50_000).count("[redacted: ") == 1


@given(
    st.lists(
        st.sampled_from(
            [
                *(literal for row in secret_shapes.SHAPES for literal in row[1].split()),
                A40,
                "0a1b2c3d" * 4,
                "-",
                "_",
                ".",
                "]",
                " ",
                "=",
                "\\n",
                "%3D",
                "PASSWORD=",
                "token: '",
                "'",
                "://u:",
                "@",
                "Bearer ",
                "eyJhbGciOiJI.",
                "-us12",
            ]
        ),
        max_size=12,
    )
)
def test_masking_tokens_twice_changes_nothing_more(pieces: list[str]) -> None:
    once = mask("".join(pieces))
    assert mask(once) == once


@given(
    st.text()
    | st.text(alphabet="abcTOKEN=:\"'\\ 123[]/@.-_\n").map(lambda text: "PASSWORD=" + text + " token: " + text)
)
def test_masking_twice_changes_nothing_more(text: str) -> None:
    once = mask(text)
    assert mask(once) == once


UNITS = (
    *("eyJ", "eyJabcdefgh.", "-eyJabcdefgh", "eyJa.eyJ", "-----BEGIN PRIVATE KEY-----", "PRIVATE KEY"),
    *("-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAA\n", "://a:", "://", "bearer ", "://a:b", "authorization: bearer "),
    *("password", "password=", 'password="', "token: '", "api_key = ", "key:", "secret=>", "a", " ", "A1", "0"),
)


def grown(unit: str, size: int) -> str:
    return unit * (size // len(unit)) + "@"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    """Counts the steps of every pattern that `redact` matches."""
    count = Counted()
    for name, value in vars(redact).items():
        if isinstance(value, re.Pattern):
            monkeypatch.setattr(redact, name, count.pattern(value))
    monkeypatch.setattr(redact, "_compiled", lambda pattern: count.pattern(re.compile(pattern)))
    yield count


@pytest.mark.parametrize("unit", UNITS)
def test_steps_grow_no_faster_than_the_text_whatever_is_repeated(unit: str, counted: Counted) -> None:
    assert counted.growth(lambda size: mask(grown(unit, size)))


@pytest.mark.parametrize("row", [*secret_shapes.SHAPES, *secret_shapes.KEPT], ids=lambda row: row[0])
def test_a_shape_takes_a_bounded_number_of_steps_for_a_character(
    row: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its literal alone, a token that fails at its end, and its literal between its own characters, repeated: where an
    attempt could run to the end of the text, there would be thousands.
    """
    count = Counted()
    monkeypatch.setattr(redact, "_compiled", lambda pattern: count.pattern(re.compile(pattern)))
    for filler in ("", "a", "A2" * 20, "0-" * 20, "a.eyJ", "0." * 9, " "):
        text = grown(row[1].split()[0] + filler, 6_000)
        count.steps = 0
        mask(text)
        assert count.steps <= 40 * len(text), (row, filler, count.steps)


def test_no_pattern_of_a_shape_has_an_unbounded_run() -> None:
    for row in (*secret_shapes.SHAPES, *secret_shapes.KEPT):
        assert not re.search(r"[*+](?![^\[]*\])|,\}", row[2]), row


def test_a_text_without_a_hit_is_given_back_and_no_pattern_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "An ordinary line of a log, with nothing in it that matters.\n" * 17_000
    monkeypatch.setattr(redact, "_compiled", None)
    assert mask(text) is text


def test_the_notice_of_the_rules_that_were_taken_over_goes_wherever_they_go() -> None:
    source = Path(secret_shapes.__file__).read_text(encoding="utf-8")
    assert "# Copyright (c) 2019 Zachary Rice\n" in source
    assert "# The above copyright notice and this permission notice shall be included" in source
