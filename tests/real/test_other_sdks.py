"""The official SDKs of the other providers on a loopback server: their stream objects and replies as sources.

Test dependencies only, by duck typing alone: the library never imports one.
"""

from typing import Any

import boto3
import cohere
import mistralai.client
import ollama
import openai
import pytest
from botocore.config import Config
from google import genai
from google.genai import types as genai_types

from streamaccumulator import AccumulatedResponse, ProviderError, accumulate, parse_response

from ..protocols.captures import Capture, captures
from ..wire import delta, finish, sse
from .server import Script, serving

HI: Any = [{"role": "user", "content": "hi"}]
"""One user message, which each SDK has a type of its own for."""


def said(response: AccumulatedResponse) -> Any:
    """What survives the SDKs' own types."""
    calls = [(call.name, call.arguments) for call in response.tool_calls]
    return response.text, response.reasoning, calls, response.raw_finish_reason


def _named(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("capture", [one for one in captures() if one.name in names], ids=lambda one: one.name)


def gemini_client(url: str) -> genai.Client:
    return genai.Client(api_key="none", http_options=genai_types.HttpOptions(base_url=url))


@_named("gemini/thoughts-then-text", "gemini/code-grounding-two-stops", "gemini-via-litellm/tools-parallel")
def test_gemini_stream_objects_are_sources(capture: Capture) -> None:
    with serving(Script([capture.data])) as url, gemini_client(url) as client:
        stream = client.models.generate_content_stream(model="gemini-3-pro", contents="hi")
        assert said(accumulate(stream)) == said(accumulate(capture.data))


@_named("gemini/thoughts-then-text", "gemini/calls-in-an-array")
def test_a_reply_of_gemini_is_a_body(capture: Capture) -> None:
    assert capture.whole is not None
    with serving(Script([capture.whole], content_type="application/json")) as url, gemini_client(url) as client:
        reply = client.models.generate_content(model="gemini-3-pro", contents="hi")
    assert said(parse_response(reply)) == said(parse_response(capture.whole))


def bedrock_client(url: str) -> Any:
    return boto3.client(
        "bedrock-runtime",
        region_name="eu-north-1",
        endpoint_url=url,
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=Config(retries={"max_attempts": 0}),
    )


@_named("bedrock-converse/reasoning-then-tools in AWS frames", "bedrock-converse/citations-and-redacted in AWS frames")
def test_the_reply_of_boto3_is_a_source(capture: Capture) -> None:
    with serving(Script([capture.data], content_type="application/vnd.amazon.eventstream")) as url:
        reply = bedrock_client(url).converse_stream(modelId="m", messages=[{"role": "user", "content": [{"text": "hi"}]}])
        assert said(accumulate(reply)) == said(accumulate(capture.data))


@_named("bedrock-converse/error-in-stream in AWS frames")
def test_an_error_that_boto3_raises_from_the_stream_is_the_providers(capture: Capture) -> None:
    with serving(Script([capture.data], content_type="application/vnd.amazon.eventstream")) as url:
        reply = bedrock_client(url).converse_stream(modelId="m", messages=[{"role": "user", "content": [{"text": "hi"}]}])
        with pytest.raises(ProviderError, match="modelStreamErrorException") as caught:
            accumulate(reply["stream"])
    assert caught.value.response is not None
    assert caught.value.response.text == "So far so g"
    assert caught.value.__cause__ is not None


def test_an_error_that_an_sdk_raises_from_the_stream_is_the_providers() -> None:
    broken = delta(content="So far") + sse({"error": {"message": "overloaded", "type": "server_error"}})
    with serving(Script([broken])) as url, openai.OpenAI(api_key="none", base_url=url, max_retries=0) as client:
        stream = client.chat.completions.create(model="m", messages=HI, stream=True)
        with pytest.raises(ProviderError, match="server_error: overloaded") as caught:
            accumulate(stream)
    assert caught.value.response is not None
    assert caught.value.response.text == "So far"


@_named("cohere/thinking-then-text", "cohere/plan-then-tools", "cohere/citations")
def test_cohere_stream_objects_are_sources(capture: Capture) -> None:
    with serving(Script([capture.data])) as url:
        client = cohere.ClientV2(api_key="none", base_url=url)
        stream = client.chat_stream(model="command-a", messages=HI)
        assert said(accumulate(stream)) == said(accumulate(capture.data))


@_named("ollama/text", "ollama/thinking-then-tools")
def test_ollama_stream_objects_are_sources(capture: Capture) -> None:
    with serving(Script([capture.data], content_type="application/x-ndjson")) as url:
        stream = ollama.Client(host=url).chat(model="qwen3", messages=HI, stream=True)
        assert said(accumulate(stream)) == said(accumulate(capture.data))


def test_mistral_stream_objects_are_sources() -> None:
    data = delta(role="assistant", content="") + delta(content="Hello") + finish("stop")
    with serving(Script([data + b"data: [DONE]\n\n"])) as url:
        client = mistralai.client.Mistral(api_key="none", server_url=url)
        stream = client.chat.stream(model="mistral-small", messages=HI)
        assert said(accumulate(stream)) == said(accumulate(data))


@_named("openai-responses/reasoning-text-tools", "openai-responses-via-litellm/tools-parallel")
def test_responses_stream_objects_are_sources(capture: Capture) -> None:
    with serving(Script([capture.data])) as url, openai.OpenAI(api_key="none", base_url=url, max_retries=0) as client:
        assert said(accumulate(client.responses.create(model="m", input="hi", stream=True))) == said(accumulate(capture.data))
