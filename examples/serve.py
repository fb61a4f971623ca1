"""Answer requests over HTTP with an exported program, several of them at a time.

    pip install '.[serve]'
    python examples/serve.py digits_cnn.pt2 --port 8000

Requests that arrive together are joined along the first dimension and run as one batch: a request
waits until as many rows have come as a batch holds, or until it has waited long enough.

    curl localhost:8000/predict -d '{"inputs": [[[[[0.0, …], …]]]]}'

`inputs` has a nest of numbers for each input of the program, with any number of rows. The answer
has `outputs`, alike, with null for what is not finite. Requests that do not fit the program are
answered with 400 and the reason; 413 is for those that are too large, and 503 for those that find
the queue full.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import aten


class BadRequestError(Exception):
    """A request that does not fit the program. Its text is for whoever asked."""


class FullError(Exception):
    """There is no room for another request."""


@dataclass(frozen=True, slots=True)
class Input:
    """What a program takes: sizes after the first, which counts rows, and a dtype."""

    name: str
    sizes: tuple[int, ...]
    dtype: aten.dtype

    def read(self, value: Any) -> aten.Tensor:
        """The tensor for a nest of numbers. Raises BadRequestError where it does not fit."""
        expected = (
            f"{self.name}: expected numbers of shape (rows, {', '.join(map(str, self.sizes))})"
        )
        try:
            tensor = aten.tensor(value)
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise BadRequestError(f"{expected}; {error}") from None
        if tensor.dim() == 0 or tuple(tensor.shape[1:]) != self.sizes or tensor.shape[0] == 0:
            raise BadRequestError(f"{expected}, got {tuple(tensor.shape)}")
        if not aten.can_cast(tensor.dtype, self.dtype):
            raise BadRequestError(f"{self.name}: expected {self.dtype}, got {tensor.dtype}")
        return tensor.to(self.dtype)


class Model:
    """A compiled program whose first dimension counts rows."""

    def __init__(self, path: str) -> None:
        program = aten.export.load(path)
        wanted = program.graph_signature.user_inputs
        metas = [
            (node.name, node.meta["val"]) for node in program.graph.nodes if node.name in wanted
        ]
        for name, meta in metas:
            if not meta.shape or not all(isinstance(size, int) for size in meta.shape[1:]):
                raise SystemExit(f"{path}: of {name} only the first size may vary: {meta.shape}")
        self.inputs = [Input(name, tuple(meta.shape[1:]), meta.dtype) for name, meta in metas]
        self.fixed = {meta.shape[0] for _, meta in metas if isinstance(meta.shape[0], int)}
        self._run: Callable[..., Any] = aten.compile(program.module(), dynamic=True)

    def read(self, document: Any) -> list[aten.Tensor]:
        """The inputs of a request. Raises BadRequestError where they do not fit."""
        given = document.get("inputs") if isinstance(document, dict) else None
        if not isinstance(given, list) or len(given) != len(self.inputs):
            raise BadRequestError(f'expected {{"inputs": [{len(self.inputs)} nests of numbers]}}')
        read = [one.read(value) for one, value in zip(self.inputs, given, strict=True)]
        rows = {one.shape[0] for one in read}
        if len(rows) > 1:
            raise BadRequestError(f"expected as many rows in each input, got {sorted(rows)}")
        if self.fixed and rows != self.fixed:
            raise BadRequestError(f"expected {self.fixed.pop()} rows, got {rows.pop()}")
        return read

    def __call__(self, inputs: Sequence[aten.Tensor]) -> list[aten.Tensor]:
        """The program's outputs."""
        with aten.inference_mode():
            made = self._run(*inputs)
        return [made] if isinstance(made, aten.Tensor) else list(made)


class Batcher:
    """Joins requests that wait at the same time, and runs them one batch after the other.

    Attributes:
        sizes: how many batches had so many rows.
    """

    def __init__(self, model: Model, rows: int, patience: float, waiting: int) -> None:
        self.sizes: Counter[int] = Counter()
        self._model = model
        self._rows = 1 if model.fixed else rows
        self._patience = patience
        self._queue: asyncio.Queue[tuple[list[aten.Tensor], asyncio.Future[Any]]]
        self._queue = asyncio.Queue(waiting)

    async def answer(self, inputs: list[aten.Tensor]) -> list[aten.Tensor]:
        """The outputs for one request's inputs. Raises FullError at once if too many wait."""
        answer: asyncio.Future[list[aten.Tensor]] = asyncio.get_running_loop().create_future()
        try:
            self._queue.put_nowait((inputs, answer))
        except asyncio.QueueFull:
            raise FullError from None
        return await answer

    async def work(self) -> None:
        """Run batches until this is cancelled."""
        while True:
            await self._run(await self._gathered())

    async def _run(self, batch: list[tuple[list[aten.Tensor], asyncio.Future[Any]]]) -> None:
        try:
            outputs = await asyncio.to_thread(self._outputs, [one for one, _ in batch])
        except Exception as error:
            # What one request makes the program refuse is not the others' fault.
            if len(batch) > 1:
                for one in batch:
                    await self._run([one])
            elif not batch[0][1].done():
                batch[0][1].set_exception(BadRequestError(f"the program refuses it: {error}"))
            return
        for (_, answer), made in zip(batch, outputs, strict=True):
            if not answer.done():
                answer.set_result(made)

    async def _gathered(self) -> list[tuple[list[aten.Tensor], asyncio.Future[Any]]]:
        batch = [await self._queue.get()]
        rows = batch[0][0][0].shape[0]
        loop = asyncio.get_running_loop()
        end = loop.time() + self._patience
        while rows < self._rows:
            try:
                batch.append(await asyncio.wait_for(self._queue.get(), end - loop.time()))
            except TimeoutError:
                break
            rows += batch[-1][0][0].shape[0]
        return batch

    def _outputs(self, requests: list[list[aten.Tensor]]) -> list[list[aten.Tensor]]:
        counts = [one[0].shape[0] for one in requests]
        self.sizes[sum(counts)] += 1
        joined = [aten.cat(parts) for parts in zip(*requests, strict=True)]
        split = [aten.split(one, counts) for one in self._model(joined)]
        return [list(parts) for parts in zip(*split, strict=True)]


def numbers(tensor: aten.Tensor) -> Any:
    """A nest of its elements, with None in the place of those that JSON has no numbers for."""
    if not tensor.is_floating_point() or bool(aten.isfinite(tensor).all()):
        return tensor.tolist()
    if tensor.dim() == 0:
        return None
    return [numbers(part) for part in tensor]


async def document_of(request: Request, most: int) -> Any:
    """The JSON of a request's body; None where there are more than `most` bytes of it.

    Raises BadRequestError where it is no JSON.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"expected JSON: {error}") from None


def application(
    path: str,
    rows: int = 32,
    patience: float = 0.002,
    waiting: int = 256,
    most_bytes: int = 1 << 24,
) -> Starlette:
    """An ASGI application that answers with the program at `path`.

    Batches hold about `rows` rows, and a request waits `patience` seconds for others to join it. As
    many as `waiting` requests may be in the queue, and each may have `most_bytes` bytes.
    """
    model = Model(path)
    batcher = Batcher(model, rows, patience, waiting)

    async def predict(request: Request) -> JSONResponse:
        try:
            document = await document_of(request, most_bytes)
            if document is None:
                return JSONResponse({"error": f"expected at most {most_bytes} bytes"}, 413)
            outputs = await batcher.answer(model.read(document))
        except BadRequestError as error:
            return JSONResponse({"error": str(error)}, 400)
        except ClientDisconnect:
            return JSONResponse({"error": "the request was not whole"}, 400)
        except FullError:
            return JSONResponse({"error": "too many requests wait"}, 503, {"Retry-After": "1"})
        return JSONResponse({"outputs": [numbers(one) for one in outputs]})

    async def health(request: Request) -> JSONResponse:
        inputs = [
            {"name": one.name, "sizes": one.sizes, "dtype": str(one.dtype)} for one in model.inputs
        ]
        return JSONResponse({"inputs": inputs, "batches": dict(sorted(batcher.sizes.items()))})

    @asynccontextmanager
    async def working(_: Starlette) -> AsyncIterator[None]:
        worker = asyncio.create_task(batcher.work())
        yield
        worker.cancel()

    routes = [Route("/predict", predict, methods=["POST"]), Route("/health", health)]
    return Starlette(routes=routes, lifespan=working)


def main() -> None:
    """Serve the program that the command line names."""
    parser = argparse.ArgumentParser(description="Answer requests with an exported program.")
    parser.add_argument("program", help="a .pt2 file")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--rows", type=int, default=32, help="rows of a batch")
    parser.add_argument("--wait", type=float, default=2, help="milliseconds a request waits")
    parser.add_argument("--waiting", type=int, default=256, help="requests in the queue")
    given = parser.parse_args()
    served = application(given.program, given.rows, given.wait / 1000, given.waiting)
    uvicorn.run(served, host=given.host, port=given.port, log_level="warning")


if __name__ == "__main__":
    main()
