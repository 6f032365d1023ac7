"""Known faults of other libraries: token counts that come late, twice, in pieces or as null."""

from typing import Any

from streamaccumulator import accumulate, parse_response

from ..wire import anthropic, chat, delta, finish, read, sse
from .shapes import END, counts


def used(*usages: dict[str, Any]) -> bytes:
    """A stream with these usages, one a chunk, after its reason."""
    return delta(content="a") + finish("stop") + b"".join([chat(usage=usage) for usage in usages])


def test_b092_usage_after_the_end_survives_an_empty_chunk() -> None:
    late = sse({"id": "x1", "choices": [], "usage": {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}})
    blanks: list[dict[str, Any]] = [{}, {"usage": None}, {"usage": {}}]
    for empty in blanks:
        response = accumulate(delta(content="a") + finish("stop") + late + sse({"id": "x1", "choices": [], **empty}))
        assert (counts(response), response.text) == ((2, 1, 3), "a")


def test_b093_totals_of_start_and_end_are_not_added() -> None:
    first = {"input_tokens": 20, "cache_read_input_tokens": 5, "output_tokens": 1}
    response = read(
        anthropic("message_start", message={"id": "m", "role": "assistant", "content": [], "usage": first}),
        anthropic("message_delta", delta={"stop_reason": "end_turn"}, usage={**first, "output_tokens": 9}),
        END,
        protocol="anthropic-messages",
    )
    usage = response.usage
    assert usage is not None
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens, usage.input_total) == (20, 5, 9, 25)


def test_b095_running_totals_in_each_chunk_are_not_added() -> None:
    def total(output: int) -> dict[str, int]:
        return {"prompt_tokens": 10, "completion_tokens": output, "total_tokens": 10 + output}

    chunks = [chat({"index": 0, "delta": {"content": "."}, "finish_reason": None}, usage=total(output)) for output in (1, 2, 3)]
    last = chat({"index": 0, "delta": {}, "finish_reason": "stop"}, usage=total(3))
    response = accumulate(b"".join(chunks) + last)
    assert (response.text, counts(response)) == ("...", (10, 3, 13))


def test_b098_null_is_not_reported_and_erases_nothing() -> None:
    blank = {"prompt_tokens": None, "completion_tokens": None}
    said = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "prompt_tokens_details": {"cached_tokens": None}}
    for order in ((blank, said), (said, blank), (blank, said, blank)):
        response = accumulate(used(*order))
        assert counts(response) == (5, 2, 7)
        assert response.usage is not None
        assert response.usage.cache_read_tokens is None


def test_b099_details_and_unknown_counters_survive_a_later_usage() -> None:
    first = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10, "prompt_tokens_details": {"cached_tokens": 8, "x": 1}}
    later = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "energy": 3}
    response = accumulate(used({**first, "odd": 7}, later))
    usage = response.usage
    assert usage is not None
    assert (counts(response), usage.cache_read_tokens) == ((9, 2, 11), 8)
    assert usage.raw == {**first, **later, "odd": 7}


def test_b100_of_two_counts_the_real_one_and_the_billed_beside_it() -> None:
    billed = {"input_tokens": 3, "output_tokens": 4}
    said = {"billed_units": billed, "tokens": {"input_tokens": 60, "output_tokens": 5}}
    streamed = read(sse({"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": said}}), protocol="cohere")
    message = {"role": "assistant", "content": [{"type": "text", "text": "a"}]}
    whole = parse_response({"id": "c", "finish_reason": "COMPLETE", "message": message, "usage": said}, "cohere")
    for response in (streamed, whole):
        assert response.usage is not None
        assert (response.usage.input_tokens, response.usage.output_tokens) == (60, 5)
        assert response.usage.raw["billed_units"] == billed
