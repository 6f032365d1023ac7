"""What a line holds: one ChatStreamEvent, tagged by its `type`."""

from typing import get_args

from ...events import ChatStreamEvent

KINDS = {str(kind.__struct_config__.tag): kind for kind in get_args(ChatStreamEvent)}
"""Each event by its tag."""
