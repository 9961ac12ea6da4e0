"""The session's tree as JSON, made from its lines without recursion: depth costs no stack."""

from __future__ import annotations

from relay.base import jsonl
from relay.session.entries import LabelEntry
from relay.session.log import SessionLog


def encode_tree(log: SessionLog) -> bytes:
    """A JSON array of roots: `{"entry": …, "children": […], "label"?, "labelTimestamp"?}`.

    Entries without a known parent are roots. Usage entries are in it; viewers hide them.
    """
    log.load_rest()
    roots, below = log.tree.children()
    labels = _labels(log)
    out: list[bytes] = [b"["]
    # What is still to be written, last first: a position, or a piece of text.
    stack: list[int | bytes] = [b"]", *_joined(roots)]
    while stack:
        item = stack.pop()
        if isinstance(item, bytes):
            out.append(item)
            continue
        record = log.records[item]
        out += (b'{"entry":', log.raw(record), b',"children":[')
        stack.append(b"]" + labels.get(record.entry.id, b"") + b"}")
        stack += _joined(below[item])
    return b"".join(out)


def _joined(positions: list[int]) -> list[int | bytes]:
    """In the order in which a stack gives them back, with commas between."""
    items: list[int | bytes] = []
    for position in reversed(positions):
        items += (position, b",")
    return items[:-1]


def _labels(log: SessionLog) -> dict[str, bytes]:
    """Target → the members that a labelled node has."""
    labels: dict[str, bytes] = {}
    for entry in log.tree.entries:
        if isinstance(entry, LabelEntry):
            if entry.label:
                text = {"label": entry.label, "labelTimestamp": entry.timestamp}
                labels[entry.target_id] = b"," + jsonl.encode(text)[1:-1]
            else:
                labels.pop(entry.target_id, None)
    return labels
