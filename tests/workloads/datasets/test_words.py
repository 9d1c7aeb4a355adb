"""Texts with their lengths, words and hashtags, written by hand: oracle and engines share them."""

import sys
import unicodedata

import pytest

from streamlab.workloads.datasets.text.words import tokenize

TEXTS = {
    "R&amp;D at &lt;b&gt; 3D-Print!": (20, ["r", "d", "at", "b", "3d", "print"], []),
    "see http://a.b/c#d?e=f, WWW.x.org/y now": (39, ["see", "now"], []),
    "RT @Some_One1: me@home.org": (26, ["rt", "me", "home", "org"], []),
    "'90s dogs' O'Neil's don\u2019t ''x'": (
        30,
        ["90s", "dogs", "o'neil's", "don't", "x"],
        [],
    ),
    "#a1 x#no #42 ##b_c #D.e": (23, ["x", "no", "42", "e"], ["a1", "b_c", "d"]),
    "twice twice #t #T": (17, ["twice", "twice"], ["t", "t"]),
    "#42's #4\u00b2 #42a": (14, ["42's", "4\u00b2"], ["42a"]),
    "_#no __@x a_#b snake_case": (25, ["no", "x", "a", "b", "snake", "case"], []),
    "xhttp://a 1www.b.c \u00fcwww.d": (
        25,
        ["xhttp", "a", "1www", "b", "c", "\u00fcwww", "d"],
        [],
    ),
    # Blanks are characters, and those at the ends are none of the text.
    "  two  blanks \t three\u00a0 ": (19, ["two", "blanks", "three"], []),
    "\t ": (0, [], []),
    "": (0, [], []),
    # U+FE0F says that the character before it is shown as an emoji: a mark, and no beginning.
    "I \u2764\ufe0f you": (8, ["i", "you"], []),
    "\u2764\ufe0fyou \ufe0f \ufe0f\ufe0fwe": (12, ["you", "we"], []),
    "\u2764\ufe0f#love \u2764\ufe0f@bob": (14, [], ["love"]),
    "#\ufe0f\u20e3tag": (6, ["tag"], []),
    "a'\u0301b": (4, ["a", "b"], []),
    # Marks that are accents belong to the letter before them.
    "cafe\u0301s cafe\u0301#x": (14, ["cafe\u0301s", "cafe\u0301", "x"], []),
    "#cafe\u0301": (6, [], ["cafe\u0301"]),
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u4f60\u597d": (
        9,
        ["\u0928\u092e\u0938\u094d\u0924\u0947", "\u4f60\u597d"],
        [],
    ),
    "\u00c9T\u00c9 \u03a3\u0391\u03a3": (7, ["\u00e9t\u00e9", "\u03c3\u03b1\u03c2"], []),
}


@pytest.mark.parametrize("text", TEXTS)
def test_length_words_and_hashtags_are_those_that_a_person_finds(text: str):
    assert tuple(tokenize(text)) == TEXTS[text]


def test_a_word_begins_with_a_letter_or_a_digit():
    signs = [chr(code) for code in range(sys.maxunicode + 1)]
    found = tokenize("".join(f"\u2764{sign} " for sign in signs)).words
    assert found == [sign.lower() for sign in signs if unicodedata.category(sign)[0] in "LN"]
