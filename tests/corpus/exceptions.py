"""Streams whose expected message in the manifest we do not agree with, field by field, each with the reason.

One rule covers most: a call that was cut by a bound is *no call* and an `InvalidToolCallJson`, whatever an SDK
makes of it. The manifest marks such calls with `arguments: null`; `CUT_CALLS` lists those whose blank text was cut.
The corpus test fails for an entry that is no longer needed.
"""

EXCEPTIONS: dict[tuple[str, str], str] = {
    ("anthropic-messages/ai--spliced-message-start-2efeb8.sse", "tool_calls"): (
        "two messages in one stream: the SDK writes the second call's fragments into the first one's; the first call never "
        "ended and is cut, the second is whole"
    ),
    ("anthropic-messages/ai--spliced-message-start-2efeb8.sse", "reasoning_parts"): (
        "for the same reason the SDK joins the reasoning of both messages into one block with one signature"
    ),
    ("anthropic-messages/anthropic-sdk-python--incomplete-partial-json-response-51fb27.sse", "tool_calls"): (
        "cut by max_tokens inside a string; the SDK closes the JSON itself and shows a call the model never finished"
    ),
    ("anthropic-messages/rig--redacted-thinking-streaming-a6cdf4.sse", "other_items"): (
        "the manifest lists redacted thinking among items it does not model; here it is a ReasoningPart"
    ),
    ("openai-responses/ai--openai-shell-container-1-83b724.sse", "text"): (
        "the fixture's deltas were shortened, its final object was not; what was streamed counts, and the disagreement is told"
    ),
    ("gemini/pydantic-ai--test-native-output-with-builtin-tools-stream-82f21d.sse", "usage_raw"): (
        "the last usage object leaves out a count that the one before had; counts are running totals, and absent erases nothing"
    ),
    ("bedrock-converse/pydantic-ai--test-bedrock-model-code-execution-tool-stream-aac717.eventstream", "tool_calls"): (
        "the first call has the type server_tool_use and its result follows: the provider ran it, so it is kept as its block"
    ),
}
for _file in (
    "dd-trace-py--amazon-invoke-stream-4ae427",
    "dd-trace-py--meta-invoke-stream-e7e373",
    "opentelemetry-python-contrib--test-invoke-model-with-response-stream-handles-stream-error-6c53b9",
    "opentelemetry-python-contrib--test-invoke-model-with-response-stream-no-content-amazon-titan-1b047d",
):
    EXCEPTIONS[f"other/{_file}.eventstream", "usage_raw"] = (
        "Titan and Llama put their counts beside the text; the manifest looks for a usage object alone"
    )

UNREAD = {
    "other/dd-trace-py--agent-invoke-db886a.eventstream": (
        "an agent's answer with the traces of its run, as text and not as a model's stream: no protocol, and told so"
    ),
}
"""Streams without an expectation that are no message, each with the reason."""
