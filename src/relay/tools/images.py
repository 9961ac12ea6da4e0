"""Images for a model: decoded before they are attached, turned upright, made small enough. Imports Pillow."""

from __future__ import annotations

import io
import struct
import warnings
import zlib

import msgspec
from PIL import Image, ImageOps

from relay.base.errors import RelayError
from relay.tools.text_file import find_image

MAX_SIDE = 2000
"""Pixels; larger ones are refused or made smaller by providers in their own ways."""

MAX_BYTES = 3_300_000
"""Base64 makes 4.4 MB of it; the strictest provider refuses more than 5 MB."""

MAX_PIXELS = 50_000_000
"""Above this only JPEG is decoded, which can be decoded at a part of its size, up to Pillow's limit."""

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
SENDABLE = ("image/png", "image/jpeg", "image/gif", "image/webp")
ORIENTATION = 0x0112

DAMAGES = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    OverflowError,
    MemoryError,
    NotImplementedError,
    struct.error,
    zlib.error,
)
"""What Pillow's readers raise for data they did not expect."""


class ImageError(RelayError):
    """Data that cannot be attached; the text is the end of a sentence: "it is cut off or damaged"."""


class PreparedImage(msgspec.Struct, frozen=True):
    """An image that decodes. Sizes in pixels, upright: as found, and as attached."""

    data: bytes
    mime_type: str
    size: tuple[int, int]
    shown_size: tuple[int, int]


def prepare_image(raw: bytes, *, auto_resize: bool = True) -> PreparedImage:
    """What a model should get for the image file `raw`: its own bytes where they will do.

    `auto_resize` limits both sides to `MAX_SIDE` and the data to `MAX_BYTES`. Of an animation that must be
    changed the first frame is kept. Blocks; raises ImageError.
    """
    mime_type = find_image(raw[:64])
    if mime_type is None:
        raise ImageError("it is no image of a known kind")
    # Pillow only warns about a decompression bomb at first; nothing in this process wants to decode one.
    warnings.filterwarnings("error", category=Image.DecompressionBombWarning)
    try:
        with Image.open(io.BytesIO(raw), formats=FORMATS) as image:
            return _prepare(image, raw, mime_type, auto_resize)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ImageError("it has too many pixels to be decoded safely") from error
    except DAMAGES as error:
        raise ImageError("its data is cut off or damaged") from error


def _prepare(image: Image.Image, raw: bytes, mime_type: str, auto_resize: bool) -> PreparedImage:
    size = image.size
    if size[0] * size[1] > MAX_PIXELS and mime_type != "image/jpeg":
        raise ImageError(f"with {size[0]}x{size[1]} pixels it is too large to be decoded safely")
    if auto_resize and max(size) > MAX_SIDE:
        image.draft("RGB", (MAX_SIDE, MAX_SIDE))
    image.load()
    orientation = _orientation(image)
    turned = orientation != 1
    upright = ImageOps.exif_transpose(image) if turned else image
    if orientation >= 5:
        size = (size[1], size[0])
    fits = not auto_resize or (max(size) <= MAX_SIDE and len(raw) <= MAX_BYTES)
    if fits and not turned and mime_type in SENDABLE and image.mode != "CMYK" and _is_whole(raw, mime_type):
        return PreparedImage(raw, mime_type, size, size)
    plain = _plain(upright)
    if auto_resize:
        plain.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.LANCZOS)
    return _encode(plain, size, photo=mime_type == "image/jpeg", limit=MAX_BYTES if auto_resize else None)


def _orientation(image: Image.Image) -> int:
    try:
        found = image.getexif().get(ORIENTATION, 1)
    except DAMAGES:
        return 1
    return found if found in range(2, 9) else 1


def _is_whole(raw: bytes, mime_type: str) -> bool:
    """Whether the end is there: Pillow reads images that lack only that, a provider may not."""
    match mime_type:
        case "image/png":
            return b"IEND\xae\x42\x60\x82" in raw[-1024:]
        case "image/jpeg":
            return b"\xff\xd9" in raw[-1024:]
        case "image/gif":
            return raw.rstrip(b"\0").endswith(b";")
        case _:
            return len(raw) >= int.from_bytes(raw[4:8], "little") + 8


def _plain(image: Image.Image) -> Image.Image:
    """A copy in a mode that can be scaled and saved as PNG and JPEG or, with transparency, as PNG."""
    if image.mode in ("RGB", "RGBA", "L"):
        return image.copy()
    if image.mode.startswith("I"):
        # 16 bits of grey; a plain conversion would make everything above 255 white.
        return image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    has_alpha = "A" in image.getbands() or "a" in image.getbands() or "transparency" in image.info
    return image.convert("RGBA" if has_alpha else "RGB")


def _encode(image: Image.Image, size: tuple[int, int], *, photo: bool, limit: int | None) -> PreparedImage:
    """`image` as PNG or JPEG, of lesser quality and size until it is within `limit` bytes."""
    while True:
        data = b"" if photo else _save(image, "PNG")
        if data and (limit is None or len(data) <= limit):
            return PreparedImage(data, "image/png", size, image.size)
        for quality in (85, 70, 50):
            data = _save(image, "JPEG", quality=quality)
            if limit is None or len(data) <= limit:
                return PreparedImage(data, "image/jpeg", size, image.size)
        image = image.resize((max(1, image.width * 3 // 4), max(1, image.height * 3 // 4)))


def _save(image: Image.Image, kind: str, **options: int) -> bytes:
    out = io.BytesIO()
    if kind == "JPEG" and image.mode == "RGBA":
        ground = Image.new("RGB", image.size, "white")
        ground.paste(image, mask=image.getchannel("A"))
        image = ground
    image.save(out, kind, **options)
    return out.getvalue()
