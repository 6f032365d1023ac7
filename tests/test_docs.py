"""The documentation says what is so: its Python runs, and every diagnostic has its line."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_every_diagnostic_has_a_line() -> None:
    source = "".join([path.read_text() for path in (ROOT / "src").rglob("*.py")])
    emitted = set(re.findall(r'(?:Notice|_note|notice|_alone|_disagree)\(\s*(?:emit, )?"([a-z_0-9]+)"', source)) | {
        "resent_text_differs"
    }
    documented = set(re.findall(r"`([a-z_0-9]+)`", (ROOT / "docs/reference.md").read_text()))
    assert len(emitted) > 20
    assert emitted <= documented


@pytest.mark.parametrize("page", ["README.md", "docs/reference.md", "docs/live.md", "docs/requests.md", "docs/runtime.md"])
def test_the_python_of_the_docs_runs(page: str) -> None:
    capture = (ROOT / "tests/captures/openai-chat/text.sse").read_bytes()
    claude = (ROOT / "tests/captures/anthropic-messages/text.sse").read_bytes()
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert snippets
    for snippet in snippets:
        source = [claude] if "anthropic-messages" in snippet else [capture]
        exec(compile(snippet, page, "exec"), {"http_response": source, "data": capture, "run": print})


def test_links_inside_the_repository_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
