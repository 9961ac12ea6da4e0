"""A scripted model server in one process: OpenAI-style event streams on loopback, every request timed.

`POST /script` takes a list of steps: the n-th request from then on gets step n, the last one repeats.
`POST /log` answers with what was noted since the script was set. Everything else is a model request.

Steps: {"text": "hi"}; {"words": n}: n deltas of four characters; {"tool": name, "arguments": {...},
"piece": n}: one call, its arguments in pieces of n characters, 0 for whole. Times are CLOCK_MONOTONIC
nanoseconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

BLOCK = 1 << 16
"""Bytes of a stream that go out in one write."""

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """One event of the stream in an HTTP chunk of its own."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return framed(json.dumps({"id": "bench", "object": "chat.completion.chunk", "choices": [choice]}))


def framed(data: str) -> bytes:
    body = b"data: " + data.encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(body), body)


def deltas(step: dict[str, Any]) -> Iterator[bytes]:
    """The events of a step, without their frame."""
    if "tool" in step:
        function = {"name": step["tool"], "arguments": ""}
        yield event({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
        text = json.dumps(step["arguments"])
        size = step.get("piece") or len(text)
        for start in range(0, len(text), size):
            piece = {"arguments": text[start : start + size]}
            yield event({"tool_calls": [{"index": 0, "function": piece}]})
    elif "words" in step:
        for number in range(step["words"]):
            yield event({"content": f"{number % 1000:03d}" + ("\n" if number % 20 == 19 else " ")})
    else:
        yield event({"content": step["text"]})


def blocks(step: dict[str, Any]) -> list[bytes]:
    """The whole answer, ready to be sent, so that serving costs nothing but the sending."""
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    parts = [event({"role": "assistant", "content": ""}), *deltas(step)]
    parts.append(event({}, "tool_calls" if "tool" in step else "stop"))
    parts.append(framed(json.dumps({"id": "bench", "choices": [], "usage": usage})))
    parts.append(framed("[DONE]") + b"0\r\n\r\n")
    answer = b"".join(parts)
    return [answer[start : start + BLOCK] for start in range(0, len(answer), BLOCK)]


class Script:
    """The answers to come and the log of those given."""

    def __init__(self) -> None:
        self._answers: Sequence[list[bytes]] = [blocks({"text": "hi"})]
        self._log: list[dict[str, Any]] = []

    def set(self, steps: list[dict[str, Any]]) -> None:
        self._answers, self._log = [blocks(step) for step in steps], []

    def take(self) -> dict[str, Any]:
        return {"requests": self._log}

    async def answer(self, began: int, body: bytes, writer: asyncio.StreamWriter) -> None:
        answer = self._answers[min(len(self._log), len(self._answers) - 1)]
        note: dict[str, Any] = {"began": began, "bytes": len(body), "result": last_result(body)}
        self._log.append(note)
        note["answering"] = time.monotonic_ns()
        writer.write(HEAD + answer[0])
        for block in answer[1:]:
            await writer.drain()
            writer.write(block)
        await writer.drain()
        note["answered"] = time.monotonic_ns()


def last_result(body: bytes) -> str:
    """The text of the last message when it is a tool's result, cut; else nothing."""
    messages = json.loads(body).get("messages") or [{}]
    if messages[-1].get("role") != "tool":
        return ""
    content = messages[-1].get("content") or ""
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content)
    return str(content[:200] + content[-200:])


async def read_body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    """The body that follows `head`, by its length or in chunks."""
    lines = head.decode("latin-1").lower().split("\r\n")
    headers = dict(line.split(":", 1) for line in lines[1:] if ":" in line)
    if "chunked" not in headers.get("transfer-encoding", ""):
        return await reader.readexactly(int(headers.get("content-length", "0")))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


async def serve(script: Script, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, until its client closes it."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            began = time.monotonic_ns()
            body = await read_body(reader, head)
            path = head.split(b" ", 2)[1]
            if path == b"/script":
                script.set(json.loads(body))
            if path in (b"/script", b"/log"):
                text = json.dumps(script.take()).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
                await writer.drain()
            else:
                await script.answer(began, body, writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    """Prints its port, and ends when standard input does."""
    script = Script()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(script, reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 24)
    async with server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
