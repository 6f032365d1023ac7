"""Our own events, a JSON object a line, as `streamacc events` prints them: a stream that was read once, read again."""

from .. import Protocol
from .decoder import EventsDecoder

PROTOCOL = Protocol("events", EventsDecoder)
