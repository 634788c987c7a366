"""Values and gradients beside PyTorch's, where it is installed (extra ``torch``)."""

import numpy as np
import pytest

from tests.train.build import in_float64
from tinyrt.train import SGD, Adam, Tensor, apply, cross_entropy
from tinyrt.train.losses import bce_loss, huber_loss
from tinyrt.train.nn import (
    AvgPool2d,
    Conv2d,
    ConvTranspose2d,
    LayerNorm,
    MaxPool2d,
    ReLU,
    Sequential,
    ZeroPad2d,
)
from tinyrt.train.optim import AdamW, RMSProp
from tinyrt.train.sequence import GRU, LSTM, MultiHeadAttention
from tinyrt.train.torch_state import to_torch

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tinyrt[torch]'")
F = torch.nn.functional


def tensors(rng, *shapes):
    arrays = [rng.normal(size=s) for s in shapes]
    return (
        [Tensor(a, requires_grad=True) for a in arrays],
        [torch.tensor(a, requires_grad=True) for a in arrays],
    )


def assert_same(ours, theirs, our_leaves, their_leaves):
    np.testing.assert_allclose(ours.data, theirs.detach().numpy(), rtol=1e-5, atol=1e-8)
    weights = np.random.default_rng(9).normal(size=ours.shape)
    ours.backward(weights)
    theirs.backward(torch.tensor(weights))
    for a, b in zip(our_leaves, their_leaves, strict=True):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolution(stride, groups):
    from tinyrt.ops.conv2d import Conv2dAttrs

    rng = np.random.default_rng(0)
    (x, w, b), (tx, tw, tb) = tensors(rng, (2, 7, 6, 4), (6, 3, 3, 4 // groups), (6,))
    y = apply("conv2d", Conv2dAttrs((stride, stride), "VALID"), x, w, b)
    ty = F.conv2d(tx.permute(0, 3, 1, 2), tw.permute(0, 3, 1, 2), tb, stride, groups=groups)
    assert_same(y, ty.permute(0, 2, 3, 1), (x, w, b), (tx, tw, tb))


PADDINGS = [
    {"padding": 1},
    {"padding": (1, 2), "stride": 2},
    {"padding": 2, "stride": (2, 1), "dilation": 2},
    {"padding": "same", "dilation": (2, 1)},
    {"padding": "valid", "stride": 2},
]


@pytest.mark.parametrize("options", PADDINGS)
@pytest.mark.parametrize("kernel", [3, (2, 3)])
def test_paddings(kernel, options):
    rng = np.random.default_rng(0)
    ours = Conv2d(4, 6, kernel, rng=rng, **options)
    assert_same_layer(ours, torch.nn.Conv2d(4, 6, kernel, **options))


@pytest.mark.parametrize("cut", [{}, {"padding": 1}, {"padding": (0, 1), "output_padding": (1, 0)}])
def test_paddings_of_transposed_convolutions(cut):
    ours = ConvTranspose2d(
        4, 6, (3, 4), rng=np.random.default_rng(0), stride=(2, 3), **({"padding": 0} | cut)
    )
    assert_same_layer(ours, torch.nn.ConvTranspose2d(4, 6, (3, 4), stride=(2, 3), **cut))


@pytest.mark.parametrize("stride", [1, 2])
def test_zeros_in_front_of_pools_are_their_padding(stride):
    (x,), (tx,) = tensors(np.random.default_rng(2), (2, 7, 6, 4))
    for make, theirs in ((MaxPool2d, F.max_pool2d), (AvgPool2d, F.avg_pool2d)):
        pool = Sequential(ReLU(), ZeroPad2d(1), make(3, stride=stride))
        y = theirs(tx.permute(0, 3, 1, 2).relu(), 3, stride, 1)
        np.testing.assert_allclose(pool(x).data, y.permute(0, 2, 3, 1).detach(), rtol=1e-6)


@pytest.mark.parametrize("stride", [1, 2])
def test_paddings_of_pools(stride):
    (x,), (tx,) = tensors(np.random.default_rng(2), (2, 7, 6, 4))
    for make, theirs in ((MaxPool2d, F.max_pool2d), (AvgPool2d, F.avg_pool2d)):
        y = theirs(tx.permute(0, 3, 1, 2), 3, stride, 1)
        assert_same(make(3, stride=stride, padding=1)(x), y.permute(0, 2, 3, 1), (x,), (tx,))
        x.grad, tx.grad = None, None


def assert_same_layer(ours, theirs):
    theirs.double().load_state_dict({k: torch.tensor(v) for k, v in to_torch(ours).items()})
    in_float64(ours)
    (x,), (tx,) = tensors(np.random.default_rng(1), (2, 7, 6, 4))
    y = theirs(tx.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
    assert_same(ours(x), y, (x,), (tx,))


@pytest.mark.parametrize(("ours", "theirs"), [(LSTM, "LSTM"), (GRU, "GRU")])
def test_recurrent_layers(ours, theirs):
    layer = ours(3, 4, rng=np.random.default_rng(1))
    twin = getattr(torch.nn, theirs)(3, 4, batch_first=True)
    order = {"LSTM": (0, 1, 3, 2), "GRU": (0, 1, 2)}[theirs]  # PyTorch's gates: i f g o, r z n

    def gates(array):
        parts = np.split(array, len(order))
        return torch.tensor(np.concatenate([parts[i] for i in order]))

    with torch.no_grad():
        for name, part in (("ih", layer.input), ("hh", layer.state)):
            getattr(twin, f"weight_{name}_l0").copy_(gates(part.weight.data))
            getattr(twin, f"bias_{name}_l0").copy_(gates(part.bias.data))
    x = np.random.default_rng(2).normal(size=(2, 5, 3)).astype(np.float32)
    ours_x, theirs_x = Tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    y, ty = layer(ours_x), twin(theirs_x)[0]
    np.testing.assert_allclose(y.data, ty.detach().numpy(), atol=1e-6)
    y.sum().backward()
    ty.sum().backward()
    np.testing.assert_allclose(ours_x.grad, theirs_x.grad.numpy(), atol=1e-6)


def test_attention_and_layer_norm():
    rng = np.random.default_rng(3)
    layer = MultiHeadAttention(4, 2, rng=rng)
    twin = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    parts = (layer.query, layer.key, layer.value)
    with torch.no_grad():
        twin.in_proj_weight.copy_(torch.tensor(np.concatenate([p.weight.data for p in parts])))
        twin.out_proj.weight.copy_(torch.tensor(layer.output.weight.data))
    x = rng.normal(size=(2, 5, 4)).astype(np.float32)
    tx = torch.tensor(x)
    expected = twin(tx, tx, tx)[0].detach().numpy()
    np.testing.assert_allclose(layer(Tensor(x)).data, expected, atol=1e-6)
    expected = F.layer_norm(tx, (4,)).numpy()
    np.testing.assert_allclose(LayerNorm(4)(Tensor(x)).data, expected, atol=1e-5)


HIDES = np.random.default_rng(5).random((5, 5)) < 0.4
HIDES[:, 0] = False
LATE = np.array([[False] * 5, [False, False, False, True, True]])
MASKS = {
    "attn_mask": {"attn_mask": HIDES},
    "numbers": {"attn_mask": np.where(HIDES, -2.5, 0.5).astype(np.float32)},
    "padding": {"key_padding_mask": LATE},
    "both": {"attn_mask": HIDES, "key_padding_mask": LATE},
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
def test_masks_of_attention(masks, causal):
    """Constants, and as tensors; where something is hidden causally as well."""
    rng = np.random.default_rng(3)
    layer = MultiHeadAttention(4, 2, rng=rng, causal=causal)
    twin = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    parts = (layer.query, layer.key, layer.value)
    with torch.no_grad():
        twin.in_proj_weight.copy_(torch.tensor(np.concatenate([p.weight.data for p in parts])))
        twin.out_proj.weight.copy_(torch.tensor(layer.output.weight.data))
    x = rng.normal(size=(2, 5, 4)).astype(np.float32)
    tx, given = torch.tensor(x, requires_grad=True), dict(masks)
    if causal:
        later = np.triu(np.ones((5, 5), bool), 1)
        own = given.get("attn_mask", np.zeros((5, 5), bool))
        given["attn_mask"] = own | later if own.dtype == bool else np.where(later, -np.inf, own)
    theirs = twin(tx, tx, tx, **{k: torch.tensor(m) for k, m in given.items()})[0]
    theirs.sum().backward()
    for form in (np.asarray, lambda m: Tensor(m, dtype=m.dtype)):
        ours = Tensor(x, requires_grad=True)
        order = (masks.get(name) for name in ("attn_mask", "key_padding_mask"))
        y = layer(ours, *(None if m is None else form(m) for m in order))
        np.testing.assert_allclose(y.data, theirs.detach().numpy(), atol=1e-6)
        y.sum().backward()
        np.testing.assert_allclose(ours.grad, tx.grad.numpy(), atol=1e-5)


def test_losses():
    rng = np.random.default_rng(4)
    labels, target = [0, 2, 1, 1], rng.random((4, 3))
    pairs = (
        (lambda x: bce_loss(x, target), lambda x, t: F.binary_cross_entropy_with_logits(x, t)),
        (lambda x: huber_loss(x, target), lambda x, t: F.huber_loss(x, t)),
        (
            lambda x: cross_entropy(x, labels, smoothing=0.1),
            lambda x, t: F.cross_entropy(x, torch.tensor(labels), label_smoothing=0.1),
        ),
    )
    for ours, theirs in pairs:
        (x,), (tx,) = tensors(rng, (4, 3))
        assert_same(ours(x), theirs(tx, torch.tensor(target)), (x,), (tx,))


OPTIMIZERS = {
    "SGD": (
        lambda p: SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    ),
    "Adam": (
        lambda p: Adam(p, 0.1, weight_decay=0.01),
        lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.01),
    ),
    "AdamW": (
        lambda p: AdamW(p, 0.1, weight_decay=0.1),
        lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.1),
    ),
    "RMSProp": (lambda p: RMSProp(p, 0.1), lambda p: torch.optim.RMSprop(p, 0.1)),
}


@pytest.mark.parametrize(("ours", "theirs"), OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_optimisers(ours, theirs):
    rng = np.random.default_rng(5)
    (w,), (tw,) = tensors(rng, (3, 2))
    a, b = ours([w]), theirs([tw])
    for _ in range(5):
        for optimizer, weights in ((a, w), (b, tw)):
            optimizer.zero_grad()
            (weights * weights * weights).sum().backward()
            optimizer.step()
    np.testing.assert_allclose(w.data, tw.detach().numpy(), rtol=1e-6)
