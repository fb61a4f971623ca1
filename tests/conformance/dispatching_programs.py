"""Programs with `__torch_dispatch__`, written as the field writes them; each gives plain values."""


def logged(torch, dispatching, pytree):
    """A tensor that notes every operator, with gradients."""
    seen = []

    class LoggingTensor(torch.Tensor):
        @staticmethod
        def __new__(cls, elem, *args, **kwargs):
            made = torch.Tensor._make_wrapper_subclass(
                cls,
                elem.size(),
                strides=elem.stride(),
                storage_offset=elem.storage_offset(),
                dtype=elem.dtype,
                layout=elem.layout,
                device=elem.device,
                requires_grad=kwargs.get("requires_grad", False),
            )
            made.elem = elem
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            def unwrap(value):
                return value.elem if isinstance(value, cls) else value

            def wrap(value):
                return cls(value) if isinstance(value, torch.Tensor) else value

            seen.append(str(func))
            args, kwargs = pytree.tree_map(unwrap, args), pytree.tree_map(unwrap, kwargs or {})
            return pytree.tree_map(wrap, func(*args, **kwargs))

    x = LoggingTensor(torch.tensor([1.0, 2.0, 3.0]), requires_grad=True)
    y = x * 2 + 1
    names = [type(x).__name__, type(y).__name__, list(y.shape), y.requires_grad]
    values = [y.elem.tolist(), torch.neg(x).elem.tolist(), torch.stack([x, x]).elem.tolist()]
    forward = list(seen)
    z = (x * x).sum()
    (slope,) = torch.autograd.grad(z, x)
    return [names, values, forward, type(slope).__name__, slope.elem.tolist()]


def with_units(torch, dispatching, pytree):
    """A tensor that carries a unit."""

    class Quantity(torch.Tensor):
        @staticmethod
        def __new__(cls, data, unit):
            made = torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype)
            made.data_, made.unit = data, unit
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            units = [one.unit for one in args if isinstance(one, Quantity)]
            plain = [one.data_ if isinstance(one, Quantity) else one for one in args]
            aten = torch.ops.aten
            if func in (aten.add.Tensor, aten.sub.Tensor):
                if len(set(units)) != 1 or len(units) != 2:
                    raise ValueError("units differ")
                return cls(func(*plain), units[0])
            if func is aten.mul.Tensor:
                return cls(func(*plain), "·".join(units))
            if func is aten.sum.default:
                return cls(func(*plain), units[0])
            return NotImplemented

    length = Quantity(torch.tensor([1.0, 2.0]), "m")
    time = Quantity(torch.tensor([4.0, 8.0]), "s")
    results = []
    for one in (length + length, length * time, (length * 3.0).sum()):
        results.append([one.data_.tolist(), one.unit])
    for wrong in (lambda: length + time, lambda: torch.exp(length)):
        try:
            wrong()
        except (ValueError, TypeError) as error:
            results.append(type(error).__name__)
    return results


def counted(torch, dispatching, pytree):
    """A mode that counts the operations of products."""

    class FlopCounter(dispatching.TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.flops = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is torch.ops.aten.mm.default:
                (m, k), (_, n) = args[0].shape, args[1].shape
                self.flops += 2 * m * k * n
            if func is torch.ops.aten.bmm.default:
                (b, m, k), (_, _, n) = args[0].shape, args[1].shape
                self.flops += 2 * b * m * k * n
            return func(*args, **(kwargs or {}))

    a, b = torch.ones(3, 4), torch.ones(4, 5)
    with FlopCounter() as counter:
        a @ b
        torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5))
    a @ b
    outer = []
    with FlopCounter() as first, FlopCounter() as second:
        outer.append((a @ b).sum().item())
    return [counter.flops, first.flops, second.flops, outer]


def doubled(torch, dispatching, pytree):
    """A tensor made of two."""

    class TwoTensor(torch.Tensor):
        @staticmethod
        def __new__(cls, a, b):
            made = torch.Tensor._make_wrapper_subclass(
                cls, a.shape, a.stride(), dtype=a.dtype, device=a.device,
                requires_grad=a.requires_grad,
            )  # fmt: skip
            made.a, made.b = a, b
            return made

        def __tensor_flatten__(self):
            return ["a", "b"], None

        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            return TwoTensor(inner["a"], inner["b"])

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}

            def part(name):
                def pick(one):
                    return getattr(one, name) if isinstance(one, TwoTensor) else one

                return func(*pytree.tree_map(pick, args), **pytree.tree_map(pick, kwargs))

            first, second = part("a"), part("b")
            if not isinstance(first, torch.Tensor):
                return first
            out = TwoTensor(first, second)
            return dispatching.return_and_correct_aliasing(func, args, kwargs, out)

    x = TwoTensor(torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0]))
    y = x * 2 + torch.ones(2)
    before = y
    y.add_(1)
    v = y.view(2, 1)[0]
    return [
        [y.a.tolist(), y.b.tolist(), before is y],
        [type(v).__name__, v.a.tolist(), v.b.tolist()],
        dispatching.is_traceable_wrapper_subclass(x),
        dispatching.is_traceable_wrapper_subclass(x.a),
        [torch.nn.functional.relu(-x).a.tolist(), list(torch.cat([x, y]).b.shape)],
    ]


PROGRAMS = (logged, with_units, counted, doubled)
