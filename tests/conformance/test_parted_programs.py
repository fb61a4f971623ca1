"""Exported programs that depend on data: compiled up to there."""

import io

import pytest
import torch
from torch import nn

import aten


class Chooses(nn.Module):
    """Scores of rows by a small network, and the rows whose score is above zero."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 5), nn.Tanh())
        self.register_buffer("scale", torch.full((5,), 2.0))

    def forward(self, rows):
        scores = (self.layers(rows) * self.scale).sum(1)
        kept = (scores > 0).nonzero()[:, 0]
        return rows[kept], scores[kept], scores


def program_of(model=Chooses, dynamic=False):
    """As torch exports it."""
    torch.manual_seed(0)
    shapes = {"rows": {0: torch.export.Dim("count", min=2, max=100)}} if dynamic else None
    file = io.BytesIO()
    made = torch.export.export(model().eval(), (torch.randn(8, 6),), dynamic_shapes=shapes)
    torch.export.save(made, file)
    return aten.export.load(io.BytesIO(file.getvalue()))


def same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        aten.testing.assert_close(one, other)


def test_what_comes_before_data_is_compiled():
    module = program_of().module()
    compiled = aten.compile(module)
    with aten.no_grad():
        for seed in range(4):
            rows = aten.randn(8, 6, generator=aten.Generator().manual_seed(seed))
            same(compiled(rows), module(rows))
    (program,) = compiled.programs()
    called = [node.target for node in program.graph.nodes]
    assert called.count("fused.strips_product.default") == 2
    assert "aten.nonzero.default" not in called
    assert compiled.breaks
    text = aten.compiler.explain(compiled)
    assert "program 1" in text
    assert "nonzero" in text


def test_it_is_refused_where_all_has_to_be_one_graph():
    with pytest.raises(RuntimeError, match="is not one graph"):
        aten.compile(program_of().module(), fullgraph=True)(aten.randn(8, 6))


def test_sizes_that_are_open():
    module = program_of(dynamic=True).module()
    compiled = aten.compile(module)
    with aten.no_grad():
        for count in (8, 3, 40, 8, 17):
            rows = aten.randn(count, 6)
            same(compiled(rows), module(rows))


def test_state_that_is_written_to_or_replaced():
    program = program_of()
    module = program.module()
    compiled = aten.compile(module)
    rows = aten.randn(8, 6)
    with aten.no_grad():
        same(compiled(rows), module(rows))
        program.state_dict["scale"].mul_(-1)
        same(compiled(rows), module(rows))
        program.state_dict["layers.0.weight"] = aten.randn(16, 6)
        same(compiled(rows), module(rows))
        same(compiled(rows), module(rows))


def test_gradients_go_through_it():
    module = program_of().module()
    compiled = aten.compile(module)
    rows = aten.randn(8, 6)
    gradients = []
    for one in (module, compiled):
        given = rows.clone().requires_grad_()
        one(given)[1].sum().backward()
        gradients.append(given.grad)
    aten.testing.assert_close(*gradients)


def test_programs_that_draw_or_write_stay_whole():
    class Draws(Chooses):
        def forward(self, rows):
            noise = torch.rand(5)
            kept = (self.layers(rows).sum(1) > 0).nonzero()[:, 0]
            return rows[kept], noise + torch.rand(5)

    module = program_of(Draws).module()
    compiled, rows = aten.compile(module), aten.randn(8, 6)
    with aten.no_grad():
        aten.manual_seed(5)
        expected = module(rows)
        aten.manual_seed(5)
        same(compiled(rows), expected)
    assert not compiled.programs()


def test_it_can_be_forgotten():
    module = program_of().module()
    compiled, rows = aten.compile(module), aten.randn(8, 6)
    with aten.no_grad():
        compiled(rows)
        compiled.forget()
        assert not compiled.programs()
        same(compiled(rows), module(rows))
        assert compiled.programs()


def test_checks_are_made():
    class Checks(Chooses):
        def forward(self, rows):
            torch._assert_async((rows < 50).all(), "a row is too large")
            return super().forward(rows)

    module = program_of(Checks).module()
    compiled = aten.compile(module)
    with aten.no_grad():
        rows = aten.randn(8, 6)
        same(compiled(rows), module(rows))
        assert compiled.programs()
        for one in (module, compiled):
            with pytest.raises(RuntimeError, match="a row is too large"):
                one(rows + 100)
