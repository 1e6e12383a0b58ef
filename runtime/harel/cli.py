"""The command `harel` for operators (build.md section 1, runtime.md section 8): options and their help.

Each command's work stands in a module of its own, imported when the command runs, so that `--help` stays quick. The
runtime depends on the standard library alone, and so does this: argparse.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from . import cli_console as console
from .environment import Settings
from .execution import Status
from .version import VERSION

_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhdw]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

_EPILOG = """\
The store is taken from HAREL_STORE_URL, or from --store: sqlite:///orders.db is relative, sqlite:////var/orders.db not.
Machines are taken from HAREL_DEFINITIONS (modules, comma-separated) and HAREL_DEFINITIONS_DIR, then from what is
published in the store. The beginning of an id is enough where no other id begins so.

Exit status: 0 fine, 1 findings or not everything was done, 2 wrong use or a store that cannot be used.
"""


class _Parser(argparse.ArgumentParser):
    """One line for wrong use, and how to get help."""

    def error(self, message: str) -> NoReturn:
        raise console.Refusal(f"{message}; see {self.prog} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with the given arguments, or the program's; the exit status."""
    return console.run(lambda: _call(arguments))


def _call(arguments: Sequence[str] | None) -> int:
    parser = _parser()
    options = parser.parse_args(sys.argv[1:] if arguments is None else list(arguments))
    run: Callable[[argparse.Namespace], int] | None = options.run
    if run is None:
        parser.print_help(sys.stderr)
        return console.WRONG_USE
    return run(options)


def _settings(options: argparse.Namespace) -> Settings:
    return Settings.read().with_store(options.store, options.prefix)


# --- sources


def _validate(options: argparse.Namespace) -> int:
    from .cli_sources import validate

    return validate(options.files, as_json=options.json)


def _hash(options: argparse.Namespace) -> int:
    from .cli_sources import print_digests

    return print_digests(options.files, as_json=options.json)


def _publish(options: argparse.Namespace) -> int:
    from .cli_sources import publish

    return publish(_settings(options), options.paths, as_json=options.json)


def _schema(options: argparse.Namespace) -> int:
    from .cli_reading import print_schema

    settings = Settings.read()
    dialect, prefix = options.dialect or settings.store_backend, options.prefix or settings.prefix
    return print_schema(dialect, prefix, as_json=options.json)


# --- reading


def _list(options: argparse.Namespace) -> int:
    from .cli_reading import Selection, list_executions

    wanted = Selection(
        options.status, options.machine, options.all, options.needs_version, options.limit, options.after
    )
    return list_executions(_settings(options), wanted, as_json=options.json)


def _show(options: argparse.Namespace) -> int:
    from .cli_reading import show

    return show(_settings(options), options.id, as_json=options.json)


# --- commands


def _suspend(options: argparse.Namespace) -> int:
    from .cli_commands import suspend

    return suspend(_settings(options), options.ids, as_json=options.json)


def _resume(options: argparse.Namespace) -> int:
    from .cli_commands import resume

    return resume(_settings(options), options.ids, as_json=options.json)


def _cancel(options: argparse.Namespace) -> int:
    from .cli_commands import cancel

    return cancel(_settings(options), options.ids, options.reason, yes=options.yes, as_json=options.json)


def _terminate(options: argparse.Namespace) -> int:
    from .cli_commands import terminate

    return terminate(_settings(options), options.ids, yes=options.yes, as_json=options.json)


def _redrive(options: argparse.Namespace) -> int:
    from .cli_commands import redrive

    return redrive(_settings(options), options.id, options.path, as_json=options.json)


def _purge(options: argparse.Namespace) -> int:
    from .cli_commands import Purge, purge

    if bool(options.ids) == (options.older_than is not None):
        raise console.Refusal("name executions, or say --older-than 30d; see harel purge --help")
    if options.ids and (options.status or options.limit):
        raise console.Refusal("--status and --limit go with --older-than; see harel purge --help")
    asked = Purge(
        tuple(options.ids), options.older_than, tuple(options.status), options.archive, options.limit, options.dry_run
    )
    return purge(_settings(options), asked, yes=options.yes, as_json=options.json)


# --- the parser


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="harel",
        description="Look after the executions of state machines.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"harel {VERSION}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def command(
        name: str, run: Callable[[argparse.Namespace], int], help: str, example: str, *, store: bool = True
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name,
            help=help,
            description=f"{help[0].upper()}{help[1:]}.",
            epilog=f"example:\n  harel {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.set_defaults(run=run)
        if store:
            added.add_argument("--store", metavar="URL", help="the store, instead of HAREL_STORE_URL")
        if store or name == "schema":
            added.add_argument("--prefix", metavar="NAME", help="names the tables, instead of HAREL_PREFIX")
        added.add_argument("--json", action="store_true", help="print JSON")
        return added

    listing = command("list", _list, "list executions, by id", "list --status FAILED --machine order")
    listing.add_argument("--status", type=_status, metavar="STATUS", help=f"one of {', '.join(Status.__members__)}")
    listing.add_argument("--machine", metavar="NAME", help="only those of this machine")
    listing.add_argument("--all", action="store_true", help="regions and invoked machines too")
    listing.add_argument(
        "--needs-version", action="store_true", help="only unfinished ones whose machine version is nowhere to be had"
    )
    listing.add_argument("--limit", type=_count, default=50, metavar="N", help="at most so many (default: 50)")
    listing.add_argument("--after", metavar="ID", help="go on after this id")

    showing = command("show", _show, "show an execution with its children, timers and trace", "show order-17")
    showing.add_argument("id", metavar="ID")

    suspending = command("suspend", _suspend, "let executions and all below them rest", "suspend order-17")
    suspending.add_argument("ids", metavar="ID", nargs="+")

    resuming = command("resume", _resume, "let suspended executions go on", "resume order-17")
    resuming.add_argument("ids", metavar="ID", nargs="+")

    cancelling = command(
        "cancel", _cancel, "end executions by their `on Cancel`, or where they stand", "cancel order-17 --reason fraud"
    )
    cancelling.add_argument("ids", metavar="ID", nargs="+")
    cancelling.add_argument("--reason", metavar="TEXT", help="what the machine reads as `event.reason`")
    _asks(cancelling)

    terminating = command(
        "terminate", _terminate, "end executions where they stand, without handlers", "terminate order-17 --yes"
    )
    terminating.add_argument("ids", metavar="ID", nargs="+")
    _asks(terminating)

    redriving = command(
        "redrive", _redrive, "put a FAILED execution on a leaf state and go on", "redrive order-17 Fulfilling.Picking"
    )
    redriving.add_argument("id", metavar="ID")
    redriving.add_argument("path", metavar="STATE", help="the leaf's path, such as Fulfilling.Picking")

    purging = command(
        "purge",
        _purge,
        "delete finished executions with all below them",
        "purge --older-than 30d --archive ended.jsonl --dry-run",
    )
    purging.add_argument("ids", metavar="ID", nargs="*", help="these, however long ago they ended")
    purging.add_argument(
        "--older-than", type=_duration, metavar="TIME", help="all that ended so long ago: 45s, 15m, 12h, 7d, 2w"
    )
    purging.add_argument(
        "--status", type=_status, action="append", default=[], metavar="STATUS", help="only DONE, or only CANCELLED"
    )
    purging.add_argument("--archive", metavar="FILE", help="append each to this file first, as a line of JSON")
    purging.add_argument("--limit", type=_count, metavar="N", help="at most so many")
    purging.add_argument("--dry-run", action="store_true", help="only say what would be deleted")
    _asks(purging)

    publishing = command(
        "publish", _publish, "keep machine versions in the store, for every process to run", "publish machines/"
    )
    publishing.add_argument(
        "paths", metavar="PATH", nargs="*", help="sources or folders (default: the machines of HAREL_DEFINITIONS)"
    )

    validating = command("validate", _validate, "look for mistakes in sources", "validate order.stm", store=False)
    validating.add_argument("files", metavar="FILE", nargs="+", help="a .stm file, or - for standard input")

    hashing = command("hash", _hash, "print machine, version and digest", "hash order.stm", store=False)
    hashing.add_argument("files", metavar="FILE", nargs="+", help="a .stm file, or - for standard input")

    schema = command("schema", _schema, "print the SQL that creates a store's tables", "schema sqlite", store=False)
    schema.add_argument("dialect", metavar="DIALECT", nargs="?", help="sqlite, … (default: HAREL_STORE_BACKEND)")
    return parser


def _asks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _status(text: str) -> Status:
    try:
        return Status[text.upper()]
    except KeyError:
        known = ", ".join(Status.__members__)
        raise argparse.ArgumentTypeError(f"{text!r} is no status; it is one of {known}") from None


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, at least 1")
    return int(text)


def _duration(text: str) -> float:
    found = _DURATION.fullmatch(text.strip())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time; write seconds, or 45s, 15m, 12h, 7d, 2w")
    return float(found[1]) * _UNITS[found[2]]
