"""`streamacc`: its arguments, and what becomes of whatever a command raises. `cli` re-exports `main`.

A command is a function from the parsed arguments to an exit status. It may raise WrongUse, BrokenPipeError,
KeyboardInterrupt and OSError; anything else is our bug and shows its traceback.
"""

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from typing import Any

from .. import __version__
from .assemble import assemble, events
from .demo import demo
from .reading import INTERRUPTED, READER_GONE, WRONG_USE, WrongUse, tell

Command = Callable[[Namespace], int]

_DESCRIPTION = """\
Turn the stream of a chat model into one complete message, and never take a broken stream for a whole one.
"""

_EXAMPLES = """\
examples:
  streamacc demo
  streamacc assemble answer.sse
  curl -sN https://api.example.com/v1/chat/completions ... | streamacc assemble --live
  streamacc assemble --text answer.sse > answer.txt
  streamacc assemble --json answer.sse | jq '.message.content'
  curl -sN ... | streamacc events - | grep '"tool_call_'
  streamacc run "What is 2 + 2?" --base-url http://localhost:8080/v1 --model any --protocol openai-chat --tool mine:add
"""

_STATUSES = """\
exit status (what came is printed in any case, the fault is told on standard error):
  0  the model said why it stopped      5  the arguments of a tool call are no JSON
  2  wrong use, or an unreadable file   6  a part of the stream could not be read
  3  the stream was cut, or is empty    7  a limit was passed
  4  the provider reported an error     8  the stream is of no known protocol
  9  `run` was ended by its bounds    130  interrupted; what came is kept
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (by default the process's own) and return its exit status."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    run: Command | None = arguments.run
    if run is None:
        parser.print_help(sys.stderr)
        return WRONG_USE
    try:
        if sys.stdout is None:
            raise WrongUse("standard output is closed; there is nowhere to print to")
        return run(arguments)
    except WrongUse as fault:
        tell(str(fault))
        return WRONG_USE
    except BrokenPipeError:
        _silence_stdout()
        return READER_GONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as fault:  # reading has its own answer to a file that fails: this is about writing
        _silence_stdout()
        tell(f"cannot write the output: {fault.strerror or fault}")
        return WRONG_USE


def _silence_stdout() -> None:
    """Python flushes standard output once more at exit, and would complain again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="streamacc",
        description=_DESCRIPTION,
        epilog=f"{_EXAMPLES}\n{_STATUSES}",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    assembling = _command(commands, "assemble", assemble, "print the complete message of a stream")
    _add_source(assembling)
    form = assembling.add_mutually_exclusive_group()
    form.add_argument("--json", dest="form", action="store_const", const="json", help="print the whole response as JSON")
    form.add_argument("--text", dest="form", action="store_const", const="text", help="print only the visible text, as it comes")
    assembling.add_argument(
        "--live",
        action="store_true",
        help="draw message and tool calls on the terminal while they grow (in place, where rich is installed)",
    )

    _add_source(_command(commands, "events", events, "print the neutral events of a stream, one JSON object a line"))

    _add_run(_command(commands, "run", _run, "ask a model, run the tools it calls, and go round until it answers"))

    playing = _command(commands, "demo", demo, "play recorded streams as they would arrive, whole and cut (no key, no network)")
    playing.add_argument(
        "--speed", type=_speed, default=1.0, metavar="N", help="play N times as fast; 0 plays without any pause (default: 1)"
    )
    return parser


def _command(commands: Any, name: str, run: Command, what: str) -> ArgumentParser:
    """A subcommand; `commands` is what `add_subparsers` gave, which has no public type."""
    parser: ArgumentParser = commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=_STATUSES if name != "demo" else None,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def _add_source(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="a captured stream, or - for standard input (the default)"
    )
    parser.add_argument(
        "--protocol",
        default="auto",
        metavar="NAME",
        help="openai-chat, anthropic-messages, gemini, ... (a wrong name lists them all); auto, the default, finds out",
    )


def _run(arguments: Namespace) -> int:
    from .run import run  # with the event loop and all that, which the other commands do not load

    return run(arguments)


def _add_run(parser: ArgumentParser) -> None:
    parser.add_argument("question", metavar="QUESTION", help="what is asked, or - to read it from standard input")
    parser.add_argument("--base-url", required=True, metavar="URL", help="the base URL, as the provider's own SDK takes it")
    parser.add_argument("--model", required=True, metavar="NAME", help="the model's name")
    parser.add_argument("--protocol", required=True, metavar="NAME", help="openai-chat, anthropic-messages, gemini, ...")
    parser.add_argument(
        "--tool",
        action="append",
        default=[],
        metavar="MODULE:FUNCTION",
        help="a typed function that the model may call; may be repeated",
    )
    parser.add_argument("--session", metavar="FILE", help="keep the conversation in this file, and go on with it")
    parser.add_argument("--system", metavar="TEXT", help="instructions to the model")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="tokens of one answer")
    parser.add_argument("--max-iterations", type=int, default=10, metavar="N", help="answers of the model (default: 10)")
    parser.add_argument(
        "--key-from", metavar="VARIABLE", help="the environment variable with the key (default: the one the provider's SDK reads)"
    )


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 <= speed < float("inf"):
        raise ArgumentTypeError(f"{text!r} is no speed: give 0 for no pauses, 2 for twice as fast")
    return speed
