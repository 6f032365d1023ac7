"""What a long stream costs in memory, measured on a process of its own: a multiple of its text, or a bound."""

import subprocess
import sys

import pytest

MB = 1_000_000
PRELUDE = """
import asyncio, json, resource, sys
from streamaccumulator import AsyncChatStream, ChatStream, LimitExceeded, accumulate
from streamaccumulator import aaccumulate

PIECE = "0123456789abcdef" * 4
LINE = b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": PIECE}}]}).encode() + b"\\n\\n"
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\\n\\ndata: [DONE]\\n\\n'

def source(size):
    for _ in range(size // len(PIECE) // 250):
        yield LINE * 250
    yield END

async def asource(size):
    for piece in source(size):
        yield piece

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

accumulate(source(100_000))
before = peak()
"""


def _measured(program: str) -> int:
    """Bytes by which the program's peak grew, after its `before`."""
    done = subprocess.run([sys.executable, "-c", PRELUDE + program + "\nprint(peak() - before)"], capture_output=True, check=True)
    return int(done.stdout)


DRIVERS = {
    "accumulate": "response = accumulate(source(SIZE))",
    "aaccumulate": "response = asyncio.run(aaccumulate(asource(SIZE)))",
    "ChatStream": """
with ChatStream(source(SIZE)) as stream:
    for event in stream:
        pass
    response = stream.finalize()""",
    "AsyncChatStream": """
async def read():
    async with AsyncChatStream(asource(SIZE)) as stream:
        async for event in stream:
            pass
        return await stream.finalize()
response = asyncio.run(read())""",
}


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is asked of the `resource` module, which Windows has not")
@pytest.mark.parametrize("driver", DRIVERS)
def test_100_mb_of_text_need_less_than_two_and_a_half_times_as_much(driver: str) -> None:
    size = 100 * MB
    program = DRIVERS[driver].replace("SIZE", str(size)) + "\nassert len(response.text) == SIZE and response.complete"
    assert _measured(program.replace("SIZE", str(size - size % (64 * 250)))) < 2.5 * size


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is asked of the `resource` module, which Windows has not")
@pytest.mark.parametrize("start", ["data: ", "data: {", "", "{", "["], ids=["sse", "sse-json", "bare", "ndjson", "array"])
def test_a_stream_that_never_ends_a_frame_is_refused_at_the_limit_and_not_stored(start: str) -> None:
    program = f"""
def endless():
    global came
    yield {start.encode()!r}
    for came in range(1000):
        yield b"x" * {MB}
try:
    accumulate(endless(), "openai-chat")
except LimitExceeded as error:
    assert error.limit == "frame_bytes", error.limit
    assert came < 100
else:
    raise AssertionError("was not refused")
"""
    assert _measured(program) < 100 * MB
