"""How Nagle's algorithm and a delayed ACK stall a message of two writes: a sequence diagram, drawn without a run."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.analysis.stalls import DELAY_S
from bench.grammar.axes import GREY, SYSTEM_COLOURS, style
from bench.grammar.display import show_figure

TITLE = "A request of two writes, a reply of one; the client does not set TCP_NODELAY"
CLIENT, SERVER = 0.0, 1.0
SENT, ACK = SYSTEM_COLOURS[0], SYSTEM_COLOURS[3]
MESSAGES = (  # when it is sent, in the drawing's units; from which side to which; what; colour
    (0.0, CLIENT, SERVER, "first write: sent at once", SENT),
    (4.0, SERVER, CLIENT, "ACK: the timer has expired", ACK),
    (4.9, CLIENT, SERVER, "second write", SENT),
    (5.8, SERVER, CLIENT, "reply", SENT),
)
TRAVEL = 0.5
WAITS = (  # of which side, from when to when, and why
    (CLIENT, 0.4, 4.5, "second write is held back\n(Nagle: the first has no ACK yet)"),
    (SERVER, 0.5, 4.0, "half a request: no reply yet,\nand the ACK is delayed"),
)


def show() -> None:
    """Show the diagram."""
    with style():
        figure = Figure(figsize=(10, 4.6), layout="constrained")
        draw(figure.subplots())
    show_figure(figure, TITLE)


def draw(axes: Axes) -> None:
    """Draw client and server as vertical lines, time downwards, each message as an arrow and each wait as a bar."""
    for side, name in ((CLIENT, "client"), (SERVER, "server")):
        axes.plot([side, side], [-0.4, 6.6], color=GREY, lw=1.5, zorder=0)
        axes.text(side, -0.5, name, ha="center", va="bottom", fontsize=12, weight="bold")
    for side, begin, end, why in WAITS:
        axes.plot([side, side], [begin, end], color=ACK, lw=9, alpha=0.35, solid_capstyle="butt")
        outwards = -1 if side == CLIENT else 1
        alignment = "right" if side == CLIENT else "left"
        axes.text(side + outwards * 0.03, (begin + end) / 2, why, ha=alignment, va="center", fontsize=11)
    for sent, start, end, what, colour in MESSAGES:
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (end, sent + TRAVEL), (start, sent), arrowprops=arrow)
        axes.text(0.5, sent + TRAVEL / 2 - 0.12, what, ha="center", va="bottom", fontsize=11, color=colour)
    axes.annotate("", (0.5, 3.7), (0.5, 0.6), arrowprops={"arrowstyle": "<->", "color": GREY, "lw": 1.2})
    axes.text(
        0.52, 2.15, f"{DELAY_S * 1e3:.0f} ms: no CPU is busy,\nno packet is lost", ha="left", va="center", fontsize=11
    )
    axes.set(xlim=(-0.62, 1.55), ylim=(6.6, -1))
    axes.set_axis_off()
    axes.set_title(TITLE)
