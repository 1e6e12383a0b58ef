"""The command `harelc` (build.md section 1): options and their help; each command's work stands in a module of its own.

What a command needs is imported when it runs, so that `--help` and a build with nothing to do stay quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from . import comparing, console, formatting
from .version import VERSION

_PATHS = click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
_FILE = click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
_MACHINE = click.argument("machine", required=False, metavar="[MACHINE]")


class _Group(click.Group):
    """Lists the commands in the order in which they are written here."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 fine, 1 findings, 2 wrong use or a file that cannot be read or written.",
)
@click.version_option(VERSION, prog_name="harelc")
def app() -> None:
    """Compile `.stm` state machines to typed Python modules and diagrams.

    \b
    Start here:
      harelc new order.stm      write a machine to begin with
      harelc build              compile what [tool.harelc] in pyproject.toml names
      harelc check machines     look for mistakes only
    """


@app.command(short_help="Compile sources to modules and diagrams.")
@_PATHS
@click.option("-o", "--output", metavar="DIR", type=click.Path(path_type=Path), help="The folder for the modules.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 and name what is stale.")
@click.option("--diff", is_flag=True, help="Write nothing; exit 1 and show what would change.")
@click.option("--force", is_flag=True, help="Compile everything, changed or not.")
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), help="Compile in N processes.")
@click.option("--watch", is_flag=True, help="Go on building whenever a source changes.")
@click.option("--poll", is_flag=True, help="With --watch: look at the files at intervals (network folders).")
def build(
    paths: tuple[Path, ...],
    output: Path | None,
    check: bool,
    diff: bool,
    force: bool,
    jobs: int | None,
    watch: bool,
    poll: bool,
) -> int:
    """Compile every `.stm` under the paths: one Python module per machine, and its diagram beside it.

    Without a PATH the sources of [tool.harelc] in pyproject.toml are built. Without -o and without `output` there,
    modules go beside their sources. Only what changed is compiled, only files whose content changes are written, and a
    file without the generated header is never touched.

    \b
    Examples:
      harelc build
      harelc build machines -o src/shop/machines
      harelc build --check               in CI: is everything up to date?
      harelc build --watch
    """
    from .building import Options, build_once, build_watching, compare

    if watch and (check or diff):
        raise click.UsageError("--watch writes; it does not go with --check or --diff")
    if poll and not watch:
        raise click.UsageError("--poll goes with --watch")
    options = Options(paths, output, force, jobs)
    if watch:
        return build_watching(options, poll=poll)
    if check or diff:
        return compare(options, lists=check, shows=diff)
    return build_once(options)


@app.command(short_help="Look for mistakes; write nothing.")
@_PATHS
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "github", "sarif"]), default="text", show_default=True,
    help="How findings are printed.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Exit 1 on warnings too.")
def check(paths: tuple[Path, ...], form: str, strict: bool) -> int:
    """Parse and validate the `.stm` files under the paths, or standard input for `-`.

    \b
    Examples:
      harelc check machines
      harelc check --format github       annotations in a pull request
      harelc check - < order.stm
    """
    from .checking import check_sources

    return check_sources(paths, form, strict=strict)


@app.command("list", short_help="What a file declares.")
@_FILE
def list_(file: Path) -> int:
    """List what a file declares, one line each: kind and name.

    \b
    Example:
      harelc list machines/order.stm
    """
    from .showing import list_declarations

    return list_declarations(file)


@app.command("hash", short_help="Machine, version and digest.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path, allow_dash=True))
def hash_(files: tuple[Path, ...]) -> int:
    """Print `machine version digest`, one line for each machine of the files.

    The digest changes when the machine's meaning does: not with comments, layout or file names.

    \b
    Example:
      harelc hash machines/*.stm
    """
    from .showing import print_digests

    return print_digests(files)


@app.command(short_help="A machine as a diagram.")
@_FILE
@_MACHINE
@click.option(
    "--format", "form", type=click.Choice(["mermaid", "plantuml", "dot"]), default="mermaid", show_default=True,
    help="The diagram's language.",
)  # fmt: skip
def render(file: Path, machine: str | None, form: str) -> int:
    """Print the diagram of a machine; MACHINE may be left out where the file has one.

    \b
    Examples:
      harelc render order.stm
      harelc render order.stm order --format dot | dot -Tsvg > order.svg
    """
    from .showing import print_diagram

    return print_diagram(file, machine, form)


@app.command(short_help="Drive a machine in memory.")
@_FILE
@_MACHINE
@click.option("-e", "--event", "events", multiple=True, metavar="KIND[:JSON]", help="An event to send; repeatable.")
@click.option("--seed", metavar="JSON", default="{}", help="The context to start with.")
@click.option("--advance", metavar="SECONDS", type=float, default=0.0, help="Then let so much time pass.")
def run(file: Path, machine: str | None, events: tuple[str, ...], seed: str, advance: float) -> int:
    """Drive a machine in memory, one line per step. No handler is called; a selector takes its first branch.

    \b
    Example:
      harelc run order.stm -e 'Checkout:{"amount": 4200}' --advance 900
    """
    from .driving import drive

    return drive(file, machine, events, seed, advance)


@app.command(short_help="Write a machine to begin with.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
def new(file: Path) -> int:
    """Write a small machine that builds and runs. A file that exists is left alone.

    \b
    Example:
      harelc new machines/order.stm
    """
    from .starter import write_starter

    return write_starter(file)


@app.command(short_help="What a finding's code means.")
@click.argument("code", metavar="CODE")
def explain(code: str) -> int:
    """Explain the code of a finding, with an example and what to write instead.

    \b
    Example:
      harelc explain unknown_state
    """
    from .showing import print_explanation

    return print_explanation(code)


app.add_command(formatting.fmt)
app.add_command(comparing.diff)


_COMPLETION = "_HARELC_COMPLETE"
"""What a shell sets to ask for words to complete, as click has it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with the given arguments, or the program's; the exit status."""
    return console.run(lambda: _call(arguments))


def _call(arguments: Sequence[str] | None) -> int:
    instruction = os.environ.get(_COMPLETION)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(app, {}, "harelc", _COMPLETION, instruction)
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with app.make_context("harelc", given) as context:
            status = app.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    return status if isinstance(status, int) else console.FINE
