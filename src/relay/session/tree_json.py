"""The session's tree as JSON, made from its lines without recursion: depth costs no stack."""

from __future__ import annotations

from relay.base import jsonl
from relay.session.entries import LabelEntry, UsageEntry
from relay.session.log import SessionLog


def encode_tree(log: SessionLog) -> bytes:
    """A JSON array of roots: `{"entry": …, "children": […], "label"?, "labelTimestamp"?}`.

    Usage entries are left out, their children move up. Entries without a known parent are roots.
    """
    log.load_rest()
    shown_roots, below = _shown(log)
    labels = _labels(log)
    out: list[bytes] = [b"["]
    # What is still to be written, last first: a position, or a piece of text.
    stack: list[int | bytes] = [b"]", *_joined(shown_roots)]
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


def _shown(log: SessionLog) -> tuple[list[int], list[list[int]]]:
    """Roots and children by position, without usage entries."""
    roots, below = log.tree.children()
    gone = {at for at, record in enumerate(log.records) if isinstance(record.entry, UsageEntry)}
    if not gone:
        return roots, below
    return _lifted(roots, gone, below), [
        [] if at in gone else _lifted(children, gone, below) for at, children in enumerate(below)
    ]


def _lifted(children: list[int], gone: set[int], below: list[list[int]]) -> list[int]:
    if not any(child in gone for child in children):
        return children
    shown: list[int] = []
    stack = children[::-1]
    while stack:
        child = stack.pop()
        if child in gone:
            stack += reversed(below[child])
        else:
            shown.append(child)
    return shown


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
