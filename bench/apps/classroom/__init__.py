"""What a class measured: runs handed in as JSON files, and which claims hold on every machine.

``python -m bench submit RUN...`` writes a file; ``classroom.ipynb`` reads a folder of them. In a notebook:
``room = classroom.gather("submissions")``, then ``classroom.table``, ``show``, ``tell`` and ``save``. Tables and
figures are imported when they are first shown: submitting needs none.
"""

from bench.apps.classroom import merging
from bench.apps.classroom.merging import Room
from bench.text import counted


def gather(folder: object = merging.SIMULATED, quantity: object = "median RTT", claim: object = "") -> Room:
    """Return the claims of a folder of submissions, and print how many are used; see ``merging``."""
    room = merging.gather(folder, quantity, claim)
    print(f"Nothing is measured: {room.counts}; {counted(len(room.claims), 'claim')}")
    return room


def table(room: Room, *names: str) -> None:
    """Show tables by the names of their functions in ``telling``; those without rows are left out."""
    from bench.apps.classroom import telling
    from bench.grammar.display import show_frame

    for frame in (getattr(telling, name)(room) for name in names):
        if len(frame):
            show_frame(frame)


def show(room: Room, *panels: str) -> None:
    """Show panels of the figure, named as the functions in ``bench.apps.classroom.forest``."""
    from bench.apps.classroom import forest
    from bench.grammar.display import show_figure

    for name in panels:
        drawn = forest.draw(room, name)
        show_figure(drawn, f"{drawn.axes[0].get_title(loc='left')}: {_finding(room)}")


def tell(room: Room, what: str = "conclusion") -> None:
    """Show sentences computed from the submissions: ``conclusion`` or ``heterogeneity``."""
    from IPython.display import Markdown, display

    from bench.apps.classroom import telling

    display(Markdown(getattr(telling, what)(room)))


def save(room: Room) -> None:
    """Save the whole figure, with its caption in it, as SVG and PNG, and show it."""
    from bench.apps.classroom import forest
    from bench.grammar.display import show_saved

    show_saved(forest.save(room), _finding(room))


def _finding(room: Room) -> str:
    from bench.apps.classroom import telling
    from bench.grammar.figure import first_sentence

    return first_sentence(telling.conclusion(room))
