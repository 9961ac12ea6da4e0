from __future__ import annotations

import re
import uuid

from relay.base.ids import new_entry_id, new_session_id


def test_session_ids_are_uuids_of_version_7_that_sort_by_time() -> None:
    ids = [new_session_id(ms) for ms in (1, 2, 1_733_234_400_000, (1 << 48) - 1)]
    assert ids == sorted(ids)
    for id in ids:
        value = uuid.UUID(id)
        assert (value.version, value.variant) == (7, uuid.RFC_4122)
    assert uuid.UUID(ids[2]).int >> 80 == 1_733_234_400_000


def test_entry_ids_are_eight_hex_digits_unless_the_others_are_unknown() -> None:
    assert re.fullmatch(r"[0-9a-f]{8}", new_entry_id(set()))
    assert uuid.UUID(new_entry_id(None)).version == 4


def test_an_entry_id_is_never_one_that_is_taken() -> None:
    class Everything:
        def __contains__(self, id: object) -> bool:
            return isinstance(id, str) and len(id) == 8

    assert len(new_entry_id(Everything())) == 36
