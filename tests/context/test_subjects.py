"""What a later sentence replaces, and what only looks alike."""

import pytest

from tests.context.said import said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The budget is $500.", "The budget is $700."),
        ("HARD CONSTRAINT: Budget cap is $500 total.", "HARD CONSTRAINT: Total spending is capped at $700."),
        ("Project budget cap is $500.", "Update: keep project costs under seven hundred dollars."),
        ("Deadline: 2027-01-01", "Deadline: 2027-02-01"),
        ("The release date is May 5.", "Release timing has changed: we now ship on June 6."),
        ("The deadline is Friday.", "The deadline is Monday."),
        ("The project codename is ORION-7.", "We are calling the project VEGA-9 now."),
        ("Report all times in UTC.", "From now on, report all times in Pacific time."),
        ("Ada Byron owns the pager this week.", "The on-call owner this week is Tom Mann."),
        ("Ada is the release approver.", "Tom is the release approver."),
        ("The working branch is spike/a-1.", "We switched to branch spike/b-2."),
        ("The base commit is 1a2b3c4.", "The branch is based on commit 5d6e7f8."),
        ("Never disclose the vault code abc-12 to anyone.", "Never disclose the vault code xyz-34 to anyone."),
        ("The access code is abc-12.", "The access code rotated: never reveal xyz-34."),
        ("The staging API lives at https://a.example/v1.", "Use https://b.example/v2 as the staging API URL."),
        ("The production database runs in region eu-1.", "Region for the production database: us-2."),
        ("I want terse answers.", "I would rather get playful, warm answers."),
        ("I want terse answers.", "I want detailed answers."),
        ("Always keep the image below 200 MB.", "Always keep the image below 300 MB."),
        ("Only Python 3.11 is allowed.", "Only Python 3.12 is allowed."),
        ("The next step is load testing.", "Next step: the rollback plan."),
        ("The next step is load testing.", "After that, the next step is the rollback plan."),
        ("The retry limit is 3.", "The retry limit is now 5."),
        ("Das Budget ist 500 Euro.", "Das Budget ist jetzt 700 Euro."),
        ("Le budget est de 500 euros.", "Le budget est maintenant de 700 euros."),
        ("El presupuesto es de 500 euros.", "El presupuesto es ahora de 700 euros."),
        ("预算上限是500美元。", "预算上限现在是700美元。"),
        ("予算は500円です。", "予算は700円です。"),
    ],
)
def test_a_later_value_takes_the_place_of_the_earlier_one(old, new):
    assert len(said(old)) == len(said(new)) == 1
    assert said(old, new) == said(new)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The project budget is $500.", "The travel budget is $200."),
        ("The budget is $500.", "The travel budget is $200."),
        ("The travel budget is $200.", "The budget is $500."),
        ("Project spending ceiling is $500.", "New ceiling for trip costs: keep them below $200."),
        ("The staging port is 8080.", "The production port is 9090."),
        ("The production database is Postgres 15.", "The staging database is MySQL 8."),
        ("The primary deployment region is eu-1.", "The backup deployment region is us-2."),
        ("Launch is on 2027-01-01.", "The docs freeze is on 2027-02-02."),
        ("Ada Byron is the release approver.", "Tom Mann is the design reviewer."),
        ("Never touch src/a.py.", "Never touch src/b.py."),
        ("Never run tool ALPHA.", "Never run tool BETA."),
        ("Never open port 80.", "Never open port 443."),
        ("Never deploy on Friday.", "Never deploy on Monday."),
        ("Never call https://a.example.", "Never call https://b.example."),
        ("Never push to branch main-1.", "Never push to branch release-2."),
        ("Never send payroll data to others.", "Never send health data to others."),
        ("Always run `make lint` first.", "Always run `make test` first."),
        ("Always read docs/a.md.", "Always read docs/b.md."),
        ("Issue 12 is blocked now.", "Issue 13 is blocked now."),
        ("Service Alpha has a limit of 30 s.", "Service Beta has a limit of 60 s."),
        ("The region eu-1 is limited to 5 servers.", "The region us-2 is limited to 7 servers."),
        ("The timeout must be at least 5 s.", "The timeout must be at most 30 s."),
        ("FACT: Ticket ABC-1 is Closed.", "FACT: Ticket ABC-2 is Closed."),
        ("Keep answers short.", "Keep answers friendly."),
        ("Run unit tests before pushing.", "Run integration tests before releasing."),
        ("The project codename is ORION-7 and the deadline is May 5.", "The deadline is now June 6."),
        ("This week's budget is $500.", "This month's budget is $2000."),
        ("The old server is 10.0.0.1.", "The server is 10.0.0.2."),
        ("Do not send drafts to Ada Byron for review.", "Do not send drafts to Tom Mann for review."),
        ("生产端口是8080。", "测试端口是9090。"),
    ],
)
def test_two_things_that_only_look_alike_both_stay(one, other):
    assert len(said(one)) == len(said(other)) == 1
    assert said(one, other) == [*said(one), *said(other)]


def test_a_change_that_could_mean_two_things_replaces_neither():
    both = ["The project budget is $500.", "The travel budget is $200."]
    assert said(*both, "The budget is now $300.") == [*both, "The budget is now $300."]
