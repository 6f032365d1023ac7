"""Writes the diagram of a run into `runtime.md`, from its table: `make diagram`."""

import re
from pathlib import Path

from streamaccumulator.runtime.turn import diagram

PAGE = Path(__file__).with_name("runtime.md")


def with_diagram(page: str) -> str:
    """The page with the diagram of the table as it is now."""
    shown = f"```mermaid\n{diagram()}```"
    return re.sub(r"```mermaid\n.*?```", lambda _: shown, page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(with_diagram(PAGE.read_text()))
