"""``python -m bench``: list, doctor, prepare, run, runs, show, compare, replicate, submit, calibrate, hosts, ...

Errors are one line on stderr that ends with a remedy; exit status 1 for a failure, 2 for bad usage. With
``--debug`` the traceback is shown as well.
"""

import codecs
import contextlib
import errno
import io
import os
import re
import sys
import traceback
from typing import Any, NoReturn

import click

from bench.apps import threads
from bench.errors import BenchError, without_package
from bench.text import one_line, plainly

PARAMETER = click.option(
    "-p",
    "parameters",
    multiple=True,
    nargs=2,
    metavar="NAME VALUE",
    help="Set a notebook's parameter; repeatable.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Measure remote procedure calls, and report how far the numbers can be trusted."""
    context.obj = debug


def echo(text: str) -> None:
    """Write a line to the output, in its own letters: click would write others than an ASCII terminal shows."""
    click.echo(text, file=sys.stdout)


@cli.command("list")
@click.option("--missing", is_flag=True, help="Only how to install what is missing.")
@click.option("--scenarios", is_flag=True, help="Only the named scenarios of notebooks, and what each shows.")
def list_(missing: bool, scenarios: bool) -> None:
    """List the systems with transports and options, and how to install missing ones; or the scenarios for run."""
    from bench.apps import scenarios as named
    from bench.apps.listing import missing_text, systems_text

    echo(named.listed() if scenarios else missing_text() if missing else systems_text())


@cli.command()
def doctor() -> None:
    """Examine this machine: clock, noise, placement, and what will disturb a measurement."""
    from bench.apps.doctor import findings

    for finding in findings():
        echo(str(finding))


@cli.command()
@click.argument("names", nargs=-1, metavar="[ENVIRONMENT|FILE]...")
@click.option("--anew", is_flag=True, help="Make an environment again, even if it is there.")
def prepare(names: tuple[str, ...], anew: bool) -> None:
    """Make ahead of time what a measurement would make first.

    ENVIRONMENT is the Python environment of a router (all of them, if nothing is named), FILE that of a service
    (docs/services.md), which is built.
    """
    from bench import systems
    from bench.installation import environments
    from bench.plan import parameters as params

    files = [name for name in names if name.endswith(systems.SERVICE)]
    others = [name for name in names if name not in files]
    if others or not files:
        for name in params.names(others or "all", "environment", environments.names()):
            folder = environments.ensure(name, echo, anew)
            echo(f"{name}: {folder}")
    for file in files:
        systems.prepare(systems.adopt(file))
        echo(f"{file}: ready")


@cli.command()
@click.argument("notebooks", nargs=-1, metavar="NOTEBOOK[.SCENARIO]...")
@click.option("--all", "every", is_flag=True, help="Run every notebook.")
@click.option("--yes", is_flag=True, help="Agree to a plan that takes more than an hour.")
@PARAMETER
def run(notebooks: tuple[str, ...], every: bool, yes: bool, parameters: tuple[tuple[str, str], ...]) -> None:
    """Run notebooks with papermill, into data/executed and figures.

    NOTEBOOK.SCENARIO, or the path of its file papermill_params/NOTEBOOK.SCENARIO.yaml, runs the notebook with the
    parameters in the file; -p overrides them; notebook and figure are written under the scenario's name.
    All of them: python -m bench list --scenarios.
    """
    from bench.apps.unattended import execute

    execute(list(notebooks), every, dict(parameters), echo, yes)


@cli.command()
def runs() -> None:
    """List your runs."""
    from bench import paths
    from bench.run import query

    frame = query.runs()
    echo(frame.to_string() if len(frame) else f"no runs in {paths.shown(paths.runs())} yet: run a notebook")


@cli.command()
@click.argument("run", default="latest")
@click.option("--unverified", is_flag=True, help="Show a run whose files were altered too; its card then says INVALID.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
def show(run: str, unverified: bool, as_json: bool) -> None:
    """Show a run's plan, checks and results.

    RUN is an id or a part of it, "latest", reference/NOTEBOOK, a folder that keep made, or a file that submit wrote.
    """
    from bench.run import stored

    if stored.is_file(run):  # what ``submit`` wrote
        from bench.apps.classroom import opening

        echo(opening.as_json(run) if as_json else opening.text(run))
        return
    from bench.apps import listing

    echo((listing.run_json if as_json else listing.run_text)(run, not unverified))


@cli.command()
@click.argument("system")
@click.argument("transport", default="ipc")
@click.option(
    "--objective", default="p99<=5ms", show_default=True, help="The SLO: a quantile of the response time and its bound."
)
@click.option("--clients", default=4, show_default=True, help="Connections (one process each) that share the schedule.")
@click.option("-o", "--options", default="", help='The system\'s options, for example "{writes: 2}".')
@click.option(
    "--window-s", default=1.0, show_default=True, help="Seconds per probe; longer where the quantile needs it."
)
@click.option("--first", default=200.0, show_default=True, help="Requests per second of the first probe.")
@click.option("--hosts", default="", help="Other machines: the address of a scheduler, or a YAML file of roles.")
@click.option("--engine", default="library", show_default=True, help="The load generator: library or wire.")
def capacity(objective: str, **given: Any) -> None:
    """Find the highest open-loop rate at which SYSTEM meets an objective (SLO)."""
    from bench import paths
    from bench.experiments import registry, sentences
    from bench.measurement import capacity_search
    from bench.plan import objective as objectives
    from bench.run.frames import Run
    from bench.text import unmarked

    plan = registry.plan("capacity", **given, objective=objective)
    folder = capacity_search.find(plan, objectives.objective(objective), echo)
    echo(unmarked(sentences.conclusion(Run(folder))))
    echo(f"Stored in {paths.shown(folder.path)}")


@cli.command()
@click.argument("file", metavar="FILE.yaml", required=False)
@click.option("--objective", default="p99<=20ms", show_default=True, help="The SLO whose capacity is searched.")
@click.option("--clients", default=4, show_default=True, help="Connections (one process each) that share the schedule.")
@click.option("--profile", default="class", show_default=True, help="How much is measured: smoke, class or full.")
@click.option("--engine", default="library", show_default=True, help="The load generator: library or wire.")
@click.option("--out", default="", metavar="FOLDER", help="Where the page is written; without it, the folder figures.")
@click.option("--i-may-load-this", "host", default="", metavar="HOST", help="A host beside this machine to measure at.")
@click.option("--new", "url", metavar="URL", help="Print a first file for a service that runs there (OpenAPI, gRPC).")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of service files, for an editor.")
def service(
    file: str | None,
    objective: str,
    clients: int,
    profile: str,
    engine: str,
    out: str,
    host: str,
    url: str | None,
    schema: bool,
) -> None:
    """Measure a service of your own, described by FILE.yaml: round trips, CPU per call, capacity; write one page.

    docs/services.md says what the file holds.
    """
    import json
    from pathlib import Path

    from bench import paths
    from bench.apps import service_page
    from bench.errors import UsageError
    from bench.plan import service_file

    if schema or url:
        from bench.apps import first_service_file

        echo(json.dumps(service_file.schema(), indent=1) if schema else first_service_file.text(str(url)))
        return
    if not file:
        raise UsageError(
            "name a service file, as in python -m bench service prices.yaml: docs/services.md describes it"
        )
    if host:
        os.environ[service_file.MAY_LOAD] = host
    runs = service_page.measure(file, objective, clients, profile, engine, echo)
    echo(f"\n{service_page.text(*runs)}\n")
    echo(service_page.shown(service_page.write(*runs, folder=Path(out) if out else paths.figures())))


@cli.command()
@click.argument("a", metavar="BASE")
@click.argument("b", metavar="HEAD")
@click.option("--margin", help="Of two runs: smaller differences are of no practical interest.  [default: 5%]")
@click.option(
    "--at-most",
    "--fail-if-slower",
    "at_most",
    metavar="SHARE",
    help="Exit with 3 if a slow-down of more than this is shown, for example 2%: the whole interval is beyond it. "
    "Choose it smaller than the smallest slow-down that must be found.",
)
@click.option("--quantity", default="all", show_default=True, help="What to compare: p50,p99,rate,cpu.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of lines.")
@click.option("--case", "cases", multiple=True, metavar="TEXT", help="Of two runs: cases whose label contains it.")
@click.option("--system", "names", multiple=True, metavar="NAME", help="Of two revisions: what to measure; repeatable.")
@click.option("--transport", help="Of two revisions: ipc, tcp, inproc; ipc if the system has it.")
@click.option(
    "--path", "folders", multiple=True, metavar="FOLDER", help="Of two revisions: what their systems import is there."
)
@PARAMETER
def compare(
    a: str,
    b: str,
    margin: str | None,
    at_most: str | None,
    quantity: str,
    as_json: bool,
    cases: tuple[str, ...],
    names: tuple[str, ...],
    transport: str | None,
    folders: tuple[str, ...],
    parameters: tuple[tuple[str, str], ...],
) -> int:
    """Compare HEAD with BASE: two stored runs, or two states of your systems' files, which are measured now.

    BASE and HEAD are runs (an id or a part of it); or folders as they are on disk, or git revisions: the same systems
    are then measured from both, taking turns, with BASE a second time as the A/A ratio. Every system that both hold is
    measured; -p sets options and the amount (-p options "{nodelay: false}", -p payload_bytes 100, -p budget_s 60).
    """
    from bench.apps import revisions

    if revisions.are_meant(a, b, bool(names or transport or folders or parameters)):
        from bench.apps.comparing import compared

        if cases:
            raise click.UsageError("--case is for two stored runs: choose what is measured with --system")
        if margin:
            raise click.UsageError("--margin is for two stored runs: two revisions are judged by 5 %, and by --at-most")
        say = lambda line: click.echo(line, err=as_json)  # noqa: E731
        text, failed = compared(a, b, names, transport, dict(parameters), folders, quantity, at_most, as_json, say)
    else:
        from bench.apps.listing import compared_text

        text, failed = compared_text(a, b, margin or "5%", at_most, as_json, quantity, cases)
    echo(text)
    return 3 if failed else 0


@cli.command()
@click.argument("notebook", metavar="NOTEBOOK[.SCENARIO]")
@click.argument("names", nargs=-1, metavar="[RUN...]")
@click.option("--times", type=click.IntRange(1, 100), help="Occasions in all; those here count.  [default: 3]")
@click.option("--apart", default="0", show_default=True, help="From one to the next, at least: 30m, 3h, 1d.")
@click.option("--runs", "is_given", is_flag=True, help="Measure nothing: analyse RUNs, or files of occasions (.json).")
@click.option("--keep", "file", metavar="FILE", help='Add the occasions to FILE, or to the project\'s: "reference".')
@click.option("--although", is_flag=True, help="Keep occasions of a dirty revision too.")
@click.option("--against", metavar="FILE", help='Compare with the occasions in FILE, or the published: "reference".')
@PARAMETER
def replicate(
    notebook: str,
    names: tuple[str, ...],
    times: int | None,
    apart: str,
    is_given: bool,
    file: str | None,
    although: bool,
    against: str | None,
    parameters: tuple[tuple[str, str], ...],
) -> None:
    """Measure a plan on several occasions: the ratios of each, and the interval of a new occasion's.

    A second call continues. With --against it measures once, if there is no occasion yet, and reports which share of
    the published ratios holds on this machine.
    """
    from bench.analysis import replication
    from bench.apps import replicating

    stem = notebook.partition(".")[0]
    if bool(names) != is_given:
        raise click.UsageError("--runs goes with the names of runs: bench replicate NOTEBOOK --runs A B C")
    published = replicating.load(replicating.file_of(against, stem)).occasions if against else []
    if names:
        occasions = replicating.read(names, stem)
    else:
        plan, asked = replicating.planned(notebook, dict(parameters))
        wanted = times or (1 if published else 3)
        made = replicating.measure(plan, asked, wanted, replicating.seconds(apart), echo)
        occasions = [replication.of_run(run) for run in made]
    echo(replicating.text(occasions))
    for occasion in occasions if published else ():
        echo(f"\n{replication.against_text(replication.against(published, occasion), occasion)}")
    if file:
        target = replicating.file_of(file, stem)
        kept = replicating.keep(occasions, target, stem, although)
        echo(f"\n{target} holds {len(kept.occasions)} occasions")


@cli.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-o", "--output", metavar="FILE.json", help="The file to write; named after the machine otherwise.")
@click.option("--yes", is_flag=True, help="Write it without asking.")
def submit(runs: tuple[str, ...], output: str | None, yes: bool) -> int:
    """Put the medians of RUNs into one small file, to hand in to a class; it is described before it is written."""
    from bench.apps.classroom.submitting import submission, write

    made = submission(runs)
    echo(str(made))
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("Nothing is written: there is no terminal to confirm at. Confirm with --yes.")
    if not yes and not click.confirm(f"Write {output or made.name}?"):
        echo("Nothing is written")
        return 1
    echo(f"Written: {write(made, output or made.name)}")
    return 0


@cli.command()
@click.option("--runs", default=300, show_default=True, type=click.IntRange(20, 10_000), help="Runs per property.")
def calibrate(runs: int) -> int:
    """Test the instrument in virtual time, where the true values are known; exit with 1 if it fails."""
    from certify.instrument import certificate, verdict

    lines = []
    for line in certificate(runs):
        echo(str(line))
        lines.append(line)
    echo(verdict(lines, runs))
    return 0 if all(line.passed for line in lines) else 1


@cli.command()
@click.argument("generator", metavar="FILE.yaml|NAME", required=False)
@click.option("--connections", default=64, show_default=True, type=click.IntRange(2, 1000), help="Of the large loads.")
@click.option("--seconds", default=70.0, show_default=True, type=click.FloatRange(10, 3600), help="Of all scenarios.")
@click.option("--scenario", "names", multiple=True, metavar="NAME", help="Only this scenario; repeatable.")
@click.option("--json", "json_file", metavar="FILE", help="Write the certificate as JSON too.")
@click.option("--figure", metavar="FILE.png", help="Draw reported against true response times.")
@click.option("--all", "every", is_flag=True, help="Show the checks that are held in full too.")
@click.option("--capacity", is_flag=True, help="Measure its capacity and how it behaves near it instead.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of generator files, for an editor.")
def certify(
    generator: str | None,
    connections: int,
    seconds: float,
    names: tuple[str, ...],
    json_file: str | None,
    figure: str | None,
    every: bool,
    capacity: bool,
    schema: bool,
) -> int:
    """Test whether a load generator delivers the load that it is asked for, and reports true numbers.

    It is described by FILE.yaml, or by a file of this package, NAME, and loads a server here whose service times are
    known. Exit status 0: certified; 1: not certified; 2: not decided, or it could not be run.
    """
    from certify import command_line

    if schema:
        echo(command_line.schema())
        return 0
    if not generator:
        raise click.UsageError(command_line.missing())
    if capacity:
        command_line.measure_capacity(generator, seconds, json_file, figure, echo)
        return 0
    return command_line.certify(generator, connections, seconds, names, json_file, figure, every, echo)


@cli.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE.json...")
def referees(files: tuple[str, ...]) -> None:
    """Compare load generators by their certificates, which certify --json wrote: a row for each."""
    from certify import command_line

    echo(command_line.compared(files))


@cli.command()
@click.argument("url")
@click.option("--rate", default=0.0, type=click.FloatRange(0), help="Requests/s of an open load; 0: a closed load.")
@click.option("--connections", default=1, show_default=True, type=click.IntRange(1), help="Each has one under way.")
@click.option("--duration", default=10.0, show_default=True, type=click.FloatRange(0.05, 3600), help="In s.")
@click.option("--engine", default="wire", show_default=True, help="The load generator: wire or library.")
@click.option("--proto", type=click.Path(dir_okay=False), help="The .proto file of the method of a URL grpc://...")
@click.option("--clients", default=1, show_default=True, type=click.IntRange(1), help="Processes that share the load.")
@click.option("--stream", type=click.Choice(["sse"]), help="Replies are streams of server-sent events to [DONE].")
def load(
    url: str,
    rate: float,
    connections: int,
    duration: float,
    engine: str,
    proto: str | None,
    clients: int,
    stream: str | None,
) -> None:
    """Load URL with GET requests, or a gRPC method, and print a report as JSON: one window, no intervals.

    Of streams it holds the time to first token and the times between tokens (inter-token latency).

    To measure a service, use python -m bench service.
    """
    import json

    from bench.apps import loading

    echo(json.dumps(loading.load(url, rate, connections, duration, engine, proto, clients, stream), indent=1))


@cli.command()
@click.argument("figure")
def explain(figure: str) -> None:
    """Show which run a figure was drawn from, and how to draw or measure it again."""
    from bench.apps.listing import figure_text

    echo(figure_text(figure))


@cli.command()
@click.argument("system")
@click.argument("address")
@click.option("-o", "--options", default="", help='The system\'s options, for example "{writes: 2}".')
@click.option("--mode", default="600", show_default=True, help="Permissions of the socket file at ipc:///PATH, octal.")
@click.option("--message", default="bytes", show_default=True, help="What requests carry: items, FILE.json, ...")
def serve(system: str, address: str, options: str, mode: str, message: str) -> None:
    """Serve SYSTEM at ADDRESS (tcp://HOST:PORT or ipc:///PATH) until Ctrl-C: a target for other machines."""
    from bench.measurement.serve import serve as serve_until_interrupted

    serve_until_interrupted(system, address, options, echo, mode, message)


@cli.command("certificates")
@click.argument("folder", type=click.Path(file_okay=False))
@click.argument("hosts", nargs=-1, metavar="HOST...")
def certificates_(folder: str, hosts: tuple[str, ...]) -> None:
    """Make a FOLDER of credentials for an encrypted server at HOSTs (names or addresses), beside this machine's own."""
    from pathlib import Path

    from bench import credentials
    from bench.measurement import certificates

    names = certificates.make_folder(Path(folder), hosts)
    private = " and ".join(sorted(f"*{end}" for end in credentials.PRIVATE))
    click.echo(
        f"{folder}: a certificate for {', '.join(names)}. Name the folder in {credentials.FOLDER} for the server"
    )
    click.echo(f"(bench serve) and, copied without {private}, for its clients (-p target).")


PLAIN = click.option("--plain", is_flag=True, help="Use tcp://, where you trust all users and the whole network.")


@cli.command()
@click.option("--listen", default="tls://127.0.0.1:8786", show_default=True, metavar="ADDRESS", help="tls:// or tcp://")
@PLAIN
def scheduler(listen: str, plain: bool) -> None:
    """Run the scheduler at which hosts register, until Ctrl-C."""
    from bench.measurement.hosts import commands

    commands.scheduler(listen, plain, lambda line: click.echo(line))


@cli.command()
@click.argument("scheduler", metavar="tls://SCHEDULER:8786")
@click.option("--name", default="", help="Its name in runs; an anonymous one otherwise.")
@click.option("--listen", default="", metavar="ADDRESS", help="The address at which servers here are reached.")
@PLAIN
def host(scheduler: str, name: str, listen: str, plain: bool) -> None:
    """Let this machine be measured with, as a host of a SCHEDULER, until Ctrl-C."""
    from bench.measurement.hosts import commands

    commands.host(scheduler, name, listen, plain, lambda line: click.echo(line))


@cli.command()
@click.argument("scheduler", metavar="tls://SCHEDULER:8786")
@PLAIN
def hosts(scheduler: str, plain: bool) -> None:
    """List the hosts of a SCHEDULER: address, CPUs, revision, clock, and the role that each gets by default."""
    from bench.apps.listing import hosts_text

    echo(hosts_text(scheduler, plain))


@cli.command()
@click.argument("run")
@click.argument("folder")
def keep(run: str, folder: str) -> None:
    """Copy RUN into FOLDER with one file for each table, to archive or publish it."""
    from pathlib import Path

    from bench.run import stored

    echo(f"kept {stored.keep(stored.find(run), Path(folder)).path}")


@cli.command()
@click.argument("run", default="latest")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "json", "hdr", "bmf"]),
    default="csv",
    show_default=True,
    help="csv: cases, starts and single calls; json: as show --json; hdr: HdrHistogram logs; bmf: for Bencher.",
)
@click.option("--out", default="", metavar="FOLDER", help="Where the files go; a folder named after the run otherwise.")
def export(run: str, kind: str, out: str) -> None:
    """Write RUN into files for other programs: tables, histograms, or a continuous benchmarking service."""
    from pathlib import Path

    from bench import paths
    from bench.apps import exporting
    from bench.apps.listing import opened

    found = opened(run)
    for file in exporting.export(found, kind, Path(out or found.id)):
        echo(paths.shown(file))


@cli.command()
@click.argument("notebooks", nargs=-1, metavar="NOTEBOOK...")
@click.option("--although", is_flag=True, help="Keep runs of a dirty revision too.")
def reference(notebooks: tuple[str, ...], although: bool) -> None:
    """Measure the reference runs of NOTEBOOKs (all, if none is named) anew; what is not accepted is measured again."""
    from bench.apps import reference_runs

    reference_runs.renew(notebooks, although, echo)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; the only place that turns errors into exit statuses."""
    status, text = 0, ""
    debug = "--debug" in (sys.argv[1:] if arguments is None else arguments)
    codecs.register_error("plainly", plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plainly")
    try:
        threads.require("a command", *threads.FOR_A_COMMAND)
        outcome: Any = cli.main(arguments, prog_name="bench", standalone_mode=False)
        status = outcome if isinstance(outcome, int) else 0
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except BenchError as error:
        status, text = error.exit_status, str(error)
        if debug:
            traceback.print_exception(error)
    except click.UsageError as error:
        status, text = 2, f"{_cut(error.format_message())} (python -m bench --help shows the usage)"
    except click.ClickException as error:
        status, text = error.exit_code, _cut(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        status, text = 130, "interrupted: completed starts are kept; resume with -p resume true"
    except Exception as error:
        status, text = 1, outside(error)
        if debug:
            traceback.print_exception(error)
    _end(status, text)


def outside(error: BaseException) -> str:
    """Return a sentence on what this program did not raise: what the machine lacks, or an error of its own."""
    if isinstance(error, ModuleNotFoundError) and not f"{error.name}.".startswith("bench."):
        return without_package(error)
    seen, cause = set(), error
    while id(cause) not in seen:  # a library that cannot be imported for lack of files names that only as the cause
        seen.add(id(cause))
        number = getattr(cause, "errno", None)  # ZeroMQ's errors have one too
        if isinstance(number, int) and number in REMEDIES:
            return f"{os.strerror(number)}: {REMEDIES[number]}"
        if isinstance(cause, MemoryError) or "start new thread" in str(cause):
            return f"{str(cause) or 'no memory is left'}: {REMEDIES[errno.EAGAIN]}"
        cause = cause.__cause__ or cause.__context__ or cause
    what = one_line(f"{type(error).__name__}: {error}", 200)
    return f"unforeseen {what}; python -m bench --debug ... shows where: please report it"


REMEDIES = {
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "allow more open files (ulimit -n 1024) and try again"),
    **dict.fromkeys((errno.EAGAIN, errno.ENOMEM), "allow more processes (ulimit -u), or end some that take memory"),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space where the output and temporary files (TMPDIR) go"),
    errno.EROFS: "name folders that can be written in ROUNDTRIP_RUNS, ROUNDTRIP_FIGURES and ROUNDTRIP_EXECUTED",
    errno.EPIPE: "whoever read the output has ended",
}


def _cut(text: str) -> str:
    """Return a sentence of click's with no more of each word than a sentence quotes."""
    return re.sub(r"(\S{100})\S{100,}", r"\1...", text)


def _sentence(text: str) -> str:
    """Return an error on one line; of a very long one, which quotes what was given, its beginning and its remedy."""
    line = one_line(text, len(text))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 500]} ... {line[-400:]}"


LONGEST = 1400  # characters of an error


def _end(status: int, text: str) -> NoReturn:
    """Say the error, if there is one, in one line, and exit; an output that takes nothing more is left alone."""
    with contextlib.suppress(OSError):
        if text:
            click.echo(f"bench: {_sentence(text)}", file=sys.stderr)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:  # the interpreter would try again at its end, and complain
            with open(os.devnull, "w") as nowhere:  # noqa: PTH123
                os.dup2(nowhere.fileno(), stream.fileno())
    sys.exit(status)
