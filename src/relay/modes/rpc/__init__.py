"""RPC mode: JSONL commands in, responses and session events out."""
