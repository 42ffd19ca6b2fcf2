"""Words that messages are made of."""

from __future__ import annotations


def with_article(noun: str) -> str:
    """A noun with the article that it is spoken with: "a str", "an int"."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
