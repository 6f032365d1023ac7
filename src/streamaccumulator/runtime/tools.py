"""Functions as tools: the schema from the signature, the arguments checked and converted, every failure an answer for the model.

A tool that fails is no failure of the run: the model gets a text that says what was wrong, and may do better. What a function
gives is text as it is, parts of a message as they are, and anything else as JSON.
"""

import asyncio
import inspect
import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from contextvars import copy_context
from functools import partial, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, overload

import msgspec

from .._record import Record
from .._values import mend_deeply, mended, whole
from ..errors import StructuredOutputError
from ..messages import Part, ToolCall, ToolSpec

_NOT_NAMED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


_NAME = re.compile("[a-zA-Z0-9_.-]{1,128}")


class ToolResult(Record, frozen=True):
    """What a call came to: text or parts for the model, and whether it is an error."""

    content: str | tuple[Part, ...]
    is_error: bool = False


class Tool:
    """A function that a model may call. It stays a function: calling it calls it.

    `timeout`: seconds that a call may take; None leaves it to the policy of the run.
    """

    def __init__(self, function: Callable[..., Any], name: str | None, description: str | None, timeout: float | None) -> None:
        self.function = function
        self.timeout = timeout
        inner = _inside(function)
        called = str(name or getattr(inner, "__name__", type(inner).__name__))
        if not _NAME.fullmatch(called):
            raise ValueError(f"no provider takes {called!r} as the name of a tool: give another, by tool(name=...)")
        self._arguments = _arguments_of(function, called)
        said = description if description is not None else inspect.getdoc(inner) or ""
        self.spec = ToolSpec(called, said, _schema_of(self._arguments))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.spec.name!r})"

    async def run(self, call: ToolCall, timeout: float | None = None) -> ToolResult:
        """The result of a call, which is an error where the arguments do not fit, the function raises, or takes too long.

        `timeout`, in seconds, is for tools without one of their own. A function that is not async runs in a thread; one that takes
        too long goes on there, and its result is not heard. Cancelling passes through.
        """
        seconds = self.timeout if self.timeout is not None else timeout
        fields = self._arguments.__struct_fields__
        if call.kind == "custom" and len(fields) == 1:  # which has no JSON: its text is the argument
            call = msgspec.structs.replace(call, arguments={fields[0]: call.arguments})
        try:
            arguments = call.parse(self._arguments)
        except StructuredOutputError as fault:
            return ToolResult(f"the arguments do not fit, at {fault.path}: {fault.message}", True)
        given = {name: getattr(arguments, name) for name in fields}
        task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        try:
            async with asyncio.timeout(seconds) as scope:
                if inspect.iscoroutinefunction(self.function):
                    value = await self.function(**given)
                else:
                    value = await _in_thread(lambda: self.function(**given))
                    if inspect.isawaitable(value):
                        value = await value
            return mended(ToolResult(_content_of(value)), ToolResult)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as failure:  # whatever a tool raises is told to the model; cancelling passes
            if isinstance(failure, asyncio.CancelledError) and task is not None and task.cancelling() > before:
                raise
            if isinstance(failure, TimeoutError) and scope.expired():
                return ToolResult(f"there was no result within {seconds:g} seconds", True)
            return ToolResult(whole(f"{type(failure).__name__}: {failure}"), True)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None, timeout: float | None = None
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """A typed function, sync or async, as a Tool: `@tool`, or `@tool(name="look_up", timeout=5)`.

    Its name is the tool's, its docstring the description, its parameters the arguments: any types that msgspec knows, and what
    `ToolCall.parse` takes beside them. `Annotated[int, "how many days"]` describes one. Raises TypeError for parameters without
    a name, or of a type of which there is no JSON Schema, and ValueError for a name that is none of a tool.
    """
    if function is None:
        return lambda given: Tool(given, name, description, timeout)
    return Tool(function, name, description, timeout)


def by_name(tools: Iterable[Tool | Callable[..., Any]]) -> Mapping[str, Tool]:
    """Tools, and functions as tools, by their names. Raises ValueError if two have the same."""
    found: dict[str, Tool] = {}
    for one in tools:
        made = one if isinstance(one, Tool) else tool(one)
        if made.spec.name in found:
            raise ValueError(f"there are two tools of the name {made.spec.name!r}")
        found[made.spec.name] = made
    return found


# ---- From a signature to a struct.


def _arguments_of(function: Callable[..., Any], name: str) -> type[msgspec.Struct]:
    """A struct with a field for each parameter. What is not among them is refused, so that the model hears of it."""
    inner = _inside(function)
    hints = get_type_hints(inner if inspect.isroutine(inner) else type(inner).__call__, include_extras=True)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in _NOT_NAMED:
            raise TypeError(f"the tool {name!r} has the parameter {str(parameter)!r}, which a model cannot give by name")
        kind = _described(hints.get(parameter.name, Any))
        fields.append(
            (parameter.name, kind) if parameter.default is parameter.empty else (parameter.name, kind, _default(parameter.default))
        )
    return msgspec.defstruct(f"{name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)


def _inside(function: Callable[..., Any]) -> Callable[..., Any]:
    """What was made partial."""
    while isinstance(function, partial):
        function = function.func
    return function


def _default(value: Any) -> Any:
    """A default of a function, which may be of any kind; msgspec takes those as they are that cannot change and are JSON."""
    try:
        hash(value)
        json.dumps(msgspec.to_builtins(value), allow_nan=False)
    except (TypeError, ValueError):
        return msgspec.field(default_factory=lambda: value)
    return value


def _described(hint: Any) -> Any:
    """`Annotated[T, "text"]` as msgspec has it, wherever it stands in a type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal or not inner:
        return hint
    if origin is Annotated:
        kind, *notes = inner
        return Annotated[(_described(kind), *[msgspec.Meta(description=note) if isinstance(note, str) else note for note in notes])]
    described = tuple([_described(one) for one in inner])
    if described == inner:
        return hint
    return reduce(or_, described) if origin in (Union, UnionType) else origin[described]


def _schema_of(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of the arguments, with no more than what a model needs."""
    inner: dict[str, Any] = {}
    (own,), components = msgspec.json.schema_components(
        [arguments], ref_template="#/$defs/{name}", schema_hook=lambda kind: _schema_of_model(kind, inner)
    )
    own = components.pop(own["$ref"].removeprefix("#/$defs/"))
    components = {**components, **inner}
    schema = {"type": "object", "properties": own["properties"], "required": own["required"], "additionalProperties": False}
    return {**schema, "$defs": components} if components else schema


def _schema_of_model(kind: Any, inner: dict[str, Any]) -> dict[str, Any]:
    """Of a class that msgspec does not know, its own. Those of the models in it go to `inner`, under names of their own."""
    own = getattr(kind, "model_json_schema", None)
    if not callable(own):
        raise NotImplementedError(kind)  # what msgspec asks a hook to raise
    of = f"{kind.__module__}.{kind.__qualname__}"
    schema: dict[str, Any] = dict(own(ref_template=f"#/$defs/{of}.{{model}}"))
    inner.update({f"{of}.{name}": one for name, one in schema.pop("$defs", {}).items()})
    return schema


# ---- From a function to a result.


def _content_of(value: Any) -> str | tuple[Part, ...]:
    if isinstance(value, str):
        return value
    if isinstance(value, Part):
        return (value,)
    if isinstance(value, list | tuple) and value and all(isinstance(one, Part) for one in value):
        return tuple(value)
    try:
        return msgspec.json.encode(value, enc_hook=_encode).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(mend_deeply(msgspec.to_builtins(value, enc_hook=_encode))).decode()


def _encode(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)


async def _in_thread(function: Callable[[], Any]) -> Any:
    """What a function gives, run in a thread of its own, which nobody waits for at the end of the program."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def tell(how: Callable[[Any], None], what: Any) -> None:
        if not done.done():
            how(what)

    def work() -> None:
        how: Callable[[Any], None]
        try:
            how, what = done.set_result, context.run(function)
        except BaseException as failure:  # noqa: BLE001  # also SystemExit: it is the tool's, and no thread's
            how, what = done.set_exception, failure if isinstance(failure, Exception) else RuntimeError(repr(failure))
        try:
            loop.call_soon_threadsafe(tell, how, what)
        except RuntimeError:  # the loop was closed: nobody listens any more
            return

    context = copy_context()
    threading.Thread(target=work, name="tool", daemon=True).start()
    return await done
