"""What tests share: one thread for PyTorch; the visit counts of the rule tests, a table when the tests are over."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

TABLES: dict[str, Counter[str]] = {}  # title -> counts, of this process


@pytest.fixture
def one_thread() -> Iterator[None]:
    """PyTorch keeps to one thread, since sums depend on it, and has as many as before when the test is over."""
    import torch  # which the tests of the rules do without

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def report_counts(request: pytest.FixtureRequest):
    """A function that adds counts under a title, to be printed in the summary at the end of the run."""

    def report(title: str, counts: Counter[str]) -> None:
        TABLES.setdefault(title, Counter()).update(counts)

    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where processes share the tests, the longest come first, so that all end at about the same time."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: "referee_agreement" not in item.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process of pytest-xdist hands its tables to the one that prints."""
    workeroutput = getattr(session.config, "workeroutput", None)
    if workeroutput is not None:
        workeroutput["tables"] = json.dumps(TABLES)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error: object) -> None:
    tables = json.loads(getattr(node, "workeroutput", {}).get("tables", "{}"))
    for title, counts in tables.items():
        TABLES.setdefault(title, Counter()).update(counts)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for title, counts in sorted(TABLES.items()):
        terminalreporter.section(title)
        for name, count in sorted(counts.items()):
            terminalreporter.write_line(f"{count:>12,}  {name}")
