"""The server of the page: on the loopback address, for those who know its token.

A request is refused if its `Host` or `Origin` is not this server's, so that no other page in the
browser can reach it, not even by a name that leads to the loopback address. The token is part of
the path of everything. No page loads anything from elsewhere, which its policy also forbids.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import mimetypes
import re
import secrets
import socket
import threading
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import tornado.web
from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError

from bentpipe.compare import links
from bentpipe.errors import BentpipeError, InputError
from bentpipe.lab import page, results
from bentpipe.lab.completing import items
from bentpipe.lab.lessons import PREDICTIONS, lesson, lessons
from bentpipe.lab.packets import Packets, Range
from bentpipe.lab.picture import picture
from bentpipe.lab.runner import Job, Runner, StoppedError
from bentpipe.lab.saving import SAVED
from bentpipe.lab.state import MOST_CONTROLLERS, MOST_SEED, State, checked
from bentpipe.study.checks import LARGEST_SEED

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from bentpipe.lab.results import Metric

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
PORT = 8177
"""The first port that is tried."""
PORTS = 100
"""Ports after it that are tried."""
MOST_PORT = 65_535
MOST_BODY = 2_000_000
"""Bytes of a request."""
MOST_FILE = MOST_BODY // 2
"""Bytes of a file that the page opens.

Half of a request, because JSON escapes quotation marks and line ends with two bytes.
"""
SEEDS = 10
"""Seeds of a band."""
MOST_SEEDS = 50
PAGE_ID = re.compile(r"[\w-]{1,64}")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data:; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'self' http://127.0.0.1:* http://localhost:*"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Handler(tornado.web.RequestHandler):
    """A request that has the token, and comes from this server's own page."""

    def initialize(self, lab: Server) -> None:
        """Keep the server."""
        self.lab = lab

    def set_default_headers(self) -> None:
        """Set the headers of all answers. Nothing says which program this is."""
        self.clear_header("Server")
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> Awaitable[None] | None:
        """Refuse requests for other hosts, from other pages, and without the token."""
        allowed = [f"{name}:{self.lab.port}" for name in NAMES]
        host = self.request.headers.get_list("Host")
        if len(host) != 1 or host[0] not in allowed:
            raise tornado.web.HTTPError(403, reason="This is not the host of this page")
        origins = [f"http://{name}" for name in allowed]
        if any(one not in origins for one in self.request.headers.get_list("Origin")):
            raise tornado.web.HTTPError(403, reason="Only the page itself may ask")
        token = f"{self.request.path}/".split("/")[1]
        if not hmac.compare_digest(token.encode(), self.lab.token.encode()):
            raise tornado.web.HTTPError(403, reason="The token is missing or wrong")
        return None

    def write_error(self, status_code: int, **_: Any) -> None:
        """Write the reason as text."""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{self._reason}\n")

    def body(self) -> dict[str, Any]:
        """The JSON object of the request; 400 if it is none."""
        kind = self.request.headers.get("Content-Type", "").partition(";")[0]
        try:
            data = json.loads(self.request.body)
            # JSON can name halves of characters, which no file can have.
            json.dumps(data, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            data = None
        if kind != "application/json" or not isinstance(data, dict):
            raise tornado.web.HTTPError(400, reason="Expected a JSON object")
        return data

    def page_id(self, data: dict[str, Any]) -> str:
        """The name that a page gave itself; 400 without one."""
        found = data.get("page")
        if not isinstance(found, str) or not PAGE_ID.fullmatch(found):
            raise tornado.web.HTTPError(400, reason="Expected the name of the page")
        return found


class WithRuns(Handler):
    """A request that has runs. They end with its connection, and those of a later one do not."""

    def initialize(self, lab: Server) -> None:
        """Keep the server."""
        super().initialize(lab)
        self.job = Job()

    def on_connection_close(self) -> None:
        """Stop the runs, because the page is gone or has another request."""
        self.job.stopped = True


class Files(Handler):
    """The files of the page."""

    def get(self, _: str, name: str) -> None:
        """Write a file of the page; its name is one of a list."""
        known = page.files()
        if name and name not in known:
            raise tornado.web.HTTPError(404, reason="There is no such file")
        content = known[name or "index.html"].read_bytes()
        kind = mimetypes.guess_type(name or "index.html")[0] or "text/plain"
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.finish(content)


class Start(Handler):
    """The first state of the page, and what does not change."""

    def get(self, _: str) -> None:
        """Write the state, the presets, the figures and their colours."""
        self.finish({
            "state": self.lab.state.to_json(),
            "file": self.lab.state.source.file.name,
            "presets": links.presets(),
            "most_controllers": MOST_CONTROLLERS,
            "seeds": SEEDS,
            "most_seed": str(MOST_SEED),
            "most_bytes": MOST_FILE,
            "series": [asdict(one) for one in results.SERIES],
            **page.looks(),
        })  # fmt: skip


class Runs(WithRuns):
    """A picture: the scenario of a state, and a run for each of its controllers, line by line."""

    async def post(self, _: str) -> None:
        """Write JSON objects, one in each line, as results come."""
        data = self.body()
        page = self.page_id(data)
        self.set_header("Content-Type", "application/x-ndjson; charset=utf-8")
        try:
            state = State.of_json(data.get("state"), self.lab.state.source.file)
            found, runs = shown(state)
            seeds = number_of_seeds(data.get("seeds", 1))
        except BentpipeError as error:
            await self.line("error", problems=problems(error))
            return
        job = self.job
        await self.lab.runner.begin(page, job)
        repeated = [
            (f"{number} {name}", scenario.with_({"seed": later_seed(scenario.seed, number)}))
            for number in range(seeds)
            for name, scenario in runs
        ]
        todo = runs if seeds == 1 else repeated
        work = asyncio.ensure_future(self.lab.runner.run(page, job, todo))
        try:
            await self.line("setup", **found)
            names = [name for name, _ in runs]
            known = results.metrics(state.scenario)
            if seeds == 1:
                await self.results(job.reports, names, known)
            else:
                await self.bands(job.reports, names, seeds, known)
        except (StreamClosedError, asyncio.CancelledError):  # the page, or the server, has ended
            job.stopped = True
        await work

    async def results(
        self, reports: asyncio.Queue[Any], names: list[str], known: list[Metric]
    ) -> None:
        """Write the reports of a job until it has one of each controller."""
        open_, done = set(names), {}
        while open_:
            kind, name, content = await reports.get()
            if kind == "progress":
                await self.line(kind, controller=name, share=round(content, 3))
                continue
            open_.discard(name)
            if kind == "result":
                done[name] = content
                await self.line(kind, controller=name, **content)
            else:
                await self.line(kind, controller=name, message=content)
        ordered = {name: done[name] for name in names if name in done}
        if ordered:
            await self.line("tables", differences=results.table(ordered, known),
                            limits=results.limits(ordered),
                            summary=results.summary(ordered, names))  # fmt: skip
        await self.line("end")

    async def bands(
        self,
        reports: asyncio.Queue[Any],
        names: list[str],
        seeds: int,
        known: list[Metric],
    ) -> None:
        """Write how many runs are complete, and at the end the bands of all seeds."""
        done: dict[str, dict[str, Any]] = {}
        failed = ""
        ended = 0
        while ended < seeds * len(names):
            kind, label, content = await reports.get()
            if kind == "progress":
                continue
            ended += 1
            if kind == "result":
                done[label] = content
            else:
                failed = kind if content is None else f"{label.partition(' ')[2]}: {content}"
            await self.line("part", share=round(ended / (seeds * len(names)), 3))
        if failed:
            await self.line("stopped" if failed == "stopped" else "failed", controller="",
                            message=failed)  # fmt: skip
        else:
            from bentpipe.lab import bands

            found = {name: [done[f"{number} {name}"] for number in range(seeds)] for name in names}
            table = bands.table(found, known)
            await self.line("bands", seeds=seeds, lines=bands.lines(found), differences=table,
                            note=bands.note(table, seeds), limits=bands.limits(found),
                            summary=bands.summary(found))  # fmt: skip
        await self.line("end")

    async def line(self, kind: str, **content: Any) -> None:
        """Write one object."""
        self.write(json.dumps({"kind": kind, **content}, separators=(",", ":")) + "\n")
        await self.flush()


class Stop(Handler):
    """The end of the runs of a page."""

    def post(self, _: str) -> None:
        """Stop the runs."""
        self.lab.runner.stop(self.page_id(self.body()))
        self.finish({})


class Save(Handler):
    """A file for the reader, of the kinds of `SAVED`."""

    def post(self, _: str, kind: str) -> None:
        """Write the file as a download; errors as those of the scenario."""
        made = SAVED[kind]
        try:
            state = State.of_json(self.body().get("state"), self.lab.state.source.file)
            name, content = made(state)
        except BentpipeError as error:
            self.set_status(422)
            self.finish({"problems": problems(error)})
            return
        self.set_header("Content-Type", "application/octet-stream")
        self.set_header("Content-Disposition", f'attachment; filename="{name}"')
        self.finish(content)


class Sequence(WithRuns):
    """The time-sequence graph of one run: its whole range, or a part with every packet."""

    async def post(self, _: str) -> None:
        """Run, if there is no capture of the run yet, and write the points of the range."""
        data = self.body()
        page = self.page_id(data)
        try:
            state = State.of_json(data.get("state"), self.lab.state.source.file)
            (name,) = checked([data.get("controller")])
            asked = Range.of_json(data)
            work = partial(self.lab.packets.graph, state.of_controller(name), asked)
            found = await self.lab.runner.alone(page, self.job, work)
        except BentpipeError as error:
            self.set_status(422)
            self.finish({"problems": problems(error)})
        except StoppedError:
            raise tornado.web.HTTPError(409, reason="The run was stopped") from None
        else:
            self.finish(found)


class Complete(Handler):
    """Keys and values at the cursor of the scenario file."""

    def post(self, _: str) -> None:
        """Write the items for the text before the cursor, and what they replace."""
        before = self.body().get("before")
        if not isinstance(before, str):
            raise tornado.web.HTTPError(400, reason="Expected the text before the cursor")
        replaced, found = items(before)
        self.finish({"replaced": replaced, "items": [asdict(one) for one in found]})


class Lessons(WithRuns):
    """Questions with predictions, and their answers from runs."""

    def get(self, _: str) -> None:
        """Write all lessons, without their answers."""
        predictions = [one.text for one in PREDICTIONS]
        found = [one.to_dict() for one in lessons().values()]
        self.finish({"predictions": predictions, "lessons": found})

    async def post(self, _: str) -> None:
        """Run both sides of a lesson, and write what they say."""
        data = self.body()
        page = self.page_id(data)
        try:
            chosen = lesson(data.get("lesson"))
        except InputError as error:
            raise tornado.web.HTTPError(404, reason=str(error)) from None
        sides = {"before": chosen.before.state, "after": chosen.after.state}
        runs = [(name, one.of_controller(one.controllers[0])) for name, one in sides.items()]
        job = self.job
        await self.lab.runner.begin(page, job)
        await self.lab.runner.run(page, job, runs)
        ended = [job.reports.get_nowait() for _ in range(job.reports.qsize())]
        found = {name: content for kind, name, content in ended if kind == "result"}
        if found.keys() != sides.keys():
            raise tornado.web.HTTPError(409, reason="The runs were stopped")
        self.finish(chosen.answer(found["before"], found["after"]))


class Counted(Handler):
    """Numbers of runs."""

    def get(self, _: str) -> None:
        """Write the numbers."""
        self.finish(asdict(self.lab.runner.counts))


class Unknown(Handler):
    """Any other path: checked as all, so that nothing differs without the token."""

    def get(self, *_: str) -> None:
        """Answer that there is nothing."""
        raise tornado.web.HTTPError(404, reason="There is no such page")

    post = get


def shown(state: State) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    """What a page shows before any run, and the scenarios to run; `InputError`."""
    scenario = state.scenario
    link = links.Link(scenario.name, scenario)
    runs = list(state.runs.items())
    explained = scenario.explain()
    found = {
        "name": scenario.name,
        "toml": state.toml,
        "duration_s": scenario.duration_s,
        "seed": str(scenario.seed),
        "path": picture(link, explained),
        "controls": [one.to_dict() for one in state.source.controls],
        "choices": state.source.choices,
        "failed": state.failed,
        "notes": state.notes,
        "warnings": [one.sentence for one in explained.warnings],
    }
    return found, runs


def number_of_seeds(found: Any) -> int:
    """The number of seeds of a request; `InputError` if it is none."""
    if type(found) is not int or not 1 <= found <= MOST_SEEDS:
        raise InputError.of_value("seeds", f"a whole number from 1 to {MOST_SEEDS}", repr(found))
    return found


def later_seed(seed: int, number: int) -> int:
    """The seed of a run of a band, as of the replication of a study with this number."""
    return (seed + number) & LARGEST_SEED


def problems(error: BentpipeError) -> list[dict[str, Any]]:
    """The errors of an exception, for the page: those of the command line."""
    found = error.errors if isinstance(error, InputError) else ()
    return [
        {"message": one.message, "line": one.line, "column": one.column, "path": one.path}
        for one in found
    ] or [{"message": str(error), "line": None, "column": None, "path": ""}]


class Server:
    """The server of one page, in a thread of its own. `close` ends it."""

    def __init__(self, state: State, port: int | None = None) -> None:
        """Bind a port: `port`, or the first free one; `InputError` if it is in use."""
        self.state = state
        self.token = secrets.token_urlsafe(18)
        self.socket = bound(port)
        self.port: int = self.socket.getsockname()[1]
        self.runner = Runner()
        self.packets = Packets()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.serve, name="bentpipe-lab", daemon=True)
        started = threading.Event()
        self.loop.call_soon(started.set)
        self.thread.start()
        started.wait()

    @property
    def address(self) -> str:
        """The address of the page, with its token."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def serve(self) -> None:
        """Answer until the loop is stopped."""
        asyncio.set_event_loop(self.loop)
        token = r"/([^/]*)"
        given = {"lab": self}
        application = tornado.web.Application(
            [
                (rf"{token}/start", Start, given),
                (rf"{token}/run", Runs, given),
                (rf"{token}/stop", Stop, given),
                (rf"{token}/save/({'|'.join(SAVED)})", Save, given),
                (rf"{token}/packets", Sequence, given),
                (rf"{token}/complete", Complete, given),
                (rf"{token}/lessons", Lessons, given),
                (rf"{token}/counts", Counted, given),
                (rf"{token}/((?:[\w.-]+)?)", Files, given),
                (r".*", Unknown, given),
            ],
            log_function=lambda _: None,
        )
        server = HTTPServer(application, max_body_size=MOST_BODY, max_header_size=16_384)
        server.add_socket(self.socket)
        try:
            self.loop.run_forever()
        finally:
            server.stop()
            self.loop.run_until_complete(self.end(server))
            self.loop.close()

    async def end(self, server: HTTPServer) -> None:
        """Close all connections, and let tasks see it."""
        await server.close_all_connections()
        tasks = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        """Stop all runs, and end the server."""
        if self.loop.is_closed():
            return
        self.runner.close()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.packets.close()


def bound(port: int | None) -> socket.socket:
    """A socket that listens on a port of the loopback address; `InputError` if it is in use.

    Also for a port that is no whole number from 1 to 65535.
    """
    if port is not None and not (type(port) is int and 1 <= port <= MOST_PORT):
        raise InputError.of_value("port", f"a whole number from 1 to {MOST_PORT}", repr(port))
    for number in range(PORT, PORT + PORTS) if port is None else [port]:
        try:
            return listening(number)
        except OSError as error:
            reason = error.strerror or str(error)
    if port is None:
        raise InputError(f"no port from {PORT} to {PORT + PORTS - 1} is free; choose one by --port")
    free = next((one for one in range(port + 1, MOST_PORT + 1) if is_free(one)), None)
    hint = f"; the next free one is {free}: --port {free}" if free else ""
    raise InputError(f"--port {port}: {reason.lower()}{hint}")


def listening(port: int) -> socket.socket:
    """A socket on a port of the loopback address, for this process only; `OSError`."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setblocking(False)
        made.bind((HOST, port))
        made.listen(128)
    except OSError:
        made.close()
        raise
    return made


def is_free(port: int) -> bool:
    """True if a port can be listened on."""
    try:
        listening(port).close()
    except OSError:
        return False
    return True
