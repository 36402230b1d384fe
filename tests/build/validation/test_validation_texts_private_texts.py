from __future__ import annotations

import time

import pytest

from caretbench.build.validation.private_texts import private_texts


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("key = 'ghp_" + "a1B2" * 9 + "'", "access_key"),
        ("AWS = 'AKIA" + "Q7W8" * 4 + "'", "access_key"),
        ("-----BEGIN RSA PRIVATE " + "KEY-----\n" + "MIIEow" * 8, "private_key"),
        ("url = 'postgres://ada:s3cr3t@db7.acme.io/x'", "address_with_password"),
        ("mail = 'ada@acme.io'", "mail_address"),
        ("call +44 20 7946 0958 now", "phone_number"),
        ('host = "93.184.216.34"', "network_address"),
        ("# Author: Susan Calder", "personal_name"),
        ("'12 Harbour Terrace Road'", "street_address"),
    ],
)
def test_secrets_names_and_addresses_are_found(text: str, kind: str) -> None:
    assert kind in [found.kind for found in private_texts(text)]


@pytest.mark.parametrize(
    "text",
    [
        "mail = 'ada@example.org'", "x = 'user@mail.test'", 'host = "127.0.0.1"', 'host = "10.0.0.7"', "'192.0.2.1'",
        'version = "1.2.3.4"', "John Doe", "url = 'redis://user:pass@localhost/0'", "'123 Main Street'",
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN PRIVATE KEY-----\nmock\n", "a@b.c", "Alice has two keys", "a" * 64, "total = +12 345 678",
    ],
)  # fmt: skip
def test_placeholders_are_not(text: str) -> None:
    assert list(private_texts(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "a+" * 30_000 + "@", "a.1-" * 15_000, "x://" + "a:" * 30_000, "1 " + "Aa " * 20_000, "sk-" * 20_000,
        "-----BEGIN PRIVATE " + "KEY-----" + "\n" * 30_000, "password = '" * 5_000, "a_" * 30_000 + "password",
    ],
)  # fmt: skip
def test_hostile_texts_take_no_time(text: str) -> None:
    started = time.process_time()
    list(private_texts(text))
    assert time.process_time() - started < 5
