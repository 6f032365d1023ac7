"""A real HTTP/1.1 server on a loopback port that sends given bytes in given pieces, and can break in the middle."""

import contextlib
import sys
import threading
import zlib
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Script:
    """What the server does with each request, and what it saw.

    `pieces` go out one chunk each. `end` says what comes after them: `whole` ends the body properly, `broken` closes the
    connection inside a chunk, `closed` between two, `silent` sends nothing more until `release` is set. `sized` announces the
    length of the body instead of sending it in chunks, and `broken` then closes before that many bytes. `encoding` (gzip,
    deflate) compresses the pieces, each so that it can be read at once; then `corrupt` sends bytes that cannot be
    decompressed, and `unfinished` ends the body properly where the compressed data has not ended.
    """

    def __init__(
        self,
        pieces: Sequence[bytes],
        end: str = "whole",
        content_type: str = "text/event-stream",
        *,
        sized: bool = False,
        encoding: str = "",
    ) -> None:
        self.pieces = pieces
        self.end = end
        self.content_type = content_type
        self.sized = sized
        self.encoding = encoding
        self.release = threading.Event()
        self.left = threading.Event()
        self.url = ""
        self.refusals: list[tuple[int, dict[str, str], bytes]] = []
        """Status, headers and body of what the next requests are answered with; status 0 closes the connection, 1 in mid-answer."""
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        """Path, headers (their names in small letters) and body of each request."""

    def pieces_for(self, path: str) -> Iterator[bytes]:
        """What goes out for one request."""
        if not self.encoding:
            yield from self.pieces
            return
        packer = zlib.compressobj(wbits=31 if self.encoding == "gzip" else 15)
        for piece in self.pieces:
            yield packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
        if self.end == "whole":
            yield packer.flush()
        elif self.end == "corrupt":
            yield b"\xff" * 40  # a block of a kind that there is none of


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # joined at the end, so that no thread or socket is left open
    script: Script

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves early is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.script.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        self.do_GET()

    def do_GET(self) -> None:
        script = self.server.script
        if script.refusals:
            self._refuse(*script.refusals.pop(0))
            return
        self.send_response(200)
        self.send_header("content-type", script.content_type)
        self.send_header("connection", "close")  # a client that nobody closes would keep the server waiting
        if script.sized:
            self._send_sized(script)
            return
        if script.encoding:
            self.send_header("content-encoding", script.encoding)
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

    def _refuse(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.close_connection = True
        if status == 0:
            return
        self.send_response(200 if status == 1 else status)
        length = str(len(body) + status * (status == 1))
        for name, value in {"content-length": length, "connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _send_sized(self, script: Script) -> None:
        whole = b"".join(script.pieces)
        self.send_header("content-length", str(len(whole) + (1000 if script.end == "broken" else 0)))
        self.end_headers()
        self.wfile.write(whole)
        self.close_connection = True

    def _finish(self, script: Script) -> None:
        if script.end in ("whole", "corrupt", "unfinished"):
            self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True
        elif script.end == "closed":
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


def _serve_alone(content_type: str, pieces: list[str]) -> None:
    """In a process of its own, to be killed: say where, send the pieces, and then nothing more."""
    with serving(Script([piece.encode() for piece in pieces], "silent", content_type)) as url:
        print(url, flush=True)  # noqa: T201  # how whoever started it learns the address
        threading.Event().wait()


if __name__ == "__main__":
    _serve_alone(sys.argv[1], sys.argv[2:])
