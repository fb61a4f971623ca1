"""Programs with `__torch_function__`, written as torch's documentation writes them."""


def outcome_of(torch, overrides, DisableTorchFunctionSubclass):  # noqa: N803 (torch's name)
    """What the programs give with one library."""
    out = []

    def t(f):
        try:
            return type(f()).__name__
        except TypeError:
            return "TypeError"

    handled = {}

    def implements(f):
        return lambda g: handled.setdefault(f, g)

    class ScalarTensor:
        def __init__(self, size, value):
            self._N = size
            self._value = value

        def __repr__(self):
            return f"ScalarTensor(N={self._N})"

        def tensor(self):
            return self._value * torch.eye(self._N)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            known = all(issubclass(t, (torch.Tensor, ScalarTensor)) for t in types)
            if func not in handled or not known:
                return NotImplemented
            return handled[func](*args, **kwargs)

    @implements(torch.mean)
    def mean(input):
        return float(input._value) / input._N

    d = ScalarTensor(5, 2)
    out.append(torch.mean(d))
    for f in (lambda: torch.add(d, d), lambda: torch.stack([d, d]), lambda: torch.ones(5, 5) + d):
        out.append(t(f))

    @implements(torch.add)
    def add(a, b):
        return "added"

    out.append(torch.add(torch.ones(2), d))
    out.append(torch.add(d, 2))

    class Meta:
        def __init__(self, data, metadata=None, **kw):
            self._t = torch.as_tensor(data, **kw)
            self._metadata = metadata

        def __repr__(self):
            return f"{self._metadata} {self._t}"

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            m = tuple(a._metadata for a in args if hasattr(a, "_metadata"))
            args = [getattr(a, "_t", a) for a in args]
            assert len(m) > 0
            return Meta(func(*args, **kwargs), metadata=m[0])

    m = Meta([[1, 2], [3, 4]], metadata={"owner": "M"})
    out.append(repr(torch.add(m, torch.tensor([[1, 2], [1, 2]]))))
    out.append(repr(torch.mul(torch.tensor(2), m)))
    log = []

    class Log(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append((func.__name__, len(types)))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2, 3).as_subclass(Log)
    y = (x + 1).sum()
    z = torch.add(x, 2)
    w = x[0]
    x * 2, 3 * x, x.mul(2), torch.stack([x, x]), x.view(-1)
    out.append([one for one in log if one[0] not in ("as_subclass", "__get__")])
    out.append([type(v).__name__ for v in (y, z, w)])
    with DisableTorchFunctionSubclass():
        out.append(type(x + 1).__name__)

    class Count(overrides.TorchFunctionMode):
        def __init__(self, n):
            self.n = n
            self.seen = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.seen.append(func.__name__)
            modes.append(self.n)
            return func(*args, **(kwargs or {}))

    modes = []
    a = torch.ones(3)
    with Count(1) as c1, Count(2):
        torch.add(a, a), a + a, a.sum(), a[0], torch.zeros(2), x + 1, torch.nn.functional.relu(a)
    a.add(a)
    out.append(c1.seen)
    out.append(modes)

    class Sub1(torch.Tensor):
        pass

    class Sub2(torch.Tensor):
        pass

    class Sub11(Sub1):
        pass

    s1 = a.as_subclass(Sub1)
    s2 = a.as_subclass(Sub2)
    s11 = a.as_subclass(Sub11)
    out.append(
        [
            t(lambda: s1 + s2),
            t(lambda: s1 + s11),
            t(lambda: s11 + s1),
            t(lambda: torch.cat([s1, s11])),
        ]
    )
    out.append(
        [
            overrides.has_torch_function((a,)),
            overrides.has_torch_function((s1,)),
            overrides.has_torch_function((d, 1)),
        ]
    )
    out.append(
        [overrides.is_tensor_like(d), overrides.is_tensor_like(a), overrides.is_tensor_like(3)]
    )

    def public(inp):
        if overrides.has_torch_function((inp,)):
            return overrides.handle_torch_function(public, (inp,), inp)
        return inp + 1

    handled[public] = lambda inp: "mine"
    out.append([public(d), t(lambda: public(s1)), t(lambda: public(a))])
    p = torch.Tensor._make_subclass(Sub1, torch.ones(2), True)
    out.append([type(p).__name__, p.requires_grad, p.is_leaf, type((p * 2).sum()).__name__])
    (p * 2).sum().backward()
    out.append([type(p.grad).__name__, p.grad.tolist()])

    class Sc(torch.Tensor):
        @staticmethod
        def __new__(cls, x, extra, *args, **kwargs):
            return super().__new__(cls, x, *args, **kwargs)

        def __init__(self, x, extra):
            self.extra = extra

    q = Sc([1.0, 2.0], "e")
    out.append([type(q).__name__, q.extra, q.tolist(), type(q + 1).__name__])
    out.append(
        [
            overrides.resolve_name(torch.add).split(".", 1)[1],
            overrides.resolve_name(torch.Tensor.add).split(".", 1)[1],
        ]
    )
    return out
