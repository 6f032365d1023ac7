"""After each test with real connections: nothing is left open."""

import gc
import socket
import threading
from collections.abc import Iterator
from types import AsyncGeneratorType, GeneratorType

import pytest


def still_open() -> list[object]:
    """The generators of the library, sync and async, that have begun and have not ended."""
    found: list[object] = []
    for one in gc.get_objects():
        if type(one) is AsyncGeneratorType:
            code, frame = one.ag_code, one.ag_frame
        elif type(one) is GeneratorType:
            code, frame = one.gi_code, one.gi_frame
        else:
            continue
        if frame is not None and "streamaccumulator" in code.co_filename:
            found.append(one)
    return found


def _open_sockets() -> set[int]:
    return {one.fileno() for one in gc.get_objects() if isinstance(one, socket.socket)} - {-1}


@pytest.fixture(autouse=True)
def _nothing_is_left_open() -> Iterator[None]:
    """No socket, thread or generator of the library; a socket that nobody closed is a warning, and warnings are errors."""
    gc.collect()
    sockets, threads = _open_sockets(), set(threading.enumerate())
    yield
    assert not still_open()
    gc.collect()
    assert not _open_sockets() - sockets
    assert not [thread for thread in set(threading.enumerate()) - threads if thread.is_alive()]
