"""Lets the small local model answer a question about this repository, and checks the session it leaves.

`--seeds N` repeats it with N different seeds and tells how often it succeeds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RELAY = Path(sys.executable).with_name("relay")
MODEL = "smollm2"
QUESTION = "Which license does the file LICENSE have?"
SHOWN_LINES = 4


def main() -> int:
    """0 when the model found the answer by itself; 1 when something is missing, which stdout then names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=0, help="run with the seeds 1 to N and count")
    parser.add_argument("--seed", type=int, default=1, help="seed of a single run")
    options = parser.parse_args()
    agent = Path(os.environ.get("RELAY_CODING_AGENT_DIR") or Path.home() / ".relay" / "agent")
    fetched = subprocess.run([RELAY, "local", "pull", MODEL], check=False)
    if fetched.returncode != 0:
        return 1
    fact = (ROOT / "LICENSE").read_text(encoding="utf-8").split()[0]
    if options.seeds:
        return _count(agent / "models", fact, options.seeds)
    missing = _try(agent / "models", fact, options.seed)
    _say(
        f"\nThe demo failed: {missing}"
        if missing
        else "\nThe session holds the call, its result and the answer."
    )
    return 1 if missing else 0


def _count(models: Path, fact: str, seeds: int) -> int:
    """0 when at least nine of ten seeds succeed."""
    good = 0
    for seed in range(1, seeds + 1):
        _say(f"\n--- seed {seed}")
        missing = _try(models, fact, seed)
        good += not missing
        _say(missing or "passed")
    _say(f"\n{good} of {seeds} seeds passed.")
    return 0 if good * 10 >= seeds * 9 else 1


def _try(models: Path, fact: str, seed: int) -> str:
    """What the session file lacks; "" when it is all there."""
    agent = Path(tempfile.mkdtemp(prefix="relay-demo-"))
    (agent / "models").symlink_to(models.resolve(), target_is_directory=True)
    sampling = {"samplingParams": {"seed": seed}}
    overrides = {"providers": {"local": {"modelOverrides": {MODEL: sampling}}}}
    (agent / "models.json").write_text(json.dumps(overrides), encoding="utf-8")
    _say(f"Question: {QUESTION}")
    code = _ask(agent)
    sessions = sorted(agent.rglob("sessions/**/*.jsonl"))
    if code != 0 or not sessions:
        return f"relay ended with exit code {code} and left {len(sessions)} session files."
    _say(f"Session:  {sessions[0]}")
    return _lacks(sessions[0], fact)


def _ask(agent: Path) -> int:
    """Runs Relay on the question, shows what happens while it happens, and returns its exit code."""
    command = [str(RELAY), "--mode", "json", "--model", f"local/{MODEL}", "--tools", "read", QUESTION]
    environ = {**os.environ, "RELAY_CODING_AGENT_DIR": str(agent)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        for line in process.stdout or ():
            _show(json.loads(line))
    return process.returncode


def _show(event: dict[str, Any]) -> None:
    message = event.get("message", {})
    if event["type"] != "message_end":
        return
    if message["role"] == "toolResult":
        lines = _text(message).splitlines()
        more = f"\n          … {len(lines) - SHOWN_LINES} more lines" if len(lines) > SHOWN_LINES else ""
        _say("Result:   " + "\n          ".join(lines[:SHOWN_LINES]) + more)
    elif message["role"] == "assistant":
        for block in message["content"]:
            if block["type"] == "toolCall":
                _say(f"Call:     {block['name']} {json.dumps(block['arguments'])}")
            elif block["type"] == "text":
                _say(f"Answer:   {block['text']}")
        if message.get("errorMessage"):
            _say(f"Error:    {message['errorMessage']}")


def _lacks(session: Path, fact: str) -> str:
    """Follows the session: a read call of the model's, its good result with the fact, an answer with it."""
    lacking = ["a read call of the model's", f"a result with {fact}", f"an answer with {fact}"]
    calls: set[str] = set()
    for message in _messages(session):
        role = message["role"]
        if role == "assistant":
            made = {block["id"] for block in message["content"] if _is_read(block)}
            calls |= made
            if made:
                lacking = lacking[-2:]
            elif len(lacking) == 1 and fact in _text(message):
                return ""
        elif role == "toolResult" and message["toolCallId"] in calls and not message["isError"]:
            lacking = lacking[-1:] if fact in _text(message) else lacking
    return f"the session {session} does not hold {lacking[0]}."


def _is_read(block: dict[str, Any]) -> bool:
    return (block["type"], block.get("name")) == ("toolCall", "read")


def _messages(session: Path) -> Iterator[dict[str, Any]]:
    for line in session.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["type"] == "message":
            yield entry["message"]


def _text(message: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in message["content"] if block["type"] == "text")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
