"""Known faults of other libraries: blocks, items and candidates of the protocols beside chat."""

import pytest

from streamaccumulator import FinishReason, TextPart, ToolCall

from ..wire import anthropic, codes, read, sse
from .shapes import MESSAGE, block, calls, converse, counts, gemini, message, ollama, read_gemini, responses, text_delta


def test_b016_what_stands_beside_the_stop_reason_is_kept() -> None:
    details = {"type": "refusal", "category": "z"}
    said = {"stop_reason": "refusal", "stop_sequence": None, "stop_details": details}
    response = read(
        MESSAGE,
        anthropic("message_delta", delta=said, usage={"output_tokens": 2}),
        protocol="anthropic-messages",
    )
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.CONTENT_FILTER, "refusal")
    assert response.extra == {"stop_details": details}


def test_b020_a_citation_belongs_to_its_text() -> None:
    citation = {"type": "char_location", "cited_text": "f", "document_index": 0}
    response = message(block(0, text_delta("fact"), {"type": "citations_delta", "citation": citation}, type="text", text=""))
    assert response.message.content == (TextPart("fact", (citation,)),)


def test_b021_grounding_on_a_chunk_without_parts() -> None:
    grounding = {"webSearchQueries": ["g"]}
    response = read_gemini(
        gemini({"text": "gold"}),
        sse({"candidates": [{"finishReason": "STOP", "groundingMetadata": grounding}]}),
        sse({"usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}),
    )
    assert (response.text, counts(response), response.complete) == ("gold", (1, 1, 2), True)
    assert response.extra["groundingMetadata"] == grounding


def test_b022_a_text_block_may_start_without_text() -> None:
    assert message(block(0, text_delta("a"), type="text")).text == "a"


def test_b023_text_in_the_start_of_a_block_counts() -> None:
    response = message(block(0, text_delta(" there"), type="text", text="Hi"))
    assert (response.text, response.message.content) == ("Hi there", (TextPart("Hi there"),))
    assert response.diagnostics == ()
    repeated = message(block(0, text_delta("Hi"), text_delta("Hi"), type="text", text="Hi"))
    assert (repeated.text, codes(repeated)) == ("HiHiHi", {"repeated_text"})


def test_b024_a_delta_for_a_block_that_never_started_opens_it() -> None:
    response = message(anthropic("content_block_delta", index=1, delta=text_delta("a")))
    assert (response.text, response.complete, codes(response)) == ("a", True, {"block_not_started"})


def test_b027_text_blocks_without_a_start_go_by_their_index() -> None:
    response = converse(
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "a"}}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "b"}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t1", "name": "f"}}}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "{}"}}}},
        {"contentBlockStop": {"contentBlockIndex": 1}},
        {"messageStop": {"stopReason": "tool_use"}},
    )
    assert response.message.content == (TextPart("ab"), ToolCall("t1", "f", {}, "{}"))
    assert response.complete


@pytest.mark.parametrize("output", [{"output": []}, {"output": None}, {}], ids=["empty", "null", "absent"])
def test_b028_an_empty_output_at_the_end_erases_nothing(output: dict[str, object]) -> None:
    item = {"type": "message", "id": "m1", "role": "assistant"}
    whole = {**item, "content": [{"type": "output_text", "text": "ok"}]}
    response = read(
        responses("created", response={"id": "r1", "status": "in_progress", "output": []}),
        responses("output_item.added", output_index=0, item={**item, "content": []}),
        responses("output_text.delta", item_id="m1", output_index=0, content_index=0, delta="ok"),
        responses("output_item.done", output_index=0, item=whole),
        responses("completed", response={"id": "r1", "status": "completed", **output}),
        protocol="openai-responses",
    )
    assert (response.text, response.complete, response.diagnostics) == ("ok", True, ())


def test_b032_a_line_with_thinking_and_empty_content() -> None:
    response = ollama(
        {"message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": False},
        {"message": {"role": "assistant", "content": "yes"}, "done": False},
        {
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 3,
            "eval_count": 2,
        },
    )
    assert (response.reasoning, response.text, response.raw_finish_reason) == ("hm", "yes", "stop")
    assert counts(response)[:2] == (3, 2)


@pytest.mark.parametrize("content", [{}, {"content": {}}, {"content": {"role": "model"}}], ids=["none", "empty", "no parts"])
def test_b033_a_candidate_without_content_is_no_success(content: dict[str, object]) -> None:
    usage = {"promptTokenCount": 4, "totalTokenCount": 4}
    response = read_gemini(sse({"candidates": [{**content, "finishReason": "SAFETY", "index": 0}], "usageMetadata": usage}))
    assert (response.text, response.message.content) == ("", ())
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.CONTENT_FILTER, "SAFETY")
    assert counts(response) == (4, None, 4)


def test_b169_an_empty_text_block_before_a_call_is_no_text() -> None:
    tool = block(1, type="tool_use", id="t1", name="f", input={})
    response = message(block(0, type="text", text=""), tool, stop="tool_use")
    assert (response.text, calls(response)) == ("", [("f", {})])
    assert response.message.content == response.tool_calls
