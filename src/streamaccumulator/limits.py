"""How much one stream may cost: a hostile server costs bounded memory and one `LimitExceeded`.

Every limit is on by default and generous. Hitting one is told by the event `LimitHit`, later events are ignored,
the drivers stop reading, and `finalize` raises `LimitExceeded` with everything that came before.
"""

from ._record import Record

MIB = 1024 * 1024


class Limits(Record, frozen=True):
    """One frozen object with every bound; `Limits(tool_calls=8)` changes one and keeps the others."""

    frame_bytes: int = 64 * MIB
    """Bytes of one frame. An image sent as one base64 payload is a few MiB; 64 is far above, and still fits in memory."""

    message_bytes: int = 256 * MIB
    """UTF-8 bytes of one message: text, reasoning, arguments, media and the JSON of all opaque data together."""

    arguments_bytes: int = 32 * MIB
    """UTF-8 bytes of one call's arguments. The largest seen in practice are whole files, under 1 MiB."""

    tool_calls: int = 1024
    """Calls in one message. Models make a handful; a loop that opens a call per delta reaches this soon."""

    choices: int = 128
    """Choices in one stream (`n`). Providers allow a few; each one here costs an accumulator."""

    parts: int = 4096
    """Parts in one message, calls included. Long server-tool turns reach hundreds."""

    json_depth: int = 128
    """Levels of nesting in arguments and opaque data. Deeper values break recursive consumers, JSON encoders first."""

    errors: int = 256
    """Errors of one kind kept one by one in `.errors`; later ones are counted. The first of a kind is always kept."""
