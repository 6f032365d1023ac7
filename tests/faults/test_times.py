"""Known faults of other libraries: when the first token came."""

from collections.abc import Iterator

from streamaccumulator import StreamTimings, accumulate

from ..wire import delta, finish


def test_b173_the_first_content_has_its_own_time_and_is_set_once() -> None:
    now = 0.0

    def at_their_times(pieces: list[tuple[float, bytes]]) -> Iterator[bytes]:
        nonlocal now
        for at, piece in pieces:
            now = at
            yield piece

    role, comment = (0.1, delta(role="assistant", content="")), (0.2, b": ping\n\n")
    timings = StreamTimings(lambda: now)
    accumulate(at_their_times([role, comment, (0.5, delta(content="a")), (2.0, finish("stop"))]), timings=timings)
    assert (timings.time_to_first_chunk, timings.time_to_first_content, timings.total) == (0.1, 0.5, 2.0)

    now = 0.0
    silent = StreamTimings(lambda: now)
    accumulate(at_their_times([role, comment, (2.0, finish("stop"))]), timings=silent)
    assert (silent.time_to_first_chunk, silent.time_to_first_content) == (0.1, None)
