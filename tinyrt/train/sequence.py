"""Layers for sequences, (n, t, c): built from other layers and table ops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.lstm_gradient import LSTM as LSTM_FUNCTION
from tinyrt.ops.lstm_gradient import Lstm
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.unidirectional_sequence_lstm import SIDE_BY_SIDE, LstmAttrs
from tinyrt.train.attention import MultiHeadAttention as MultiHeadAttention
from tinyrt.train.core.function import Array
from tinyrt.train.core.init import glorot_uniform, orthogonal
from tinyrt.train.core.modes import is_traced
from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.gru import GRU as GRU_FUNCTION
from tinyrt.train.gru import Gru
from tinyrt.train.nn import Conv2d, Linear, Module, Parameter


class Conv1d(Module):
    """Convolution along time of (n, t, c_in) to (n, t', c_out): a 2-D one of height 1.

    Args:
        c_in: input channels.
        c_out: output channels.
        kernel: taps.
        stride: step between outputs.
        padding: SAME or VALID, as TFLite has it; or PyTorch's: 'same', 'valid', zeros at each end.
        dilation: step between taps.
        groups: the channels are split into so many parts that do not see each other.
        bias: whether to add one number per output channel.
        rng: draws the weights.

    """

    def __init__(
        self,
        c_in: int,
        c_out: int,
        kernel: int,
        *,
        rng: np.random.Generator,
        stride: int = 1,
        padding: str | int | tuple[int] = "SAME",
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        ends = (padding,) if isinstance(padding, int) else padding
        self.conv = Conv2d(
            c_in,
            c_out,
            (1, kernel),
            rng=rng,
            stride=(1, stride),
            padding=ends if isinstance(ends, str) else (0, *ends),
            dilation=(1, dilation),
            groups=groups,
            bias=bias,
        )

    def forward(self, x: Tensor) -> Tensor:
        """(n, t, c_in) -> (n, t', c_out)."""
        n, t, c = x.shape
        y = self.conv(x.reshape(n, 1, t, c))
        return y.reshape(n, *y.shape[2:])


class Embedding(Module):
    """A trained vector for each of ``count`` symbols; takes integers, so it comes first.

    To trace a module that begins with one, name the dtype: ``trace(..., dtype=np.int32)``.

    Args:
        count: symbols.
        channels: size of the vectors.
        rng: draws them from a standard normal distribution.

    """

    def __init__(self, count: int, channels: int, *, rng: np.random.Generator) -> None:
        self.weight = Parameter(rng.normal(size=(count, channels)).astype(np.float32))

    def forward(self, x: Tensor) -> Tensor:
        """Symbols in any shape (whole numbers) -> that shape with the channels behind it.

        Raises:
            ShapeError: an element is not a symbol.

        """
        count = self.weight.shape[0]
        if not np.all((x.data >= 0) & (x.data < count) & (np.floor(x.data) == x.data)):
            what, hint = "not all elements are symbols", "trace with dtype=np.int32"
            raise ShapeError(what, expected=f"whole numbers from 0 to {count - 1}", hint=hint)
        symbols = x if x.dtype == np.int32 else Tensor(x.data.astype(np.int32), dtype=np.int32)
        return apply("embedding", EmbeddingAttrs(), self.weight, symbols)


class _Recurrent(Module):
    """A cell that goes along time: each step has that step's input and what the last one left.

    Args:
        c_in: input channels.
        c_out: size of the state.
        rng: draws the weights.

    """

    gates: int
    """How many linear maps a step takes of its input, and of the last output."""

    def __init__(self, c_in: int, c_out: int, *, rng: np.random.Generator) -> None:
        self.input = Linear(c_in, self.gates * c_out, rng=rng)
        self.state = Linear(c_out, self.gates * c_out, rng=rng)
        self.input.weight = glorot_uniform(rng, self.input.weight.shape, c_in, c_out)
        self.state.weight = orthogonal(rng, c_out, self.gates)

    def forward(self, x: Tensor) -> Tensor:
        """(n, t, c_in) -> (n, t, c_out), the output after each step."""
        (n, steps, _), c_out = x.shape, self.state.weight.shape[1]
        y = memory = Tensor(np.zeros((1, c_out), x.dtype))  # alike for all samples
        outputs = []
        for t in range(steps):
            y, memory = self.step(self.input(x[:, t]), self.state(y), y, memory)
            outputs.append(y.reshape(n, 1, c_out))
        return apply("concatenation", ConcatenationAttrs(1), *outputs)

    def step(self, a: Tensor, b: Tensor, y: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The next output and memory, from the maps of input and output, and the last of both."""
        raise NotImplementedError(f"{type(self).__name__} does not define a step")


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter & Schmidhuber 1997, with the forget gate of Gers 2000).

    ``i, f, o = sigmoid(...)``, ``g = tanh(...)``, each linear in the input and the last output;
    ``cell = f * cell + i * g``, ``y = o * tanh(cell)``. The forget gate's bias starts at 1.

    Args:
        c_in: input channels.
        c_out: size of the state.
        rng: draws the weights.
        whole: how it is traced: as one op over the whole sequence, whose size does not grow with
            the number of steps, or else as its steps, which take fewer instructions.

    """

    gates = 4

    def __init__(
        self, c_in: int, c_out: int, *, rng: np.random.Generator, whole: bool = False
    ) -> None:
        super().__init__(c_in, c_out, rng=rng)
        assert self.input.bias is not None
        self.input.bias.data[c_out : 2 * c_out] = 1
        self.whole = whole

    def forward(self, x: Tensor) -> Tensor:
        """(n, t, c_in) -> (n, t, c_out), the output after each step."""
        if is_traced() and not self.whole:
            return super().forward(x)
        w, r = self.input.weight, self.state.weight
        assert self.input.bias is not None
        assert self.state.bias is not None
        zeros = Tensor(np.zeros((x.shape[0], r.shape[1]), x.dtype))
        if is_traced():
            bias = Tensor(self.input.bias.data + self.state.bias.data)
            parts = [p for block in (w, r, bias) for p in self._by_gate(block.data)]
            return apply("unidirectional_sequence_lstm", LstmAttrs(), x, *parts, zeros, zeros)
        bias = self.input.bias + self.state.bias
        y = apply(LSTM_FUNCTION, Lstm(), x.transpose(1, 0, 2), w, r, bias, zeros, zeros)
        return y.transpose(1, 0, 2)

    def _by_gate(self, block: Array) -> list[Tensor]:
        """A block's parts in the op's order of gates."""
        size = self.state.weight.shape[1]
        parts = [Tensor(block[at : at + size]) for at in range(0, 4 * size, size)]
        return [parts[SIDE_BY_SIDE.index(gate)] for gate in range(4)]

    def step(self, a: Tensor, b: Tensor, y: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """As the class says; the memory is the cell."""
        size = y.shape[1]
        gates = a + b
        i, f, o = _parts(_sigmoid(gates[:, : 3 * size]), size)
        cell = f * memory + i * _tanh(gates[:, 3 * size :])
        return o * _tanh(cell), cell


class GRU(_Recurrent):
    """Gated recurrent unit (Cho et al. 2014, with the reset after the product).

    ``r, z = sigmoid(...)``, ``n = tanh(W x + r * (U y))``, ``y = (1 - z) * n + z * y``.
    """

    gates = 3

    def forward(self, x: Tensor) -> Tensor:
        """(n, t, c_in) -> (n, t, c_out), the output after each step."""
        if is_traced():
            return super().forward(x)
        zeros = Tensor(np.zeros((x.shape[0], self.state.weight.shape[1]), x.dtype))
        maps = (self.input.weight, self.input.bias, self.state.weight, self.state.bias)
        return apply(GRU_FUNCTION, Gru(), x.transpose(1, 0, 2), *maps, zeros).transpose(1, 0, 2)

    def step(self, a: Tensor, b: Tensor, y: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """As the class says; there is no memory besides the output."""
        size = y.shape[1]
        r, z = _parts(_sigmoid(a[:, : 2 * size] + b[:, : 2 * size]), size)
        new = _tanh(a[:, 2 * size :] + r * b[:, 2 * size :])
        return new + z * (y - new), memory


def _parts(gates: Tensor, size: int) -> Iterator[Tensor]:
    """Gates side by side, (n, k * size), one by one."""
    return (gates[:, at : at + size] for at in range(0, gates.shape[1], size))


def _sigmoid(x: Tensor) -> Tensor:
    return apply("logistic", NoAttrs(), x)


def _tanh(x: Tensor) -> Tensor:
    return apply("tanh", NoAttrs(), x)
