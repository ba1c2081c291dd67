"""`omnigraph shell`: an interactive prompt for `.gq`, with history and completion."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.query import MOMENT_HELP, parameters, write_result
from omnigraph.errors import OmniGraphError

if TYPE_CHECKING:
    from omnigraph.graph import Graph

_KEYWORDS = (
    "query match return order limit not insert update delete set where as asc desc count sum avg "
    "min max contains starts_with search match_text fuzzy nearest bm25 rrf now date datetime"
)

HELP = r"""Write a query and end it with an empty line; or a command:
  \types          the types of the schema
  \type NAME      the properties of a type
  \at MOMENT      read at another moment, write to another branch
  \params JSON    parameters of the queries that follow
  \explain        show the plan of the last query
  \queries        stored queries;  \call NAME runs one
  \help  \quit"""

_MUTATION = re.compile(r"\{\s*(insert|update|delete)\b")


@command("shell", example="omnigraph shell --at main")
@click.option("--at", metavar="MOMENT", default="main", show_default=True, help=MOMENT_HELP)
@pass_invocation
def shell(invocation: Invocation, at: str) -> None:
    """Write queries at a prompt, with history and completion.

    Piped input is run line by line without prompts.
    """
    session = Session(invocation.graph(), at)
    lines = _prompted(session) if sys.stdin.isatty() else (line.rstrip("\n") for line in sys.stdin)
    for text in statements(lines):
        if not session.run(text):
            break


def statements(lines: Iterator[str]) -> Iterator[str]:
    r"""Lines put together: a command is one line, a query ends when its braces are closed."""
    waiting: list[str] = []
    for line in lines:
        if not waiting and (not line.strip() or line.lstrip().startswith("\\")):
            if line.strip():
                yield line.strip()
            continue
        waiting.append(line)
        text = "\n".join(waiting)
        if not line.strip() or (text.count("{") and text.count("{") <= text.count("}")):
            yield text
            waiting = []
    if waiting:
        yield "\n".join(waiting)


class Session:
    """What the prompt remembers: where it reads, the parameters, the last query."""

    def __init__(self, graph: Graph, at: str) -> None:
        self.graph = graph
        self.at = at
        self.params: Any = {}
        self._last: str | None = None

    def run(self, text: str) -> bool:
        """Run a command or a query and show what came of it; false ends the session."""
        try:
            if text.startswith("\\"):
                return self._command(*text[1:].split(maxsplit=1))
            self._last = text
            if _MUTATION.search(text):
                result = self.graph.mutate(text, params=self.params, branch=self.at)
                output.write_line(
                    f"Affected {output.counted(result.affected_nodes, 'node')} and "
                    f"{output.counted(result.affected_edges, 'edge')}."
                )
            else:
                write_result(self.graph.query(text, params=self.params, at=self.at), "table")
        except OmniGraphError as error:
            output.write_error(error, as_json=False)
        return True

    def _command(self, verb: str = "", rest: str = "") -> bool:
        match verb:
            case "q" | "quit" | "exit":
                return False
            case "types":
                types = self.graph.snapshot(self.at).types()
                output.write_table(["type", "kind"], [(t.name, t.kind) for t in types])
            case "type":
                found = self.graph.snapshot(self.at).find_type(rest)
                output.write_table(
                    ["property", "type"], [(p.name, str(p.type)) for p in found.properties]
                )
            case "at":
                self.graph.snapshot(rest)
                self.at = rest
            case "params":
                self.params = parameters(rest or "{}")
            case "explain" if self._last:
                output.write_line(self.graph.explain(self._last, params=self.params, at=self.at))
            case "queries":
                output.write_table(
                    ["name", "kind"], [(q.name, q.kind) for q in self.graph.queries(self.at)]
                )
            case "call":
                write_result(self.graph.query(None, rest, self.params, self.at), "table")
            case _:
                output.write_line(HELP)
        return True

    def words(self) -> list[str]:
        """What a prompt can complete: keywords, types, edges as queries write them, properties."""
        types = self.graph.snapshot(self.at).types()
        names = {t.name for t in types} | {t.name[0].lower() + t.name[1:] for t in types}
        properties = {p.name for t in types for p in t.properties}
        return sorted({*_KEYWORDS.split(), *names, *properties})


def _prompted(session: Session) -> Iterator[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import FuzzyWordCompleter
    from prompt_toolkit.history import FileHistory

    history = Path.home() / ".omnigraph_history"
    prompt: PromptSession[str] = PromptSession(
        history=FileHistory(str(history)), completer=FuzzyWordCompleter(session.words)
    )
    output.write_line(rf"{session.graph.uri} at {session.at}; \help says what there is.")
    while True:
        try:
            yield prompt.prompt(f"{session.at}> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
