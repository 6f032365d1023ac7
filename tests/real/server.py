"""A real HTTP/1.1 server on a loopback port that sends given bytes in given pieces, and can break in the middle."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Script:
    """What the server does with each request, and what it saw.

    `pieces` go out one chunk each. `end` says what comes after them: `whole` ends the body properly, `broken` closes the
    connection inside a chunk, `silent` sends nothing more until `release` is set. `sized` announces the length of the body
    instead of sending it in chunks, and `broken` then closes before that many bytes.
    """

    def __init__(
        self, pieces: Sequence[bytes], end: str = "whole", content_type: str = "text/event-stream", *, sized: bool = False
    ) -> None:
        self.pieces = pieces
        self.end = end
        self.content_type = content_type
        self.sized = sized
        self.release = threading.Event()
        self.left = threading.Event()
        self.url = ""

    def pieces_for(self, path: str) -> Iterator[bytes]:
        """What goes out for one request."""
        yield from self.pieces


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # joined at the end, so that no thread or socket is left open
    script: Script

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves early is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        self.rfile.read(length)
        self.do_GET()

    def do_GET(self) -> None:
        script = self.server.script
        self.send_response(200)
        self.send_header("content-type", script.content_type)
        self.send_header("connection", "close")  # a client that nobody closes would keep the server waiting
        if script.sized:
            self._send_sized(script)
            return
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for piece in script.pieces_for(self.path):
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                self.wfile.flush()
            self._finish(script)
        except OSError:
            script.left.set()
            self.close_connection = True

    def _send_sized(self, script: Script) -> None:
        whole = b"".join(script.pieces)
        self.send_header("content-length", str(len(whole) + (1000 if script.end == "broken" else 0)))
        self.end_headers()
        self.wfile.write(whole)
        self.close_connection = True

    def _finish(self, script: Script) -> None:
        if script.end == "whole":
            self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True
        elif script.end == "broken":
            self.wfile.write(b"ffff\r\ndata: {")
            self.close_connection = True
        else:
            while not script.release.wait(0.02):
                self.wfile.write(b"2\r\n: \r\n")  # a comment now and then, which notices a client that has left
                self.wfile.flush()
            self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:
        """Tests are quiet."""


@contextlib.contextmanager
def serving(script: Script) -> Iterator[str]:
    """The address of a server that follows the script, until the block ends."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.script = script
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        script.release.set()
        server.shutdown()
        thread.join()
        server.server_close()
