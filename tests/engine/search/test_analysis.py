"""Text becomes terms as docs/design/query-language.md#6-search says."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.exec.search import text_analysis
from omnigraph.exec.search.ascii_folding import alphanumeric
from omnigraph.exec.search.text_analysis import STOP_WORDS, analyse, analyse_query

TEXT = st.text(st.characters(codec="utf-8"), max_size=40) | st.text("aeé the kitesß ,", max_size=30)


def terms_of(texts: pa.Array | pa.ChunkedArray) -> list[list[str]]:
    tokens = analyse(texts)
    return [
        [tokens.terms[code] for code in tokens.codes[low:high]]
        for low, high in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("red kite over the marsh", ["red", "kite", "marsh"]),
        ("Kites", ["kite"]),
        ("running RUNS runner", ["run", "run", "runner"]),
        ("snow_man, 3.14; a1b2", ["snow", "man", "3", "14", "a1b2"]),
        ("", []),
        ("... --- !!!", []),
        ("The AND of OVER", []),
        ("Café naïve ŒUVRES Straße", ["cafe", "naiv", "oeuvr", "strass"]),
        ("résumés resumes", ["resum", "resum"]),
        ("thé", []),
        ("日本語 ٣٤", ["日本語", "٣٤"]),
        ("ＦＵＬＬ x² ½", ["full", "x2", "12"]),
        ("ΣΟΦΟΣ σοφος", ["σοφοσ", "σοφος"]),
        ("x" * 64, ["x" * 64]),
        ("don't", ["don", "t"]),
    ],
)
def test_text_becomes_terms(text: str, terms: list[str]) -> None:
    assert analyse_query(text) == terms
    assert terms_of(pa.array([text])) == [terms]


def test_stop_words_are_dropped_before_stemming() -> None:
    assert [word for word in STOP_WORDS if analyse_query(word)] == []
    assert analyse_query("downs doings") == ["down", "do"]


def test_nulls_and_empty_texts_have_no_terms() -> None:
    assert terms_of(pa.array([None, "a kite", "", None, "kite"])) == [
        [],
        ["kite"],
        [],
        [],
        ["kite"],
    ]
    assert terms_of(pa.array([], pa.string())) == []
    assert terms_of(pa.array([None, ""], pa.string())) == [[], []]
    assert terms_of(pa.chunked_array([], pa.string())) == []


def test_what_lies_under_a_null_is_not_read() -> None:
    validity = pa.py_buffer(bytes([0b01]))
    offsets = pa.array([0, 4, 9], pa.int32()).buffers()[1]
    column = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"kitemarsh"), validity)
    assert terms_of(column) == [["kite"], []]


def test_words_end_where_their_text_ends() -> None:
    assert terms_of(pa.array(["kite", "marsh", "é", "bird"])) == [
        ["kite"],
        ["marsh"],
        ["e"],
        ["bird"],
    ]


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.string_view()])
def test_every_layout_of_text_is_read(type_: pa.DataType) -> None:
    column = pa.array(["one kite", None, "two kites"], type_)
    assert terms_of(column.slice(1)) == [[], ["two", "kite"]]
    assert terms_of(pa.chunked_array([column, column.slice(2)])) == [
        ["one", "kite"],
        [],
        ["two", "kite"],
        ["two", "kite"],
    ]


@given(st.lists(TEXT | st.none(), max_size=8))
def test_a_column_is_analysed_like_each_of_its_texts(texts: list[str | None]) -> None:
    assert terms_of(pa.array(texts, pa.string())) == [analyse_query(t or "") for t in texts]


@given(st.lists(TEXT, max_size=8), st.integers(1, 30))
def test_blocks_leave_no_trace(texts: list[str], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_analysis, "BLOCK_BYTES", size)
        assert terms_of(pa.array(texts, pa.string())) == [analyse_query(t) for t in texts]


def test_vocabulary_tells_words_from_terms() -> None:
    tokens = analyse(pa.array(["Kites and a kite"]))
    assert tokens.terms == ("kite",)
    assert dict(zip(tokens.words, tokens.word_codes.tolist(), strict=True)) == {
        "kites": 0,
        "and": -1,
        "a": -1,
        "kite": 0,
    }


def test_letters_and_digits_are_those_of_unicode() -> None:
    inside = alphanumeric()
    missing = [c for c in map(chr, range(0x110000)) if c.isalnum() and not inside[ord(c)]]
    assert missing == []
    assert inside[ord("ा")]
    assert not inside[ord("\u0301")]


def test_lone_surrogates_in_a_query_separate_words() -> None:
    assert analyse_query("kite\ud800marsh") == ["kite", "marsh"]
