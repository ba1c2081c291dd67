"""`omnigraph shell`: a prompt for `.gq`, with history and completion."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.data.queries import write_queries
from omnigraph.cli.exit_codes import OK, exit_code
from omnigraph.cli.options import at_option
from omnigraph.cli.query_text import parameters
from omnigraph.cli.result_output import write_affected, write_result
from omnigraph.errors import InvalidInput, ParseError

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from omnigraph.api.graph import Graph

KEYWORDS = """
query match return order limit not insert update delete set where as asc desc count sum avg min max
contains starts_with search match_text fuzzy nearest bm25 rrf now date datetime true false
"""

HELP = r"""A query ends where its last brace closes; it may take several lines. Commands:
  \types              the types of the schema
  \type NAME          the properties of a type
  \at [MOMENT]        read there, and write to that branch; alone: say where
  \params [JSON]      parameters of the queries that follow; alone: show them
  \queries            stored queries
  \call NAME [JSON]   run one, a mutation too
  \explain            the plan of the last read
  \sql TEXT           SQL on one line, where omnigraph-sql is installed
  \help  \quit"""
PLUGINS = "omnigraph.shell"
"""The entry-point group through which other distributions add commands: (graph, at, text) to rows
or a number of affected rows."""
COMMANDS = ("types", "type", "at", "params", "queries", "call", "explain", "sql", "help", "quit")


@command("shell", example="omnigraph shell --at main")
@at_option
@pass_invocation
@click.pass_context
def shell(context: click.Context, invocation: Invocation, at: str) -> None:
    """Write queries at a prompt, with history and completion.

    A query ends where its last brace closes; \\help lists the commands. Input from a pipe is run
    without prompts or history: an error does not stop it, but the first one is the exit code.
    """
    graph = invocation.graph()
    graph.snapshot(at)
    session = ShellSession(graph, at, as_json=invocation.json)
    if sys.stdin.isatty() and sys.stdout.isatty():
        _converse(session)
        return
    for statement in statements(_piped_lines()):
        if not session.run(statement):
            break
    if session.code != OK:
        context.exit(session.code)


def _piped_lines() -> Iterator[str]:
    try:
        yield from (line.decode().rstrip("\r\n") for line in sys.stdin.buffer)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"cannot read stdin: {error}") from error


# --------------------------------------------------------------------------- statements


class Statements:
    r"""Puts lines together to statements: commands, which are a line, and queries.

    The lexer of the language finds the brace that ends a query, so that those in strings and
    comments are none. What cannot become a query is let through at once: running it says why.
    """

    def __init__(self) -> None:
        self._data = b""
        self._lexed = 0  # everything before has been seen, in `_depth` and `_begun`
        self._depth = 0
        self._begun = False

    def feed(self, line: str) -> Iterator[str]:
        """The statements that a further line completes."""
        if not self._begun and not self._data and line.lstrip().startswith("\\"):
            yield line.strip()
            return
        self._data += line.encode(errors="surrogatepass") + b"\n"
        while (end := self._end()) is not None:
            yield self._take(end)

    def rest(self) -> Iterator[str]:
        """What is left where the input ends, whole or not."""
        if self._data.strip():
            yield self._take(len(self._data))

    def _take(self, end: int) -> str:
        text, self._data = self._data[:end], self._data[end:]
        self._lexed, self._depth, self._begun = 0, 0, False
        return text.decode(errors="surrogatepass").strip()

    def _end(self) -> int | None:
        """Where a statement ends, if one does."""
        from omnigraph.common.lexical import SourceProblem
        from omnigraph.query.syntax.lexer import tokens

        base = self._lexed
        try:
            for token in tokens(self._data[base:]):
                self._begun = True
                self._lexed = base + (token.end_pos or 0)
                self._depth += (token.type == "_LBRACE") - (token.type == "_RBRACE")
                if token.type == "_RBRACE" and self._depth <= 0:
                    return self._lexed
        except SourceProblem as problem:
            # A string or a comment may be closed on a later line.
            opened = self._data[base + problem.span[0] :].startswith((b'"', b"/*"))
            return None if opened else len(self._data)
        if not self._begun:
            self._data = b""  # blanks and comments between statements
            return None
        return None if self._depth or self._can_begin() else len(self._data)

    def _can_begin(self) -> bool:
        """Whether a query can begin like this: it is wrong nowhere before its end."""
        from omnigraph.query import parse

        text = self._data.decode(errors="replace")
        try:
            parse(f"{text}#")  # no token: who gets so far had no complaint before
        except ParseError as error:
            return error.span[0] >= len(text.encode())
        return True


def statements(lines: Iterable[str]) -> Iterator[str]:
    """The statements of some lines, each as soon as it is whole."""
    splitter = Statements()
    for line in lines:
        yield from splitter.feed(line)
    yield from splitter.rest()


def is_whole(text: str) -> bool:
    """Whether nothing is missing from the last statement of a text."""
    splitter = Statements()
    for line in text.split("\n"):
        for _ in splitter.feed(line):
            pass
    return not any(splitter.rest())


# --------------------------------------------------------------------------- session


class ShellSession:
    """What the prompt remembers: where it reads, the parameters, the last read, an exit code."""

    def __init__(self, graph: Graph, at: str, *, as_json: bool = False) -> None:
        self.graph = graph
        self.at = at
        self.params: Any = {}
        self.code = OK
        """The exit code of the first error."""
        self._as_json = as_json
        self._last: tuple[str | None, str | None, Any] | None = None
        self._words: dict[str, list[str]] = {}

    def run(self, statement: str) -> bool:
        """Run a command or a query and show what came of it; false ends the session."""
        self._words.clear()
        try:
            if not statement.startswith("\\"):
                self._query(statement)
                return True
            verb, *rest = statement[1:].split(maxsplit=1) or ("",)
            if verb in ("q", "quit", "exit"):
                return False
            self._command(verb, *rest)
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the session goes on
            output.write_error(error, as_json=self._as_json)
            self.code = self.code or exit_code(error)
        return True

    def _query(self, text: str) -> None:
        from omnigraph.query import choose_query
        from omnigraph.query.syntax.tree import MutationTree

        _, query = choose_query(text)
        self._run(text, None, self.params, isinstance(query.body, MutationTree))

    def _call(self, rest: str) -> None:
        name, _, given = rest.partition(" ")
        stored = self.graph.stored_query(name, self.at)
        params = parameters(given) if given.strip() else self.params
        self._run(None, name, params, stored.kind == "mutation")

    def _run(self, text: str | None, name: str | None, params: Any, changes: bool) -> None:  # noqa: ANN401
        if changes:
            result = self.graph.mutate(text, name, params, branch=self.at)
            write_affected(result, as_json=self._as_json)
            return
        self._last = (text, name, params)
        rows = self.graph.query(text, name, params, self.at)
        write_result(rows, "json" if self._as_json else "table")

    def _command(self, verb: str, rest: str = "") -> None:
        match verb:
            case "types":
                self._show_types()
            case "type":
                self._show_type(rest)
            case "at":
                if rest:
                    self.graph.snapshot(rest)
                    self.at = rest
                output.write_line(self.at)
            case "params":
                self.params = _object(rest) if rest else self.params
                output.write_line(_json(self.params))
            case "queries":
                write_queries(self.graph.queries(self.at))
            case "call":
                self._call(rest)
            case "explain":
                if self._last is None:
                    raise InvalidInput("there is no read to explain yet", hint="Run a query first.")
                output.write_line(self.graph.explain(*self._last, self.at))
            case "help":
                output.write_line(HELP)
            case _:
                self._plugged_in(verb, rest)

    def _plugged_in(self, verb: str, text: str) -> None:
        from importlib.metadata import entry_points

        for plugin in entry_points(group=PLUGINS, name=verb):
            result = plugin.load()(self.graph, self.at, text)
            if isinstance(result, int):
                output.write_line(f"{output.counted(result, 'row')} affected.")
            else:
                write_result(result, "json" if self._as_json else "table")
            return
        raise InvalidInput(rf"unknown command \{verb}", hint=r"\help lists the commands.")

    def _show_types(self) -> None:
        types = self.graph.snapshot(self.at).types()
        output.write_table(
            ["type", "kind", "from", "to"],
            [(t.name, t.kind, getattr(t, "src", None), getattr(t, "dst", None)) for t in types],
        )

    def _show_type(self, name: str) -> None:
        type_ = self.graph.snapshot(self.at).find_type(name)
        output.write_table(["property", "type"], [(p.name, str(p.type)) for p in type_.properties])

    # ------------------------------------------------------------------ completion

    def completions(self, before: str) -> Sequence[str]:
        """What the word at the end of a text may become."""
        line = before.rpartition("\n")[2].lstrip()
        if not line.startswith("\\"):
            return self._known("words")
        verb, space, _ = line.partition(" ")
        if not space:
            return [f"\\{name}" for name in COMMANDS]
        return self._known(verb[1:])

    def _known(self, what: str) -> list[str]:
        """Names of one kind, read once between two statements and not at every key."""
        if what not in self._words:
            try:
                self._words[what] = sorted(set(self._names(what)))
            except Exception:  # noqa: BLE001 - a prompt without completion is still a prompt
                return []
        return self._words[what]

    def _names(self, what: str) -> Iterator[str]:
        match what:
            case "type":
                yield from (t.name for t in self.graph.snapshot(self.at).types())
            case "at":
                yield from (branch.name for branch in self.graph.branches())
            case "call":
                yield from (query.name for query in self.graph.queries(self.at))
            case "words":
                yield from KEYWORDS.split()
                for type_ in self.graph.snapshot(self.at).types():
                    yield type_.name
                    yield from (p.name for p in type_.properties)
                    if type_.kind == "edge":  # as traversals write it
                        yield type_.name[0].lower() + type_.name[1:]


def _object(text: str) -> Any:  # noqa: ANN401
    values = parameters(text)
    if not isinstance(values, dict):
        raise InvalidInput(
            "parameters must be a JSON object", hint="""Write them as {"name": "Ada"}."""
        )
    return values


def _json(value: Any) -> str:  # noqa: ANN401
    import json

    return json.dumps(value, ensure_ascii=False)


# --------------------------------------------------------------------------- terminal


def _converse(session: ShellSession) -> None:
    """Ask for statements until the end of input; Ctrl-C gives up what is being written or run."""
    prompt = _prompt(session)
    output.write_line(rf"{session.graph.uri} at {session.at}; \help lists the commands.")
    while True:
        try:
            text = prompt.prompt(f"{session.at}> ")
            for statement in statements(text.split("\n")):
                if not session.run(statement):
                    return
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _prompt(session: ShellSession) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion, FuzzyWordCompleter
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    class Names(Completer):
        def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
            words = list(session.completions(document.text_before_cursor))
            is_command = words[:1] and words[0].startswith("\\")
            # A command's name begins with a backslash, other words are letters and digits.
            found = FuzzyWordCompleter(words, WORD=bool(is_command))
            yield from found.get_completions(document, event)

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    path = history_file()
    return PromptSession(
        history=FileHistory(str(path)) if path else InMemoryHistory(),
        completer=Names(),
        key_bindings=keys,
        multiline=True,
    )


def history_file() -> Path | None:
    """Where statements are remembered, readable by their writer alone; none if nowhere.

    `$XDG_STATE_HOME/omnigraph/history`, or `~/.omnigraph_history` where that is not set.
    """
    state = os.environ.get("XDG_STATE_HOME")
    path = Path(state, "omnigraph", "history") if state else Path("~/.omnigraph_history")
    try:
        path = path.expanduser()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except (OSError, RuntimeError):
        return None
    return path if os.access(path, os.W_OK) else None
