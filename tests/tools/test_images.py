from __future__ import annotations

import base64
import io
import os
import random
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageOps

from relay.ai.types import ImageContent
from relay.tools.images import MAX_BYTES, ImageError, prepare_image
from relay.tools.local import LocalOperations
from relay.tools.read import ReadTool
from tests.tools.calls import context, text_of
from tests.tools.places import run

KINDS = ["PNG", "JPEG", "GIF", "WEBP", "BMP"]


def picture(width: int = 40, height: int = 30, mode: str = "RGB") -> Image.Image:
    image = Image.new("RGB", (width, height), "white")
    image.paste("red", (0, 0, width // 2, height // 2))
    return image.convert(mode)


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def is_red(image: Image.Image, point: tuple[int, int]) -> bool:
    corner = image.convert("RGB").crop((*point, point[0] + 1, point[1] + 1)).tobytes()
    return corner[0] > 200 and corner[1] < 100


@pytest.mark.parametrize("kind", KINDS)
def test_good_images_are_sent_as_they_are(kind: str) -> None:
    raw = encoded(picture(), kind)
    image = prepare_image(raw)
    assert (image.size, image.shown_size) == ((40, 30), (40, 30))
    if kind == "BMP":
        assert image.mime_type == "image/png"
        assert opened(image.data).convert("RGB").tobytes() == picture().tobytes()
    else:
        assert image.data == raw
        assert image.mime_type == f"image/{kind.lower()}"


@pytest.mark.parametrize("kind", KINDS)
def test_cut_images_are_refused_or_made_whole(kind: str) -> None:
    raw = encoded(picture(300, 200), kind)
    for length in sorted(
        {16, 30, 60, len(raw) // 2, len(raw) - 40, len(raw) - 13, len(raw) - 2, len(raw) - 1}
    ):
        if not 0 < length < len(raw):
            continue
        try:
            image = prepare_image(raw[:length])
        except ImageError:
            continue
        assert image.data != raw[:length]
        assert opened(image.data).size == (300, 200)


@pytest.mark.parametrize("kind", KINDS)
def test_damage_never_escapes_as_a_foreign_error(kind: str) -> None:
    raw = encoded(picture(60, 50), kind)
    chance = random.Random(7)
    for _ in range(150):
        broken = bytearray(raw)
        for _ in range(chance.randint(1, 6)):
            broken[chance.randrange(min(len(broken), 400))] = chance.randrange(256)
        try:
            image = prepare_image(bytes(broken))
        except ImageError:
            continue
        assert opened(image.data).size == image.shown_size


@pytest.mark.parametrize(
    "raw", [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"RIFF\0\0\0\0WEBP", b"<svg/>"]
)
def test_what_only_starts_like_an_image_is_refused(raw: bytes) -> None:
    with pytest.raises(ImageError):
        prepare_image(raw)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "1", "I;16"])
def test_large_images_are_made_smaller(mode: str) -> None:
    image = (
        picture(2500, 500, "L").convert("I").point(lambda value: value * 257).convert("I;16")
        if mode == "I;16"
        else picture(2500, 500, mode)
    )
    prepared = prepare_image(encoded(image, "PNG"))
    assert (prepared.size, prepared.shown_size) == ((2500, 500), (2000, 400))
    shown = opened(prepared.data).convert("RGB")
    assert shown.size == (2000, 400)
    white, dark = shown.getpixel((1900, 390)), shown.getpixel((10, 10))
    assert white == (255, 255, 255)
    assert dark != white


def test_resizing_can_be_turned_off() -> None:
    raw = encoded(picture(2500, 50), "PNG")
    assert prepare_image(raw, auto_resize=False).data == raw


@pytest.mark.parametrize("orientation", range(1, 9))
def test_photos_are_turned_upright(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    raw = encoded(picture(), "JPEG", exif=exif, quality=95)
    prepared = prepare_image(raw)
    upright = ImageOps.exif_transpose(opened(raw))
    assert prepared.size == prepared.shown_size == upright.size
    shown = opened(prepared.data)
    assert (prepared.data == raw) == (orientation == 1)
    assert shown.getexif().get(0x0112, 1) == 1
    for point in ((2, 2), (upright.width - 3, 2), (2, upright.height - 3)):
        assert is_red(shown, point) == is_red(upright, point)


def test_heavy_images_get_below_the_limit() -> None:
    noise = Image.frombytes("RGB", (1500, 1500), random.Random(1).randbytes(1500 * 1500 * 3))
    raw = encoded(noise, "PNG")
    assert len(raw) > MAX_BYTES
    prepared = prepare_image(raw)
    assert len(prepared.data) <= MAX_BYTES
    assert opened(prepared.data).size == prepared.shown_size


def test_print_colours_are_converted() -> None:
    prepared = prepare_image(encoded(picture(mode="CMYK"), "JPEG"))
    assert opened(prepared.data).mode == "RGB"


def test_an_animation_keeps_its_first_frame_when_it_must_change() -> None:
    frames = [picture(2100, 40), picture(2100, 40).convert("L").convert("RGB")]
    raw = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    prepared = prepare_image(raw)
    assert prepared.mime_type == "image/png"
    assert prepared.shown_size[0] == 2000


@pytest.mark.parametrize("side", [9_000, 12_000, 60_000])
def test_bombs_are_refused_before_they_are_decoded(side: int) -> None:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    raw = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )
    with warnings.catch_warnings(), pytest.raises(ImageError, match=r"safely"):
        warnings.simplefilter("default")
        prepare_image(raw)


async def test_the_note_explains_a_smaller_image(tmp_path: Path) -> None:
    (tmp_path / "wide.png").write_bytes(encoded(picture(3000, 300), "PNG"))
    note, image = (await run("read", tmp_path, path="wide.png")).content
    assert isinstance(image, ImageContent)
    assert opened(base64.b64decode(image.data)).size == (2000, 200)
    text = text_of((await run("read", tmp_path, path="wide.png")).__class__(content=[note]))
    assert "3000x300" in text
    assert "2000x200" in text
    assert "1.50" in text


async def test_blocked_images_are_told_about(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encoded(picture(), "PNG"))
    tool = ReadTool(tmp_path, LocalOperations(), block_images=True)
    text = text_of(await tool.run({"path": "a.png"}, context()))
    assert "images.blockImages" in text
    assert "PNG" in text


async def test_a_damaged_image_gives_a_text_with_name_size_and_reason(tmp_path: Path) -> None:
    raw = encoded(picture(300, 200), "PNG")[:200]
    (tmp_path / "cut.png").write_bytes(raw)
    result = await run("read", tmp_path, path="cut.png")
    assert not result.is_error
    assert text_of(result) == (
        "[cut.png is a PNG image of 200 bytes by its first bytes, but it is not attached: "
        "its data is cut off or damaged.]"
    )


async def test_a_huge_image_file_is_not_loaded(tmp_path: Path) -> None:
    with (tmp_path / "huge.png").open("wb") as file:
        file.write(encoded(picture(), "PNG"))
        os.truncate(file.fileno(), 70 * 1024 * 1024)
    assert "only images up to 64.0 MB" in text_of(await run("read", tmp_path, path="huge.png"))
