"""Where a decoder's events go: for each choice an `emit`, and what may stand before it."""

from .events import Notice
from .protocols import Sink
from .protocols.surrogates import Emit
from .think_tags import ThinkStage, ThinkTags


def only_first(emit: Emit) -> Sink:
    """A sink that gives `emit` the events of choice 0, and one Notice if there are other choices."""

    def sink(choice: int) -> Emit:
        if choice == 0:
            return emit
        emit(Notice("other_choices", "the stream has other choices, left out here; accumulate_choices gives all"))
        return lambda event: None

    return sink


def with_first(emit: Emit, sink: Sink) -> Sink:
    """`sink`, once it has been asked for choice 0 and gave `emit`."""
    return lambda choice: emit if choice == 0 else sink(choice)


def staged(tags: ThinkTags, sink: Sink, stages: dict[int, ThinkStage]) -> Sink:
    """`sink` with a stage before each choice's `emit`, which is put into `stages`."""

    def of(choice: int) -> Emit:
        stage = stages[choice] = tags.stage(sink(choice))
        return stage

    return of
