# %% normalize an image
import numpy as np
import torch

image = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
x = torch.from_numpy(image).permute(2, 0, 1).float().div(255)
mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
x = ((x - mean) / std).unsqueeze(0)

# %% back to an image
import torch

y = torch.linspace(-0.2, 1.2, 2 * 3 * 4).view(1, 2, 3, 4)
image = (y.squeeze(0).clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0).cpu().numpy()

# %% resize and crop
import torch
import torch.nn.functional as F

x = torch.arange(1 * 3 * 8 * 10, dtype=torch.float32).view(1, 3, 8, 10)
small = F.interpolate(x, size=(5, 5), mode="bilinear", align_corners=False)
top = (small.shape[-2] - 4) // 2
left = (small.shape[-1] - 4) // 2
crop = small[..., top : top + 4, left : left + 4]
flipped = crop.flip(-1)

# %% letterbox
import torch
import torch.nn.functional as F

x = torch.ones(1, 3, 6, 10)
height, width = x.shape[-2:]
ratio = 8 / max(height, width)
size = (round(height * ratio), round(width * ratio))
x = F.interpolate(x, size=size, mode="nearest")
pad_h, pad_w = 8 - size[0], 8 - size[1]
x = F.pad(x, (pad_w // 2, pad_w - pad_w // 2, pad_h // 2, pad_h - pad_h // 2), value=114 / 255)

# %% top five classes
import torch
import torch.nn.functional as F

logits = torch.tensor([[0.1, 2.0, -1.0, 0.5, 3.0, 0.0]])
probabilities = F.softmax(logits[0], dim=0)
top_probability, top_class = torch.topk(probabilities, 5)
for i in range(top_probability.size(0)):
    print(f"{top_class[i].item()}: {top_probability[i].item():.4f}")

# %% accuracy
import torch

logits = torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])
labels = torch.tensor([1, 0, 0])
_, predicted = torch.max(logits, 1)
correct = (predicted == labels).sum().item()
accuracy = 100 * correct / labels.size(0)
print("Accuracy: %d %%" % accuracy)

# %% a mask of segmentation
import torch

logits = torch.sin(torch.arange(1 * 4 * 3 * 3, dtype=torch.float32)).view(1, 4, 3, 3)
mask = logits.argmax(dim=1).squeeze(0).byte()
palette = torch.tensor([2**25 - 1, 2**15 - 1, 2**21 - 1])
colors = torch.as_tensor(range(4))[:, None] * palette
colors = (colors % 255).numpy().astype("uint8")

# %% boxes from centers
import torch


def cxcywh_to_xyxy(x):
    cx, cy, w, h = x.unbind(-1)
    return torch.stack([cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h], dim=-1)


boxes = cxcywh_to_xyxy(torch.tensor([[0.5, 0.5, 0.2, 0.4], [0.3, 0.6, 0.1, 0.1]]))
boxes = boxes * torch.tensor([640, 480, 640, 480], dtype=torch.float32)

# %% intersection over union
import torch


def box_iou(a, b):
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    return inter / (area_a[:, None] + area_b - inter)


iou = box_iou(torch.tensor([[0.0, 0.0, 2.0, 2.0]]), torch.tensor([[1.0, 1.0, 3.0, 3.0], [0.0, 0.0, 2.0, 2.0]]))

# %% non-maximum suppression by hand
import torch

boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30]])
scores = torch.tensor([0.8, 0.9, 0.7])
order = scores.argsort(descending=True)
keep = []
while order.numel() > 0:
    i = order[0]
    keep.append(i.item())
    if order.numel() == 1:
        break
    rest = boxes[order[1:]]
    wh = (torch.min(rest[:, 2:], boxes[i, 2:]) - torch.max(rest[:, :2], boxes[i, :2])).clamp_(min=0)
    inter = wh.prod(1)
    area = (rest[:, 2:] - rest[:, :2]).prod(1) + (boxes[i, 2:] - boxes[i, :2]).prod()
    order = order[1:][inter / (area - inter) <= 0.5]

# %% a batch of images
import torch

images = [torch.full((3, 2, 2), float(i)) for i in range(4)]
batch = torch.stack(images)
grid = torch.cat([torch.cat(list(batch[i : i + 2]), dim=-1) for i in (0, 2)], dim=-2)
mean, std = batch.mean(dim=(0, 2, 3)), batch.std(dim=(0, 2, 3), unbiased=False)

# %% patches of a vision transformer
import torch
import torch.nn.functional as F

x = torch.arange(1 * 3 * 8 * 8, dtype=torch.float32).reshape(1, 3, 8, 8)
patches = x.unfold(2, 4, 4).unfold(3, 4, 4)
patches = patches.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
other = F.unfold(x, kernel_size=4, stride=4).transpose(1, 2)
same = torch.equal(patches, other)

# %% convolution with a Sobel kernel
import torch
import torch.nn.functional as F

sobel = torch.tensor([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]])
kernel = torch.stack([sobel, sobel.t()]).unsqueeze(1)
image = torch.arange(36.0).view(1, 1, 6, 6) ** 2
edges = F.conv2d(image, kernel, padding=1)
magnitude = edges.pow(2).sum(1, keepdim=True).sqrt()

# %% a Gaussian blur
import torch
import torch.nn.functional as F


def gaussian_kernel(size, sigma):
    x = torch.arange(size).float() - (size - 1) / 2
    g = torch.exp(-x.pow(2) / (2 * sigma**2))
    g = g / g.sum()
    return torch.outer(g, g)


k = gaussian_kernel(5, 1.0).expand(3, 1, 5, 5)
x = torch.zeros(1, 3, 7, 7)
x[:, :, 3, 3] = 1
y = F.conv2d(F.pad(x, (2, 2, 2, 2), mode="reflect"), k, groups=3)

# %% a grid to sample from
import torch
import torch.nn.functional as F

theta = torch.tensor([[[0.8, 0.1, 0.0], [-0.1, 0.8, 0.2]]])
x = torch.arange(16.0).view(1, 1, 4, 4)
grid = F.affine_grid(theta, x.size(), align_corners=False)
y = F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)

# %% depth for the eye
import numpy as np
import torch
import torch.nn.functional as F

depth = torch.linspace(1, 5, 12).view(1, 3, 4)
prediction = F.interpolate(depth.unsqueeze(1), size=(6, 8), mode="bicubic", align_corners=False).squeeze()
output = prediction.cpu().numpy()
formatted = (output * 255 / np.max(output)).astype("uint8")

# %% channels last
import torch

x = torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(1))
x = x.to(memory_format=torch.channels_last)
order = x.is_contiguous(memory_format=torch.channels_last)
strides = x.stride()
dims = x.dim_order()

# %% peak signal to noise ratio
import math

import torch
import torch.nn.functional as F

a, b = torch.linspace(0, 1, 16).view(4, 4), torch.linspace(0.05, 0.95, 16).view(4, 4)
mse = F.mse_loss(a, b).item()
psnr = 10 * math.log10(1.0 / mse)
l1 = F.l1_loss(a, b)

# %% colours to grey
import torch

rgb = torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(2))
weights = rgb.new_tensor([0.299, 0.587, 0.114])
gray = torch.einsum("nchw,c->nhw", rgb, weights)
binary = torch.where(gray > gray.mean(), 1.0, 0.0)

# %% test-time augmentation
import torch

x = torch.arange(12.0).view(1, 1, 3, 4)
views = [x, x.flip(-1), torch.rot90(x, 2, (2, 3)), torch.roll(x, 1, -1)]
mean = torch.stack([v.mean((2, 3)) for v in views]).mean(0)

# %% a confusion matrix
import torch

predicted = torch.tensor([0, 1, 2, 2, 1, 0])
target = torch.tensor([0, 1, 1, 2, 1, 2])
matrix = torch.bincount(target * 3 + predicted, minlength=9).reshape(3, 3)
iou = matrix.diag().float() / (matrix.sum(0) + matrix.sum(1) - matrix.diag())

# %% one-hot masks
import torch
import torch.nn.functional as F

mask = torch.tensor([[0, 1], [2, 1]])
onehot = F.one_hot(mask, num_classes=3).permute(2, 0, 1).bool()
areas = onehot.sum(dim=(1, 2)).tolist()

# %% largest logits above a threshold
import torch

scores = torch.tensor([[0.9, 0.2, 0.6], [0.1, 0.8, 0.3]]).sigmoid()
keep = torch.nonzero(scores > 0.6)
rows, columns = (scores > 0.6).nonzero(as_tuple=True)
values = scores[rows, columns]

# %% an image from a buffer
import torch

buffer = bytearray(range(12))
image = torch.frombuffer(buffer, dtype=torch.uint8).view(2, 2, 3)
image = image.float().mean(-1)
