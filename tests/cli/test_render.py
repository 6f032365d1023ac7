"""A response as a person reads it: every kind of part has its place, and what was not reported is not shown."""

import io

import pytest

from streamaccumulator import (
    AccumulatedResponse,
    AssistantMessage,
    CitationPart,
    Diagnostic,
    FinishReason,
    InvalidToolCallJson,
    MediaPart,
    Part,
    ProviderError,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    TokenUsage,
    ToolCall,
)
from streamaccumulator.cli.render import render
from streamaccumulator.cli.terminal import Screen


def shown(*parts: Part, told_elsewhere: bool = False, **fields: object) -> list[str]:
    """The sections of a response with these parts; the rules of the headings are cut off."""
    response = AccumulatedResponse(AssistantMessage(parts), **fields)  # type: ignore[arg-type]  # the tests name fields rightly
    screen = Screen(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    text = render(response, screen, errors=not told_elsewhere)
    return [section.replace("─", "").strip().replace(" \n", "\n") for section in text.rstrip("\n").split("\n\n")]


@pytest.mark.parametrize(
    ("part", "section"),
    [
        (TextPart("Hello\n"), "text\nHello"),
        (TextPart("Hello", ({"url": "u"},)), "text (1 citation)\nHello"),
        (ReasoningPart("Hm."), "reasoning\nHm."),
        (ReasoningPart("Hm.", signature="abc"), "reasoning (signed, 3 characters)\nHm."),
        (ReasoningPart("", signature="abc"), "reasoning (signed, 3 characters)"),
        (ReasoningPart(redacted="abcd"), "reasoning, redacted by the provider (4 characters)"),
        (RefusalPart(""), "refusal"),
        (RefusalPart("No."), "refusal\nNo."),
        (ToolCall("c1", "go", {"to": ["Málaga"]}), 'tool call go (c1)\n{\n  "to": [\n    "Málaga"\n  ]\n}'),
        (ToolCall("c1", "go", {}), "tool call go (c1)\n{}"),
        (ToolCall("c1", "shell", "ls -l", "ls -l", "custom"), "tool call shell (c1)\nls -l"),
        (ToolCall("c1", "go", 10**5000, "1" + "0" * 5000), "tool call go (c1)\n1" + "0" * 5000),
        (MediaPart("image", "image/png", "aGVsbG8="), "image, image/png\n8 characters of data; --json has them"),
        (MediaPart("image", None, "https://x.example/a.png"), "image\nhttps://x.example/a.png"),
        (CitationPart({"url": "u"}), 'citation\n{"url": "u"}'),
        (ProviderPart("web_search", {"query": "q"}), 'web_search (the provider\'s own)\n{"query": "q"}'),
    ],
)
def test_every_kind_of_part_has_its_section(part: Part, section: str) -> None:
    assert shown(part)[0] == section


def test_long_opaque_data_is_shortened() -> None:
    body = shown(ProviderPart("result", {"page": "x" * 10_000}))[0]
    assert body.endswith("xxx ... (10,012 characters; --json has them)")
    assert len(body) < 600


def test_empty_parts_take_no_room() -> None:
    assert len(shown(TextPart(""), ReasoningPart(""))) == 1


def test_text_that_was_cut_to_be_cited_reads_as_one() -> None:
    parts = TextPart("It "), TextPart("rains", ({"url": "u"}, {"url": "v"})), TextPart(".")
    assert shown(*parts)[0] == "text (2 citations)\nIt rains."


def test_parts_keep_their_order() -> None:
    titles = [section.split("\n")[0] for section in shown(TextPart("a"), ToolCall("c", "go"), TextPart("b"))]
    assert titles == ["text", "tool call go (c)", "text", "empty"]


def test_the_facts_at_the_end() -> None:
    end = shown(
        finish_reason=FinishReason.TOOL_CALLS,
        raw_finish_reason="tool_use",
        usage=TokenUsage(10, 2000, None, 500, 0, 12, input_includes_cache=False),
        model="m",
        provider="p",
        id="i",
        complete=True,
        logprobs={"content": [1, 2]},
        extra={"tier": 1, "stop_details": {}},
        diagnostics=(Diagnostic("odd", "something", "byte 7", 3),),
    )[-1]
    assert end.splitlines() == [
        "whole",
        "finish   tool_calls (the provider said 'tool_use')",
        "tokens   510 in (500 read from cache), 2,000 out (12 for reasoning)",
        "model    m, p",
        "id       i",
        "logprobs of 2 tokens of content",
        "extra    tier, stop_details",
        "note     odd: something (byte 7), 3 times",
    ]


def test_zero_tokens_are_shown_and_unreported_ones_are_not() -> None:
    assert "tokens   0 out" in shown(usage=TokenUsage(output_tokens=0))[-1]
    assert "tokens" not in shown(usage=TokenUsage())[-1]
    assert "tokens" not in shown()[-1]


def test_what_went_wrong_is_listed_unless_it_is_told_elsewhere() -> None:
    errors = ProviderError("overloaded", "try\nlater"), InvalidToolCallJson("c1", None, "no name", None, "{}", "unnamed")
    dropped, end = shown(errors=errors, raw_finish_reason="stop")
    assert dropped == "tool call without a name (c1), dropped: unnamed\n{}"
    assert end.startswith("not whole\nfinish   not counted (the provider said 'stop')\nerror    the provider reported")
    assert "overloaded: try later\nerror    call 'c1'" in end
    assert "error" not in shown(errors=errors, told_elsewhere=True)[-1]
