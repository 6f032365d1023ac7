"""The house: which room may import which, what an import loads, and that the face is complete."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import streamaccumulator
from streamaccumulator import runtime

PACKAGE = Path(streamaccumulator.__file__).parent
FOUNDATION = {"_record", "_values", "_json", "_log", "messages", "events", "response", "errors", "limits"}
"""Values and helpers without a place in the flow of data."""

ARROWS: dict[str, set[str]] = {
    "_record": set(),
    "_values": set(),
    "partial_json": {"_record", "_values", "errors"},
    "_json": {"_values", "errors", "partial_json"},
    "_log": set(),
    "limits": {"_record"},
    "messages": {"_values", "_record", "_typed"},
    "events": {"_record", "messages"},
    "errors": {"_record", "response"},  # response for types only
    "response": {"_otel", "_typed", "timings", "_values", "_record", "errors", "messages"},
    "framing": {"_record", "events", "errors", "limits"},
    "protocols": {"framing", "_dump", *FOUNDATION},
    "_conversation": {"protocols", *FOUNDATION},
    "requests": {"_conversation", "protocols", *FOUNDATION},
    "_dump": {"errors"},
    "_parts": {"_values", "_json", "errors", "messages"},
    "_live": {"_parts", "_values", "errors", "partial_json"},
    "_building": {"_parts", *FOUNDATION},
    "accumulator": {"_building", "_live", "_parts", "_dump", *FOUNDATION},
    "_words": {"protocols", "framing", "_json", "errors"},
    "think_tags": {"_record", "events"},
    "timings": {"_record", "events", "messages"},
    "_typed": {"_json", "errors", "messages", "response"},
    "_views": {"_typed"},
    "_growing": {"_views", "accumulator", "events", "partial_json"},
    "_otel": {"messages", "response", "timings"},  # the last two for types only
    "_sinks": {"protocols", "think_tags", "events"},
    "_stream_state": {"protocols", "think_tags", "events", "limits"},
    "_stream_decoder": {"_stream_state", "_sinks", "think_tags", "protocols", "framing", "_dump", "_words", *FOUNDATION},
    "_sources": {"_log"},
    "_fold": {"timings", "_sinks", "think_tags", "_stream_decoder", "_sources", "_parts", "accumulator", "protocols", *FOUNDATION},
    "_tee": {"_sinks", "think_tags", "_fold", "_stream_decoder", "_sources", "accumulator", "protocols", *FOUNDATION},
    "_session": {"timings", "_fold", "_dump", "_stream_decoder", "_sources", "_parts", "accumulator", "protocols", *FOUNDATION},
    "stream": {
        "_growing",
        "timings",
        "think_tags",
        "_session",
        "_fold",
        "_stream_decoder",
        "_sources",
        "_live",
        "_parts",
        "accumulator",
        "protocols",
        *FOUNDATION,
    },
    "cli": {"stream", "runtime", "__init__", *FOUNDATION},
    "runtime": {"stream", "requests", "think_tags", *FOUNDATION},
    "__init__": {
        "timings",
        "think_tags",
        "stream",
        "_tee",
        "requests",
        "_stream_decoder",
        "_live",
        "_parts",
        "partial_json",
        "accumulator",
        "protocols",
        "framing",
        *FOUNDATION,
    },
}
"""For each room (a module or a folder of the package) the rooms it may import. Nothing imports `cli`, and only that `runtime`."""


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """The rooms a file imports, however it spells it."""
    inside = path.relative_to(PACKAGE).parts[:-1]
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            base = list(inside[: len(inside) - (node.level - 1)]) if node.level else []
            module = [*base, *(node.module or "").split(".")] if node.level else (node.module or "").split(".")
            names = (
                [".".join([*module, alias.name]) for alias in node.names] if node.level and not node.module else [".".join(module)]
            )
            if not node.level and module[0] != "streamaccumulator":
                continue
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "streamaccumulator"]
        for name in names:
            parts = [part for part in name.removeprefix("streamaccumulator").split(".") if part]
            is_room = bool(parts) and ((PACKAGE / parts[0]).is_dir() or (PACKAGE / f"{parts[0]}.py").exists())
            rooms.add(parts[0] if is_room else "__init__")
    return rooms - {room_of(path)}


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(PACKAGE)) for path in FILES])
def test_the_arrows(path: Path) -> None:
    assert imported_rooms(path) <= ARROWS[room_of(path)]


def test_the_arrow_test_sees_imports() -> None:
    """A guard for the test above: it must find the imports that are known to be there."""
    assert {"accumulator", "_stream_decoder", "protocols"} <= imported_rooms(PACKAGE / "stream.py")
    assert {"events", "messages"} <= imported_rooms(PACKAGE / "protocols" / "openai_chat" / "decoder.py")
    assert {"events", "limits"} <= imported_rooms(PACKAGE / "protocols" / "decoder.py")


def test_protocols_do_not_import_one_another() -> None:
    folders = {path.name for path in (PACKAGE / "protocols").iterdir() if path.is_dir() and path.name != "__pycache__"}
    for path in (PACKAGE / "protocols").rglob("*.py"):
        own, dots = path.parent.name, r"\.\." if path.parent.name in folders else r"\."
        text = path.read_text()
        assert not [name for name in folders - {own} if re.search(rf"from {dots}{name}\b", text)], path


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_loads_nothing_beyond_the_standard_library_and_msgspec() -> None:
    ours = loaded_by("import streamaccumulator") - loaded_by("import msgspec")
    assert {name.split(".")[0] for name in ours} - set(sys.stdlib_module_names) == {"streamaccumulator"}


def test_importing_loads_no_event_loop_no_logging_and_no_protocol() -> None:
    loaded = loaded_by("import streamaccumulator") - loaded_by("import msgspec")
    assert not {"asyncio", "logging", "ssl", "http", "dataclasses", "inspect"} & loaded
    assert "streamaccumulator.protocols.openai_chat" not in loaded
    assert "streamaccumulator.cli" not in loaded


def test_the_runtime_is_loaded_by_nobody_and_loads_no_client() -> None:
    assert "streamaccumulator.runtime" not in loaded_by("import streamaccumulator, streamaccumulator.cli")
    assert not {"httpx2", "httpx", "anyio"} & loaded_by("import streamaccumulator.runtime")


def test_the_runtime_names_no_provider() -> None:
    providers = set("_".join([path.name for path in (PACKAGE / "protocols").iterdir() if path.is_dir()]).split("_")) | {
        "claude",
        "google",
    }
    words = providers - {"chat", "messages", "responses", "completions", "events", "interactions", "converse", ""}
    assert {"openai", "anthropic", "gemini"} <= words
    for path in (PACKAGE / "runtime").rglob("*.py"):
        assert not set(re.findall(r"[a-z]+", path.read_text().lower())) & words, path


def test_the_face_is_complete_and_sorted() -> None:
    assert streamaccumulator.__all__ == sorted(streamaccumulator.__all__)
    rooms = {path.name.removesuffix(".py") for path in PACKAGE.iterdir()}
    public = {name for name in vars(streamaccumulator) if not name.startswith("_")}
    assert public - rooms == set(streamaccumulator.__all__)
    assert runtime.__all__ == sorted(runtime.__all__)


def test_every_public_thing_says_what_it_is() -> None:
    silent = []
    for face, name in [(one, name) for one in (streamaccumulator, runtime) for name in one.__all__]:
        thing = getattr(face, name)
        if isinstance(thing, type):
            spoken = (property, classmethod, type(test_every_public_thing_says_what_it_is))
            members = [key for key, member in vars(thing).items() if not key.startswith("_") and isinstance(member, spoken)]
            silent += [f"{name}.{key}" for key in members if not inspect.getdoc(getattr(thing, key))]
        if (isinstance(thing, type) or inspect.isfunction(thing)) and not thing.__doc__:
            silent.append(name)
    assert not silent


def test_every_public_thing_has_a_line_in_the_docs() -> None:
    root = PACKAGE.parents[1]
    text = "".join([path.read_text() for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]])
    assert not [name for name in (*streamaccumulator.__all__, *runtime.__all__) if name not in text]


def test_files_and_functions_have_the_size_of_one_purpose() -> None:
    """A file over 400 lines or a function over 40 needs a reason: it stands here."""
    reasons = {"accumulator.py": "one handler per event and their table belong together"}
    for path in FILES:
        source = path.read_text()
        if path.name not in reasons:
            assert len(source.splitlines()) <= 400, path
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                assert length <= 45, f"{path.name}: {node.name} has {length} lines"
