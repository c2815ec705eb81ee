"""A small https server for downloads, in a thread, with a certificate made for the test."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class Web:
    """``answers``: path → what to do with the request.  ``asked``: every path, in order."""

    port: int
    tls: ssl.SSLContext
    certificate: Path
    answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str, scheme: str = "https") -> str:
        """The address of a path."""
        return f"{scheme}://localhost:{self.port}{path}"

    def file(self, path: str, data: bytes, *, length: int | None = -1, status: int = 200) -> str:
        """Serve these bytes; ``length`` is what is announced (-1: the truth, None: nothing)."""

        def answer(request: BaseHTTPRequestHandler) -> None:
            request.send_response(status)
            if length is not None:
                request.send_header("Content-Length", str(len(data) if length < 0 else length))
            request.end_headers()
            request.wfile.write(data)

        self.answers[path] = answer
        return self.url(path)

    def redirect(self, path: str, where: str, status: int = 302) -> str:
        """Send whoever asks somewhere else."""

        def answer(request: BaseHTTPRequestHandler) -> None:
            request.send_response(status)
            request.send_header("Location", where)
            request.send_header("Set-Cookie", "who=me")
            request.send_header("Content-Length", "0")
            request.end_headers()

        self.answers[path] = answer
        return self.url(path)


@contextmanager
def serving(folder: Path) -> Iterator[Web]:
    """The server, for the length of the block."""
    cert, key = folder / "web-cert.pem", folder / "web-key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-nodes"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ours.load_cert_chain(cert, key)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.asked.append(self.path)
            web.headers.append({name.lower(): value for name, value in self.headers.items()})
            answer = web.answers.get(self.path.partition("?")[0])
            if answer is None:
                self.send_error(404)
                return
            try:
                answer(self)
            except OSError:  # who asked has gone
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    server.socket = ours.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    web = Web(server.server_address[1], ssl.create_default_context(cafile=str(cert)), cert)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield web
    finally:
        web.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()
