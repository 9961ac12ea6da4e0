"""What the bytes of a file are: text in which encoding, an image, or something else, by content alone."""

from __future__ import annotations

import codecs
import re

import msgspec

IMAGES = {
    "image/png": "a PNG image",
    "image/jpeg": "a JPEG image",
    "image/gif": "a GIF image",
    "image/webp": "a WebP image",
    "image/bmp": "a BMP image",
}

HEAD = 8192
"""Bytes from the start that decide what a file is."""

_SIGNATURES = (
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "an ELF program or library"),
    (b"MZ", "a Windows program or library"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    (b"\x00asm", "a WebAssembly module"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x00\x00\x01\x00", "an icon"),
    (b"8BPS", "a Photoshop image"),
    (b"OggS", "Ogg audio or video"),
    (b"fLaC", "FLAC audio"),
    (b"ID3", "MP3 audio"),
    (b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (b"wOFF", "a WOFF font"),
    (b"wOF2", "a WOFF2 font"),
    (b"\x00\x01\x00\x00\x00", "a TrueType font"),
    (b"OTTO", "an OpenType font"),
    (b"PAR1", "a Parquet table"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"GGUF", "a GGUF model"),
)

_CONTROLS = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")


class TextForm(msgspec.Struct, frozen=True):
    """How text is stored. `bom` is the byte order mark that was found, or b""."""

    encoding: str
    """A Python codec without a byte order mark of its own."""
    bom: bytes = b""


UTF_8 = TextForm("utf-8")

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def find_form(head: bytes) -> TextForm:
    """The form of a text that starts with `head`: by its mark, by the zero bytes of UTF-16, else UTF-8."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return TextForm(encoding, mark)
    return _find_unmarked_utf_16(head[:HEAD]) or UTF_8


def _find_unmarked_utf_16(sample: bytes) -> TextForm | None:
    """Plain letters in UTF-16 have a zero in one place of each pair and nearly never in the other."""
    pairs = len(sample) // 2
    if pairs < 2 or b"\0" not in sample:
        return None
    evens, odds = sample[0 : 2 * pairs : 2].count(0), sample[1 : 2 * pairs : 2].count(0)
    if max(evens, odds) < 0.6 * pairs or min(evens, odds) * 20 > max(evens, odds):
        return None
    encoding = "utf-16-le" if odds > evens else "utf-16-be"
    text = codecs.getincrementaldecoder(encoding)("replace").decode(sample)
    # Small numbers of two bytes look the same, but make no letters.
    strange = sum(char < " " and char not in "\t\n\r\f" or char == "\ufffd" for char in text)
    return TextForm(encoding) if strange * 50 <= len(text) else None


def decode(raw: bytes) -> tuple[str, TextForm]:
    """The text of a whole file; `encode` gives the same bytes again.

    Bytes that are not UTF-8 become lone surrogates (PEP 383). Raises ValueError where UTF-16 or UTF-32 is
    damaged.
    """
    form = find_form(raw[:HEAD])
    body = raw[len(form.bom) :] if form.bom else raw
    return body.decode(form.encoding, _errors(form)), form


def encode(text: str, form: TextForm) -> bytes:
    """The bytes of `text` in `form`, its mark first."""
    return form.bom + text.encode(form.encoding, _errors(form))


def _errors(form: TextForm) -> str:
    return "surrogateescape" if form.encoding == "utf-8" else "surrogatepass"


def find_image(head: bytes) -> str | None:
    """The media type of an image that can be shown to a model, from its first bytes."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    # "BM" alone starts many texts: the size of the second header follows at a fixed place.
    if head.startswith(b"BM") and int.from_bytes(head[14:18], "little") in (12, 40, 52, 56, 64, 108, 124):
        return "image/bmp"
    return None


def name_text(head: bytes) -> str:
    """What a text is, as far as it says so itself: "an HTML page", "text"."""
    start = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "an HTML page"
    if start.startswith(b"<svg") or (start.startswith(b"<?xml") and b"<svg" in head[:2048]):
        return "an SVG drawing, which is text"
    if start.startswith(b"<?xml"):
        return "an XML document"
    if start.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer: the image itself was not fetched"
    if start.startswith((b"{", b"[")):
        return "text, perhaps JSON"
    return "text"


def find_binary(head: bytes) -> str | None:
    """What a file that is no text is ("an ELF program or library", "binary data"); None for text.

    `head` are the first `HEAD` bytes of the file; text in UTF-16 and UTF-32 must be recognised before.
    """
    sample = head[:HEAD]
    controls = len(_CONTROLS.findall(sample))
    if not controls and is_utf_8(sample):
        return None
    for signature, name in _SIGNATURES:
        if sample.startswith(signature):
            return name
    if sample[4:8] == b"ftyp":
        return "an MP4, HEIC or AVIF file"
    if sample[257:262] == b"ustar":
        return "a tar archive"
    if sample.startswith(b"RIFF"):
        return "WAVE or AVI data"
    # A log with a stray NUL and a text in an old 8-bit encoding stay readable.
    return "binary data" if controls * 20 > len(sample) else None


def is_utf_8(sample: bytes) -> bool:
    """Whether `sample` decodes; a character cut at its end does no harm."""
    if sample.isascii():
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True
