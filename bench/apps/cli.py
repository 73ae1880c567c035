"""``python -m bench``: the commands and their options, each declared once; what they do is imported when they run.

Errors are one line on stderr that ends with a remedy; exit status 1 for a failure, 2 for bad usage. With ``--debug``
the traceback is shown as well.
"""

import codecs
import functools
import io
import json
import sys
import traceback
from pathlib import Path
from typing import Any

import click

from bench.apps.failures import end, status_and_text
from bench.text import plainly, with_dollars

HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True}
flag = functools.partial(click.option, is_flag=True)
several = functools.partial(click.option, multiple=True)
PARAMETER = several("-p", "parameters", nargs=2, metavar="NAME VALUE", help="Set a notebook's parameter; repeatable.")
text_option = functools.partial(click.option, default="", show_default=False)
OPTIONS = text_option("-o", "--options", help='The system\'s options, for example "{writes: 2}".')
CALLERS = click.option("--clients", default=4, help="Connections (one process each) that share the schedule.")
ENGINE = click.option("--engine", default="library", help="The load generator: library or wire.")
PLAIN = flag("--plain", help="Use tcp://, where you trust all users and the whole network.")
SCHEDULER = click.argument("scheduler", metavar="tls://SCHEDULER:8786")
JSON = functools.partial(flag, "--json", "as_json")
FOLDER = click.Path(path_type=Path)


@click.group(context_settings=HELP)
@flag("--debug", help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Measure remote procedure calls, and report how far the numbers can be trusted."""


def echo(text: str) -> None:
    """Write a line to the output, in its own letters: click would write others than an ASCII terminal shows."""
    click.echo(with_dollars(text), file=sys.stdout)


@cli.command("list")
@flag("--missing", help="Only how to install what is missing.")
@flag("--scenarios", help="Only the named scenarios of notebooks, and what each shows.")
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
@flag("--anew", help="Make an environment again, even if it is there.")
def prepare(names: tuple[str, ...], anew: bool) -> None:
    """Make ahead of time what a measurement would make first.

    ENVIRONMENT is the Python environment of a router (all of them, if nothing is named), FILE that of a service
    (docs/services.md), which is built.
    """
    from bench import systems
    from bench.plan import parameters as params
    from bench.process import environments

    files = [name for name in names if name.endswith(systems.SERVICE)]
    others = [name for name in names if name not in files]
    if others or not files:
        for name in params.names(others or "all", "environment", environments.names()):
            echo(f"{name}: {environments.ensure(name, echo, anew)}")
    for file in files:
        systems.prepare(systems.adopt(file))
        echo(f"{file}: ready")


@cli.command()
@click.argument("notebooks", nargs=-1, metavar="NOTEBOOK[.SCENARIO]...")
@flag("--all", "every", help="Run every notebook.")
@flag("--yes", help="Agree to a plan that takes more than an hour.")
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
    from bench.plan import paths
    from bench.run import query

    frame = query.runs()
    echo(frame.to_string() if len(frame) else f"no runs in {paths.shown(paths.runs())} yet: run a notebook")


@cli.command()
@click.argument("run", default="latest")
@JSON(help="Print one JSON document instead of text.")
def show(run: str, as_json: bool) -> None:
    """Show a run's plan, checks and results.

    RUN is an id or a part of it, "latest", reference/NOTEBOOK, or a folder that keep made.
    """
    from bench.apps import listing

    echo((listing.run_json if as_json else listing.run_text)(run))


@cli.command()
@click.argument("systems", metavar="SYSTEM[,SYSTEM...]")
@click.argument("transport", default="auto")
@click.option("--objective", default="p99<=20ms", help="The SLO: a quantile of the response time and its bound.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), metavar="N", help="Try N requests/s alone.")
@click.option("--payload", "payload_bytes", default=100, metavar="BYTES", help="Bytes of each request and reply.")
@CALLERS
@OPTIONS
@click.option("--window-s", default=1.0, help="Seconds per probe; longer where the quantile needs it.")
@click.option("--first", default=200.0, help="Requests per second of the first probe.")
@text_option("--hosts", help="Other machines: the address of a scheduler, or a YAML file of roles.")
@ENGINE
def capacity(**asked: Any) -> None:
    """Find the highest open-loop rate at which each SYSTEM meets an objective (SLO); or try one rate.

    With --rate, or of several systems, the last lines are a table: whether the SLO is met, the quantile, and the CPUs
    that clients and server used.

    \b
    Example:
      bench capacity zeromq,grpc_sync tcp --objective "p99<=5ms" --rate 3000

    `bench run capacity` has more parameters, such as -p arrivals uniform.
    """
    from bench.apps import rates

    rates.measure(**asked, say=echo)


@cli.command()
@click.argument("file", metavar="FILE.yaml", required=False)
@click.option("--objective", default="p99<=20ms", help="The SLO whose capacity is searched.")
@CALLERS
@click.option("--profile", default="class", help="How much is measured: smoke, class or full.")
@ENGINE
@click.option("--out", type=FOLDER, metavar="FOLDER", help="Where the page is written; without it, the folder figures.")
@click.option("--i-may-load-this", "host", metavar="HOST", help="A host beside this machine to measure at.")
@click.option("--new", "url", metavar="URL", help="Print a first file for a service that runs there (OpenAPI, gRPC).")
@several("--header", "headers", metavar="HEADER", help='Of --new: "X-Api-Token: {env:TOKEN}" is sent, and written so.')
@flag("--schema", help="Print the JSON Schema of service files, for an editor.")
def service(url: str | None, headers: tuple[str, ...], schema: bool, **asked: Any) -> int:
    """Measure a service of your own, described by FILE.yaml: round trips, CPU time per call, capacity; write one page.

    docs/services.md says what the file holds. Exit with 1 if the results are INVALID.
    """
    from bench.apps import first_service_file, service_page
    from bench.plan import service_file

    if schema:
        echo(json.dumps(service_file.schema(), indent=1))
    elif url:
        echo(first_service_file.text(url, headers))
    elif headers:
        raise click.UsageError("--header belongs to --new URL; a service that is measured has its headers in FILE.yaml")
    else:
        return 0 if service_page.make(**asked, say=echo) else 1
    return 0


@cli.command()
@click.argument("base")
@click.argument("head")
@click.option("--margin", help="Of two runs: smaller differences are of no practical interest.  [default: 5%]")
@click.option(
    "--at-most",
    "--fail-if-slower",
    "at_most",
    metavar="SHARE",
    help="Exit with 3 if a slow-down of more than this is shown, for example 2%: the whole interval is beyond it. "
    "To find 5 %, give 2 %.",
)
@click.option("--quantity", "quantities", default="all", help="What to compare: p50,p99,rate,cpu.")
@flag(
    "--counts",
    help="Of two revisions: compare system calls and bytes per call instead of times; exit with 1 if one rose.",
)
@JSON(help="Print JSON instead of lines.")
@several("--case", "cases", metavar="TEXT", help="Of two runs: cases whose label contains it.")
@several("--system", "names", metavar="NAME", help="Of two revisions: what to measure; repeatable.")
@click.option("--transport", help="Of two revisions: ipc, tcp, inproc; ipc if the system has it.")
@several("--path", "folders", metavar="FOLDER", help="Of two revisions: what their systems import is there.")
@several("--write", "files", type=FOLDER, metavar="FILE", help="Write it to .json, .md (comment) or .xml (JUnit) too.")
@PARAMETER
def compare(as_json: bool, files: tuple[Path, ...], **asked: Any) -> int:
    """Compare HEAD with BASE: two stored runs, or two states of your systems' files, which are measured now.

    BASE and HEAD are runs (an id or a part of it); or folders as they are on disk, or git revisions: the same systems
    are then measured from both, taking turns, with BASE a second time as the A/A ratio. Every system that both hold is
    measured; -p sets options and the amount (-p options "{nodelay: false}", -p payload_bytes 100, -p budget_s 60).
    """
    from bench.apps import comparing, outcome

    outcome.refuse_unknown(files)
    comparison = comparing.outcome(**asked, say=lambda line: click.echo(line, err=as_json))
    echo(comparison.json if as_json else comparison.text)
    outcome.write(comparison, files)
    return (1 if asked["counts"] else 3) if comparison.failed else 0


@cli.command()
@click.argument("notebook", metavar="NOTEBOOK[.SCENARIO]")
@click.argument("names", nargs=-1, metavar="[RUN...]")
@click.option("--times", type=click.IntRange(1, 100), help="Occasions in all; those here count.  [default: 3]")
@click.option("--apart", default="0", help="From one to the next, at least: 30m, 3h, 1d.")
@flag("--runs", "is_stored", help="Measure nothing: analyse RUNs, or files of occasions (.json).")
@click.option("--keep", "file", metavar="FILE", help='Add the occasions to FILE, or to the project\'s: "reference".')
@flag("--although", help="Keep occasions of a dirty revision too.")
@click.option("--against", metavar="FILE", help='Compare with the occasions in FILE, or the published: "reference".')
@PARAMETER
def replicate(**asked: Any) -> None:
    """Measure a plan on several occasions: the ratios of each, and how far another occasion or machine may be off.

    A second call continues. With --against it measures once, if there is no occasion yet, and reports which share of
    the published ratios holds on this machine.
    """
    from bench.apps import replicating

    replicating.replicate(**asked, say=echo)


@cli.command()
@click.option("--run", metavar="RUN", help="Measure nothing: a run that has both probes.")
@flag("--json", "as_json", help="As JSON.")
def predict(run: str | None, as_json: bool) -> None:
    """Measure two systems, in two to four minutes: what a call of every other system is expected to take here."""
    from bench.apps import predicting

    echo(predicting.predict(run, as_json, say=lambda line: click.echo(line, err=True)))


@cli.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-o", "--output", metavar="FILE.json", help="The file to write; named after NAME or the machine otherwise."
)
@click.option("--name", default="", metavar="NAME", help="Of the pair that hands it in: in the file, and in its name.")
@flag("--yes", help="Write it without asking.")
def submit(runs: tuple[str, ...], output: str | None, name: str, yes: bool) -> int:
    """Put the medians of RUNs, predictions and answers into one small file, to hand in to a class.

    It is described before it is written.
    """
    from bench.apps.classroom.submitting import submission, write

    made = submission(runs, name)
    echo(str(made))
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("Nothing is written: there is no terminal to confirm at. Confirm with --yes.")
    if not yes and not click.confirm(f"Write {output or made.name}?"):
        echo("Nothing is written")
        return 1
    echo(f"Written: {write(made, output or made.name)}")
    return 0


@cli.command()
@click.option("--runs", default=300, type=click.IntRange(20, 10_000), help="Runs per property.")
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
@click.option("--connections", default=64, type=click.IntRange(2, 1000), help="Of the large loads.")
@click.option("--seconds", default=70.0, type=click.FloatRange(10, 3600), help="Of all scenarios.")
@several("--scenario", "names", metavar="NAME", help="Only this scenario; repeatable.")
@click.option("--json", "json_file", metavar="FILE", help="Write the certificate as JSON too.")
@click.option("--figure", metavar="FILE.png", help="Draw reported against true response times.")
@flag("--all", "every", help="Show the checks that are held in full too.")
@flag("--capacity", help="Measure its capacity and how it behaves near it instead.")
@flag("--schema", help="Print the JSON Schema of generator files, for an editor.")
def certify(generator: str | None, capacity: bool, schema: bool, **asked: Any) -> int:
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
        command_line.measure_capacity(generator, asked["seconds"], asked["json_file"], asked["figure"], echo)
        return 0
    return command_line.certify(generator, **asked, say=echo)


@cli.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE.json...")
def referees(files: tuple[str, ...]) -> None:
    """Compare load generators by their certificates, which certify --json wrote: a row for each."""
    from certify import command_line

    echo(command_line.compared(files))


@cli.command()
@click.argument("url")
@click.option("--rate", type=click.FloatRange(0), help="Requests/s of an open load; 0: a closed load.")
@click.option("--connections", default=1, type=click.IntRange(1), help="Each has one under way.")
@click.option("--duration", "duration_s", default=10.0, type=click.FloatRange(0.05, 3600), help="In s.")
@click.option("--engine", default="wire", help="The load generator: wire or library.")
@click.option("--proto", type=click.Path(dir_okay=False), help="The .proto file of the method of a URL grpc://...")
@click.option("--clients", default=1, type=click.IntRange(1), help="Processes that share the load.")
@click.option("--stream", type=click.Choice(["sse"]), help="Replies are streams of server-sent events to [DONE].")
def load(**asked: Any) -> None:
    """Load URL with GET requests, or a gRPC method, and print a report as JSON: one window, no intervals.

    Of streams it holds the time to first token and the times between tokens (inter-token latency).

    To measure a service, use python -m bench service.
    """
    from bench.apps import loading

    echo(json.dumps(loading.load(**asked), indent=1))


@cli.command()
@click.argument("figure")
def explain(figure: str) -> None:
    """Say where FIGURE comes from: which run it was drawn from, and how to draw or measure it again."""
    from bench.apps.listing import figure_text

    echo(figure_text(figure))


@cli.command()
@click.argument("run")
@several("--case", "cases", help="A part of a case's label, as show prints it; repeatable. Else the first four.")
def trace(run: str, cases: tuple[str, ...]) -> None:
    """Say where the time goes in one call: cases of RUN are measured again while the kernel's tracer records them.

    RUN is an id or a part of it, "latest" (the newest run that can be traced), or the FILE.yaml of a measured service.
    """
    from bench.apps import tracing

    echo(tracing.text(run, cases, echo))


@cli.command()
@click.argument("system")
@click.argument("address")
@OPTIONS
@click.option("--mode", default="600", help="Permissions of the socket file at ipc:///PATH, octal.")
@click.option("--message", default="bytes", help="What requests carry: items, FILE.json, ...")
def serve(system: str, address: str, options: str, mode: str, message: str) -> None:
    """Serve SYSTEM at ADDRESS (tcp://HOST:PORT or ipc:///PATH) until Ctrl-C: a target for other machines."""
    from bench.measurement.serve import serve as serve_until_interrupted

    serve_until_interrupted(system, address, options, echo, mode, message)


@cli.command("certificates")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument("hosts", nargs=-1, metavar="HOST...")
def certificates_(folder: Path, hosts: tuple[str, ...]) -> None:
    """Make a FOLDER of credentials for an encrypted server at HOSTs (names or addresses), beside this machine's own."""
    from bench.measurement import certificates
    from bench.plan import credentials

    names = ", ".join(certificates.make_folder(folder, hosts))
    private = " and ".join(sorted(f"*{end}" for end in credentials.PRIVATE))
    echo(f"{folder}: a certificate for {names}. Name the folder in {credentials.FOLDER} for the server")
    echo(f"(bench serve) and, copied without {private}, for its clients (-p target).")


@cli.command()
@click.option("--listen", default="tls://127.0.0.1:8786", metavar="ADDRESS", help="tls:// or tcp://")
@PLAIN
def scheduler(listen: str, plain: bool) -> None:
    """Run the scheduler at which hosts register, until Ctrl-C."""
    from bench.measurement.hosts import commands

    commands.scheduler(listen, plain, click.echo)


@cli.command()
@SCHEDULER
@text_option("--name", help="Its name in runs; an anonymous one otherwise.")
@text_option("--listen", metavar="ADDRESS", help="The address at which servers here are reached.")
@PLAIN
def host(scheduler: str, name: str, listen: str, plain: bool) -> None:
    """Let this machine be measured with, as a host of a SCHEDULER, until Ctrl-C."""
    from bench.measurement.hosts import commands

    commands.host(scheduler, name, listen, plain, click.echo)


@cli.command()
@SCHEDULER
@PLAIN
def hosts(scheduler: str, plain: bool) -> None:
    """List the hosts of a SCHEDULER: address, CPUs, revision, clock, and the role that each gets by default."""
    from bench.apps.listing import hosts_text

    echo(hosts_text(scheduler, plain))


@cli.command()
@click.argument("run")
@click.argument("folder", type=FOLDER)
def keep(run: str, folder: Path) -> None:
    """Copy RUN into FOLDER with one file for each table, to archive or publish it."""
    from bench.run import stored

    echo(f"kept {stored.keep(stored.find(run), folder).path}")


@cli.command()
@click.argument("run", default="latest")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "json", "hdr", "perfetto", "junit", "openmetrics"]),
    default="csv",
    help="csv: cases, starts and single calls; json: as show --json; hdr: HdrHistogram logs; "
    "perfetto: traced calls, for ui.perfetto.dev; junit: the checks as JUnit XML; openmetrics: for Prometheus.",
)
@click.option(
    "--out", type=FOLDER, metavar="FOLDER", help="Where the files go; a folder named after the run otherwise."
)
def export(run: str, kind: str, out: Path | None) -> None:
    """Write RUN into files for other programs: tables, histograms, metrics."""
    from bench.apps import exporting
    from bench.plan import paths
    from bench.run import stored
    from bench.run.frames import Run

    stored_run = Run(stored.find(run))
    for file in exporting.export(stored_run, kind, out or Path(stored_run.id)):
        echo(paths.shown(file))


@cli.command()
@click.argument("notebooks", nargs=-1, metavar="NOTEBOOK...")
@flag("--although", help="Keep runs of a dirty revision too.")
def reference(notebooks: tuple[str, ...], although: bool) -> None:
    """Measure the reference runs of NOTEBOOKs (all, if none is named) anew; what is not accepted is measured again."""
    from bench.apps import reference_runs

    reference_runs.renew(notebooks, although, echo)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; the only place that turns errors into exit statuses."""
    codecs.register_error("plainly", plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plainly")
    try:
        status = cli.main(arguments, prog_name="bench", standalone_mode=False)
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in (sys.argv[1:] if arguments is None else arguments):
            traceback.print_exception(error)
        end(*status_and_text(error))
    end(status if isinstance(status, int) else 0)
