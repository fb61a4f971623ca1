"""The example that serves a program: answers, batches, and requests that do not fit."""

import asyncio
import importlib.util
import json
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn

import aten

EXAMPLE = Path(__file__).parents[2] / "examples" / "serve.py"
DIGITS = Path(aten.__file__).parent / "examples" / "digits" / "digits_cnn.pt2"


@pytest.fixture(scope="module")
def serve():
    spec = importlib.util.spec_from_file_location("serve", EXAMPLE)
    module = sys.modules["serve"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def served(application):
    """The address of a server in a thread of its own."""
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def address(serve):
    with served(serve.application(str(DIGITS), most_bytes=1 << 16)) as address:
        yield address


async def answers_to(address, images):
    """What is answered to requests that are all under way at once."""
    limits = httpx.Limits(max_connections=50)
    async with httpx.AsyncClient(base_url=address, limits=limits, timeout=30) as client:
        calls = [client.post("/predict", json={"inputs": [one.tolist()]}) for one in images]
        return await asyncio.gather(*calls)


def test_many_requests_at_once_are_joined_and_answered_each(address):
    images = [aten.rand(1 + place % 3, 1, 8, 8) for place in range(200)]
    program = aten.export.load(DIGITS).module()
    responses = asyncio.run(answers_to(address, images))
    for image, response in zip(images, responses, strict=True):
        assert response.status_code == 200
        (output,) = response.json()["outputs"]
        aten.testing.assert_close(aten.tensor(output), program(image), rtol=1e-5, atol=1e-6)
    batches = httpx.get(f"{address}/health").json()["batches"]
    assert max(map(int, batches)) > 8
    assert sum(int(rows) * count for rows, count in batches.items()) >= sum(map(len, images))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{", "expected JSON"),
        ("[" * 5000, "expected JSON"),
        ("[]", '{"inputs"'),
        ('{"inputs": []}', "1 nests"),
        ('{"inputs": [1]}', "got ()"),
        ('{"inputs": [[[[1, 2], [3]]]]}', "expected numbers of shape (rows, 1, 8, 8)"),
        ('{"inputs": [[[["a"]]]]}', "expected numbers"),
        ('{"inputs": [[]]}', "got (0,)"),
        (json.dumps({"inputs": [[[[0.0] * 8] * 7]]}), "got (1, 7, 8)"),
    ],
)
def test_requests_that_do_not_fit_say_why(address, body, said):
    response = httpx.post(f"{address}/predict", content=body)
    assert response.status_code == 400
    assert said in response.json()["error"]


def test_other_refusals(address):
    assert httpx.post(f"{address}/predict", content=b" " * (1 << 17)).status_code == 413
    assert httpx.get(f"{address}/predict").status_code == 405
    assert httpx.get(f"{address}/nothing").status_code == 404


def test_numbers_that_are_not_finite(address):
    image = [[[[float("nan")] * 8] * 8]]
    response = httpx.post(f"{address}/predict", content=json.dumps({"inputs": [image]}))
    assert response.status_code == 200
    assert response.json()["outputs"] == [[[None] * 10]]


def test_a_full_queue_is_said_at_once(serve):
    slow = serve.application(str(DIGITS), patience=0.3, waiting=1)
    with served(slow) as address:
        images = [aten.rand(1, 1, 8, 8)] * 40
        codes = {one.status_code for one in asyncio.run(answers_to(address, images))}
    assert 200 in codes
    assert codes <= {200, 503}


class Refusing:
    """A model that refuses rows of zeros."""

    fixed = frozenset()

    def __call__(self, inputs):
        if not inputs[0].all():
            raise IndexError("a zero")
        return [inputs[0] * 2]


def test_a_request_that_the_program_refuses_does_not_fail_others(serve):
    async def asked():
        batcher = serve.Batcher(Refusing(), rows=8, patience=0.05, waiting=8)
        worker = asyncio.create_task(batcher.work())
        rows = [aten.ones(1, 2), aten.zeros(1, 2), aten.full((2, 2), 3.0)]
        found = await asyncio.gather(
            *(batcher.answer([one]) for one in rows), return_exceptions=True
        )
        worker.cancel()
        return found

    first, second, third = asyncio.run(asked())
    assert first[0].tolist() == [[2.0, 2.0]]
    assert isinstance(second, serve.BadRequestError)
    assert "a zero" in str(second)
    assert third[0].tolist() == [[6.0, 6.0]] * 2
