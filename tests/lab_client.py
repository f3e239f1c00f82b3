"""A client of the server of the live page, for tests."""

from __future__ import annotations

import http.client
import json
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message

    from bentpipe.lab.server import Server


PRESET = {"preset": "geo-ku", "controllers": ["cubic", "bbr"], "values": {"duration": "5s"}}


def of_kind(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [one for one in lines if one["kind"] == kind]


@dataclass
class Answer:
    """A whole answer of the server."""

    status: int
    headers: Message
    content: bytes


@dataclass
class Client:
    """Asks a server as another program would."""

    server: Server
    page: str = "tests"

    @contextmanager
    def opened(
        self, method: str, path: str, content: Any = None, **headers: str
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer to one request; `path` is below the token unless it begins with `/`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        whole = path if path.startswith("/") else f"/{self.server.token}/{path}"
        body = None if content is None else json.dumps(content)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        kind = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, whole, body, kind | named)
        with closing(connection), connection.getresponse() as answer:
            yield answer

    def ask(self, method: str, path: str, content: Any = None, **headers: str) -> Answer:
        """The whole answer to one request."""
        with self.opened(method, path, content, **headers) as answer:
            return Answer(answer.status, answer.headers, answer.read())

    def run(self, state: Any) -> list[dict[str, Any]]:
        """The lines of a picture."""
        answer = self.ask("POST", "run", {"page": self.page, "state": state})
        assert answer.status == 200
        return [json.loads(line) for line in answer.content.splitlines()]
