from __future__ import annotations

from typing import Any

from caretbench.reports.results.run_settings import ModelVariant, model_order, model_variants, variant_titles


def manifest(*entries: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    models = [
        {"model": model, "parameters": parameters, "source": "model", "settings": settings}
        for model, parameters, settings in entries
    ]
    return {"models": models}


CHAT, FIM = {"prompt": "chat@1"}, {"prompt": "fim/starcoder@1"}
NONE, COMMENT = {"instruction": "none@1"}, {"instruction": "comment@1"}


def test_a_title_names_what_a_model_was_asked_in_several_ways() -> None:
    run = manifest(("m", "p0", CHAT), ("m", "p1", CHAT | NONE), ("m", "p2", FIM | COMMENT), ("n", "p3", CHAT | NONE))
    assert variant_titles(run, [("m", "p0"), ("m", "p1"), ("n", "p3"), ("reference", "none")]) == {
        ("m", "p0"): "m (instruction shown)", ("m", "p1"): "m (instruction none)", ("n", "p3"): "n",
        ("reference", "none"): "reference",
    }  # fmt: skip
    titles = variant_titles(run, [("m", "p0"), ("m", "p1"), ("m", "p2")])
    assert titles["m", "p0"] == "m (chat@1, instruction shown)"
    assert titles["m", "p2"] == "m (fim/starcoder@1, instruction comment)"


def test_what_cannot_be_told_apart_keeps_its_hash() -> None:
    run = manifest(("m", "0123456789", CHAT), ("m", "abcdefghij", CHAT | {"sampling": {"seed": 1}}))
    expected = {("m", "0123456789"): "m (01234567)", ("m", "abcdefghij"): "m (abcdefgh)"}
    assert variant_titles(run, expected) == expected
    known = manifest(("m", "0123456789", CHAT))  # the other is a recorded answer
    assert variant_titles(known, expected) == expected


def test_modes_of_a_model_that_was_asked_alike_share_a_title() -> None:
    run = manifest(
        ("m", "p0", CHAT), ("m", "p1", CHAT | NONE), ("m", "p2", FIM | NONE), ("m", "p3", FIM | COMMENT),
        ("n", "p4", FIM | NONE),
    )  # fmt: skip
    keys = [("m", "p0"), ("m", "p1"), ("m", "p2"), ("m", "p3"), ("n", "p4"), ("reference", "none")]
    assert model_variants(run, keys) == {
        ("m", "p0"): ModelVariant("m (chat@1)", "shown", "chat@1"),
        ("m", "p1"): ModelVariant("m (chat@1)", "none", "chat@1"),
        ("m", "p2"): ModelVariant("m (fim/starcoder@1)", "none", "fim/starcoder@1"),
        ("m", "p3"): ModelVariant("m (fim/starcoder@1)", "comment", "fim/starcoder@1"),
        ("n", "p4"): ModelVariant("n", "none", "fim/starcoder@1"),
    }
    assert model_variants(manifest(("m", "p0", CHAT)), [("m", "p0")]) == {
        ("m", "p0"): ModelVariant("m", "shown", "chat@1")
    }


def test_models_are_in_the_order_in_which_they_were_asked() -> None:
    run = manifest(("m", "p9", CHAT), ("m", "p1", CHAT | NONE))
    assert [model_order(run, "m", key) for key in ("p9", "p1", "p5")] == [0, 1, 2]
