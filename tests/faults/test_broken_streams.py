"""Known faults of other libraries: errors inside a stream, transports that fail, retries and resumed streams."""

from collections.abc import Iterator
from typing import Any

import pytest

from streamaccumulator import ChatStream, FinishReason, InvalidToolCallJson, ProviderError, StreamDecoder, Truncated, accumulate

from ..wire import anthropic, call, chat, codes, delta, finish, read, sse
from .shapes import MESSAGE, block, converse, counts, responses, text_delta

ERRORS = {
    "B151 chat": (
        delta(content="par") + sse({"error": {"message": "overloaded", "type": "server_error", "code": "x"}}),
        "openai-chat",
        ProviderError("server_error", "overloaded", {"message": "overloaded", "type": "server_error", "code": "x"}),
    ),
    "B151 messages": (
        MESSAGE
        + block(0, text_delta("par"), stop=False, type="text", text="")
        + anthropic("error", error={"type": "overloaded_error", "message": "busy"}),
        "anthropic-messages",
        ProviderError("overloaded_error", "busy", {"type": "overloaded_error", "message": "busy"}),
    ),
}


@pytest.mark.parametrize(("data", "protocol", "error"), ERRORS.values(), ids=ERRORS)
def test_an_error_inside_a_stream_is_raised_with_what_came(data: bytes, protocol: str, error: ProviderError) -> None:
    for end in (b"", b"data: [DONE]\n\n"):
        with pytest.raises(ProviderError) as caught:
            accumulate(data + end, protocol)
        assert caught.value == error
        partial = caught.value.response
        assert partial is not None
        assert (partial.text, partial.finish_reason, partial.raw_finish_reason) == ("par", FinishReason.ERROR, None)
        assert (partial.complete, partial.errors) == (False, (error,))


def test_b151_an_error_is_no_end_of_its_own() -> None:
    response = read(delta(content="par"), sse({"error": {"message": "overloaded"}}), finish("stop"))
    assert (response.finish_reason, response.complete) == (FinishReason.ERROR, False)


@pytest.mark.parametrize("kind", ["throttlingException", "modelStreamErrorException", "internalServerException"])
def test_b155_an_exception_frame_is_an_error_of_that_name(kind: str) -> None:
    piece = {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "par"}}}
    response = converse(piece, {kind: {"message": "slow"}})
    (error,) = response.errors
    assert isinstance(error, ProviderError)
    assert (error.kind, error.message) == (kind, "slow")
    assert (response.text, response.finish_reason, response.complete) == ("par", FinishReason.ERROR, False)


def breaking(*pieces: bytes, failure: Exception) -> Iterator[bytes]:
    yield from pieces
    raise failure


USAGE = {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}
PART = chat({"index": 0, "delta": {"content": "long part"}}, usage=USAGE) + call(0, "c1", "f", '{"a')


def test_b156_what_came_before_a_failure_is_there_after_it() -> None:
    failure = ConnectionResetError("reset")
    with ChatStream(breaking(PART, failure=failure), "openai-chat") as stream, pytest.raises(Truncated) as caught:
        stream.finalize()
    assert (caught.value.reason, caught.value.__cause__) == ("transport", failure)
    partial = caught.value.response
    assert partial is not None
    assert (partial.text, counts(partial), partial.complete) == ("long part", (2, 1, 3), False)
    cut = [error for error in partial.errors if isinstance(error, InvalidToolCallJson)]
    assert [(error.call_id, error.name, error.cause, error.raw_arguments) for error in cut] == [("c1", "f", "cut", '{"a')]


def test_b156_what_came_before_the_caller_left_is_there_after_it() -> None:
    with ChatStream(iter([PART, delta(content="never")]), "openai-chat") as stream:
        while "c1" not in stream.accumulator.open_calls:
            next(stream)
        next(stream)
    partial = stream.snapshot()
    assert (partial.text, counts(partial), partial.complete) == ("long part", (2, 1, 3), False)
    assert stream.accumulator.open_calls == ("c1",)
    assert stream.tool_call("c1").arguments_raw == '{"a'
    assert Truncated in [type(error) for error in stream.finalize(strict=False).errors]


SECOND = sse({"id": "x2", "choices": [{"index": 0, "delta": {"content": "Here is it"}, "finish_reason": "stop"}]})


def test_b157_a_retry_in_the_same_stream_is_told() -> None:
    assert "second_response" in codes(accumulate(delta(content="Here is") + SECOND))
    twice = MESSAGE + block(0, text_delta("Here is"), stop=False, type="text", text="")
    assert "second_response" in codes(read(twice, twice, protocol="anthropic-messages"))


def test_b157_a_retry_of_its_own_has_only_its_own_text() -> None:
    broken = accumulate(breaking(delta(content="Here is"), failure=ConnectionResetError()), strict=False)
    assert (broken.text, broken.complete) == ("Here is", False)
    response = accumulate(SECOND)
    assert (response.text, response.complete, response.diagnostics) == ("Here is it", True, ())


def test_b161_silence_that_the_client_ends_is_told_as_such() -> None:
    failure = TimeoutError("nothing came")
    closed: list[bool] = []

    def silent() -> Iterator[bytes]:
        try:
            yield from breaking(delta(content="a"), failure=failure)
        finally:
            closed.append(True)

    with pytest.raises(Truncated) as caught:
        accumulate(silent(), "openai-chat")
    assert (caught.value.reason, caught.value.__cause__, closed) == ("idle_timeout", failure, [True])
    assert caught.value.response is not None
    assert caught.value.response.text == "a"


def numbered(number: int) -> bytes:
    """Event `number` of a stream whose text is its numbers."""
    where: dict[str, Any] = {"item_id": "m1", "output_index": 0, "content_index": 0}
    if number == 0:
        return responses("created", sequence_number=0, response={"id": "r1", "status": "in_progress", "output": []})
    if number == 8:
        return responses("completed", sequence_number=8, response={"id": "r1", "status": "completed", "output": []})
    return responses("output_text.delta", sequence_number=number, delta=str(number), **where)


def test_b163_events_that_come_again_are_applied_once() -> None:
    data = [numbered(number) for number in (*range(6), *range(3, 9))]
    response = read(*data, protocol="openai-responses")
    assert (response.text, response.complete) == ("1234567", True)
    assert "repeated_event" in codes(response)


@pytest.mark.parametrize("numbers", [(0, 1, 2, 5, 6, 7, 8), (4, 5, 6, 7, 8)], ids=["gap", "unseen start"])
def test_b163_events_that_never_came_are_told(numbers: tuple[int, ...]) -> None:
    response = read(*[numbered(number) for number in numbers], protocol="openai-responses")
    assert response.text == "".join([str(number) for number in numbers if 0 < number < 8])
    assert "sequence_gap" in codes(response)


def test_b163_it_says_where_to_go_on_from() -> None:
    stream = ChatStream([b"".join([numbered(number) for number in range(4)])], "openai-responses")
    for _ in stream:
        assert stream.sequence_number == 3


@pytest.mark.parametrize("numbers", [range(0, 10**7, 99_000), range(300_000)], ids=["gaps", "many"])
def test_b163_numbers_cost_bounded_memory(numbers: range) -> None:
    decoder = StreamDecoder("openai-responses", sink=lambda choice: lambda event: None)
    for number in numbers:
        decoder.feed({"type": "ping", "sequence_number": number})
    assert len(decoder.dump()) < 100_000


def test_b166_after_the_end_nobody_waits() -> None:
    def source() -> Iterator[bytes]:
        yield delta(content="a")
        raise AssertionError("nobody asked for more")

    with ChatStream(source(), "openai-chat") as stream:
        while not stream.snapshot().text:
            next(stream)
    response = stream.finalize(strict=False)
    assert (response.text, response.usage, response.complete) == ("a", None, False)
    assert [error.reason for error in response.errors if isinstance(error, Truncated)] == ["cancelled"]
    with pytest.raises(Truncated):
        stream.finalize()
    assert stream.finalize(strict=False) == response == stream.snapshot()
