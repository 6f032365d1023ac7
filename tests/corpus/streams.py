"""Where the recorded streams are, and what each is expected to become.

The corpus holds third-party data and is read in place: `../shared/corpus` beside the checkout, or the folder named by
`STREAMACCUMULATOR_CORPUS`. Its README says what the fields of its manifest mean.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(os.environ.get("STREAMACCUMULATOR_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus")
PROTOCOLS = {
    "openai-chat": "openai-chat",
    "mistral": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic-messages": "anthropic-messages",
    "gemini": "gemini",
    "bedrock-converse": "bedrock-converse",
    "cohere": "cohere",
    "ollama": "ollama",
    "other": "auto",
}
"""The corpus's names of protocols, and ours for them. `other` is for what its makers had no name for."""
COUNTS = {
    "openai-chat": 384,
    "mistral": 3,
    "openai-responses": 222,
    "anthropic-messages": 156,
    "gemini": 107,
    "bedrock-converse": 43,
    "cohere": 27,
    "ollama": 16,
    "other": 48,
}
"""How many streams of each there are: a corpus that lost some must not pass for a whole one."""


class Stream(msgspec.Struct, frozen=True):
    """One line of the manifest."""

    file: str
    protocol: str
    expected: dict[str, Any] | None
    """The message it should become; None where nobody has said."""
    disputed: list[str] = []

    @property
    def data(self) -> bytes:
        return (ROOT / self.file).read_bytes()

    @property
    def ours(self) -> str:
        return PROTOCOLS[self.protocol]


@cache
def streams() -> tuple[Stream, ...]:
    """All streams; empty where there is no corpus."""
    manifest = ROOT / "manifest.jsonl"
    if not manifest.exists():
        return ()
    return tuple([msgspec.json.decode(line, type=Stream) for line in manifest.read_bytes().splitlines()])


def need_corpus() -> None:
    """Fail where continuous integration lacks the corpus; skip, saying why, on a machine that has none."""
    if streams():
        return
    reason = f"no corpus of recorded streams at {ROOT}; name its folder in STREAMACCUMULATOR_CORPUS"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)  # third-party data, not part of this repository
