"""One mistake a line: type checkers must find each, and nothing else. Never run."""

import aten
import aten.nn.functional as F  # noqa: N812
from aten import Tensor, tenzor  # wrong
from aten.linalg import svdd  # wrong

x = aten.randn(4, 6)
index = aten.tensor([0, 2])

# Names that are not there.
aten.sofmax(x, 0)  # wrong
aten.Tensr  # wrong
aten.float23  # wrong
x.sofmax(0)  # wrong
x.shap  # wrong
x.add__(1)  # wrong
x.dtyp  # wrong
aten.linalg.sdv(x)  # wrong
aten.fft.fftt(x)  # wrong
aten.special.expitt(x)  # wrong
F.rellu(x)  # wrong
F.cross_entrpy(x, index)  # wrong
aten.ops.aten.sofmax(x, 0)  # wrong
aten.nn.functionl  # wrong
x.max(1).value  # wrong
aten.topk(x, 2).index_  # wrong
aten.linalg.slogdet(x).logabs  # wrong
aten.sort(x).sorted  # wrong
aten.memory.stat()  # wrong
aten.export.lod("model.pt2")  # wrong
x.storage_ofset()  # wrong
aten.finfo(aten.float32).epsilon  # wrong

# Keywords that are not there.
aten.softmax(x, dims=0)  # wrong
x.sum(dmi=0)  # wrong
x.sum(0, keep_dim=True)  # wrong
aten.zeros(3, dtyp=aten.float32)  # wrong
aten.cat([x, x], dimension=0)  # wrong
F.dropout(x, prob=0.5)  # wrong
F.layer_norm(x, (6,), epsilon=1e-5)  # wrong
F.max_pool2d(x, 2, strides=1)  # wrong
aten.linalg.svd(x, full=False)  # wrong
aten.fft.fft(x, axes=0)  # wrong
aten.tensor([1.0], type=aten.float32)  # wrong
x.topk(2, biggest=True)  # wrong
aten.add(x, x, beta=2)  # wrong
aten.ops.aten.add(x, x, beta=2)  # wrong

# Arguments of another type.
aten.softmax("x", 0)  # wrong
aten.exp([1.0, 2.0])  # wrong
aten.softmax(x, "0")  # wrong
x.sum("rows")  # wrong
x.view("4", 6)  # wrong
x.permute(0.5, 1)  # wrong
x.reshape(4, 6.0)  # wrong
aten.cat(x, dim="0")  # wrong
aten.stack([1, 2])  # wrong
aten.zeros("3")  # wrong
aten.zeros(3, dtype="float32")  # wrong
aten.zeros(3, device=1.5)  # wrong
aten.add(x, "1")  # wrong
x + "1"  # wrong
x @ 2  # wrong
x["row"]  # wrong
x[0] = "1"  # wrong
x.to(3.5j).shape.numell()  # wrong
F.conv2d(x, 3)  # wrong
F.relu(x, inplace="yes")  # wrong
F.cross_entropy(x, index, reduction=1)  # wrong
aten.where(x, 1.0)  # wrong
aten.clamp(x, min="0")  # wrong
aten.max(x, 0, out=x)  # wrong
aten.sort(x, out=(x, index, x))  # wrong
aten.exp(x, out=[x])  # wrong
aten.einsum(x, path="ij")  # wrong
aten.manual_seed("0")  # wrong
aten.linalg.norm(x, ord=[1])  # wrong
aten.multinomial(x, 2, generator=0)  # wrong

# Too few, too many.
aten.softmax(x)  # wrong
aten.matmul(x)  # wrong
aten.exp(x, x)  # wrong
x.transpose(0)  # wrong
x.numel(1)  # wrong
F.linear(x)  # wrong
aten.linalg.solve(x)  # wrong
aten.fft.fft()  # wrong


# Results used as what they are not.
def mean(x: Tensor) -> str:
    return x.mean()  # wrong


def largest(x: Tensor) -> Tensor:
    return x.max(dim=1)  # wrong


def number(x: Tensor) -> str:
    return x.sum().item()  # wrong


def shape(x: Tensor) -> list[str]:
    return x.shape  # wrong


values, indices, more = x.topk(2)  # wrong
x.shape = (6, 4)  # wrong
text: str = aten.equal(x, x)  # wrong
pair: tuple[Tensor, Tensor] = F.max_pool2d(x, 2)  # wrong
array: int = x.numpy()  # wrong
u, s = aten.linalg.svd(x)  # wrong
len(x.numel())  # wrong
