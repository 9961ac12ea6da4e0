"""Tool schemas at random, for adapters that have to reshape what tools declare."""

from __future__ import annotations

from hypothesis import strategies as st

from relay.ai.types import JsonObject

WORDS = (
    "type properties required anyOf allOf oneOf items enum const $ref $defs definitions additionalProperties "
    "object array string a"
).split()


def schemas() -> st.SearchStrategy[JsonObject]:
    """JSON Schemas, and what only looks like them."""
    words = st.sampled_from(WORDS)
    leaf = st.none() | st.booleans() | st.integers() | words
    value = st.recursive(leaf, lambda v: st.lists(v, max_size=3) | st.dictionaries(words, v, max_size=4))
    return st.dictionaries(words, value, max_size=5)
