"""The shortest label that distinguishes each case from the others of its run."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench.plan import hosts, namespaces, placement
from bench.plan.case import Case
from bench.plan.retry_policy import RetryPolicy
from bench.text import counted, duration

MEANT_BY = {"freeze_ms": "freeze_after"}  # an option that means nothing where the other is not set
LANGUAGES = {"python": "Python", "c": "C++"}  # of a client or a server


class Part(NamedTuple):
    """A part of a label: a factor of a case, and its value in words. Two factors may have values of one name."""

    factor: str
    words: str


Parts = tuple[Part, ...]  # of a label: system, transport, and one for each factor that differs between the cases


def labels(cases: tuple[Case, ...]) -> list[str]:
    """Return a label for each case: its parts behind each other."""
    return list(map(as_label, parts(cases)))


def as_label(parts: Iterable[Part]) -> str:
    """Return parts as one text."""
    return " ".join(part.words for part in parts)


def parts(cases: tuple[Case, ...]) -> list[Parts]:
    """Return the parts of each case's label."""
    peers = [case for case in cases if case.system != "loopback"]
    paced = {peer.load for peer in peers} != {"open"}
    made = [_parts(case, [peer for peer in peers if peer.load == case.load], paced) for case in cases]
    return [(*each, *_again(made[:index].count(each))) for index, each in enumerate(made)]


def placed_as(case: Case) -> str:
    """Return the placement of a case in words."""
    return placement.IN_WORDS[case.placement]


def distinguished(cases: Sequence[Parts], with_system: bool = False) -> tuple[list[str], str]:
    """Return a name for each of several cases, and what all of them share, which no name has: ``(all: 100 B)``.

    with_system: whether each name begins with system and transport, as it does where it would be empty without them.
    """
    shared = [part for part in cases[0] if all(part in other for other in cases)]
    if with_system or any(set(each) <= set(shared) for each in cases):
        shared = [part for part in shared if part not in cases[0][:2]]
    names = [_name(each, shared) for each in cases]
    words = ", ".join(part.words for part in shared)
    return names, f" ({'both' if len(cases) == 2 else 'all'}: {words})" if shared else ""


def _name(case: Parts, shared: Sequence[Part]) -> str:
    own = [part for part in case if part not in shared]
    way = [part for part in own if part in case[:2]]
    return ", ".join(filter(None, [as_label(way), *(part.words for part in own[len(way) :])]))


def _again(times: int) -> Parts:
    return () if not times else (Part("again", "again" if times == 1 else f"again {times}"),)


def _option(name: str, value: object) -> str:
    """Return an option in words.

    A text by itself, with the side that it is about (Python client); a switch as "tls" or "no tls"; name=value else.
    """
    if isinstance(value, bool):
        return name if value else f"no {name}"
    if not isinstance(value, str):
        return f"{name}={value}"
    return f"{LANGUAGES.get(value, value)} {name}" if name in ("client", "server") else value


def _is_set(options: dict[str, object], name: str, value: object) -> bool:
    """Return whether an option's value says something: 0 and "" mean that it is not set."""
    return bool(value or value is False) and (name not in MEANT_BY or bool(options.get(MEANT_BY[name])))


def _parts(case: Case, peers: list[Case], paced: bool) -> Parts:
    """Return a label's parts; ``paced``: whether the offered rate distinguishes it from cases of another load."""
    if case.system == "loopback":
        return (Part("system", "loopback (no server)"),)
    is_streamed, renewed = case.load == "reply_stream", case.calls_per_connection
    here = "loopback" if case.transport == "tcp" else ""
    each = " each" * any(peer.clients > 1 for peer in peers)
    if all(len({getattr(peer, name) for peer in peers}) > 1 for name in ("clients", "callers")):  # both together
        callers = counted(case.clients * case.callers, "caller") + f" in {case.clients} clients" * (case.clients > 1)
        clients = ""
    else:
        callers, clients = f"{counted(case.callers, 'caller')}{each}", counted(case.clients, "client")
    words = {
        "hosts": namespaces.described(case.hosts) or ("between hosts" if hosts.is_far(case.hosts) else here),
        "offered_per_s": f"{case.offered_per_s:g}/s" if case.is_paced else "",
        "message": case.message,
        "payload_bytes": f"{case.payload_bytes:,} B",
        "placement": placed_as(case),
        "clients": clients,
        "max_calls": f"{case.max_calls // case.under_way} calls" if case.is_short else "",
        "callers": counted(case.callers, "stream") if is_streamed else callers,
        "gap_us": f"every {duration(case.gap_us)}" if case.gap_us else "unpaced" if case.replies else "",
        "reply_bytes": f"replies of {case.reply_bytes:,} B" if case.reply_bytes else "",
        "replies": f"{case.replies} replies" if case.replies else "",
        "engine": case.engine,
        "calls_per_connection": f"{counted(renewed, 'call')} per connection" if renewed else "persistent",
        "outstanding": f"{case.outstanding} outstanding" if case.outstanding > 1 else "",
        "large_bytes": f"beside {case.large_bytes:,} B" if case.large_bytes else "",
        "p99_bytes": f"p99 {case.p99_bytes:,} B" if case.p99_bytes else "",
        "retry": RetryPolicy.from_values(case.retry).words if case.load == "retry" else "",
        "source": case.source,
        "traced": "traced" if case.traced else "",
    }
    varied = {name for name in words if len({str(getattr(peer, name)) for peer in peers}) > 1}
    shown = [
        Part(name, text)
        for name, text in words.items()
        if text and (name in varied or (paced and name == "offered_per_s"))
    ]
    own = [peer.options for peer in peers if peer.system == case.system]
    turned = {
        name: value for name, value in case.options.items() if len({str(options.get(name)) for options in own}) > 1
    }
    named = {name: value for name, value in turned.items() if _is_set(case.options, name, value)}
    shown += [Part(f"option {name}", _option(name, value)) for name, value in named.items()]
    return (Part("system", case.system), Part("transport", case.target or case.transport), *shown)
