"""The short-time Fourier transform and its inverse.

Allen & Rabiner, A unified approach to short-time Fourier analysis and synthesis (1977).
"""

from __future__ import annotations

from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.registry import ops

# Where the squares of the windows add up to less, a signal is not to be had back.
_LEAST_WEIGHT = 1e-11


@op("stft")
def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """`stft.center` of a signal that is taken as it is, without padding."""
    return ops.aten.stft.center(
        self,
        n_fft,
        hop_length,
        win_length,
        window,
        False,
        "reflect",
        normalized,
        onesided,
        return_complex,
        align_to_window,
    )


@op("stft.center")
def stft_center(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The spectra (*, frequencies, frames) of overlapping frames of a signal (*, samples).

    Frames of `n_fft` samples begin every `hop_length` ones, a quarter of n_fft unless given, and
    are weighted by `window`, which is centered in them. With `center`, the first has the first
    sample in its middle. Raises RuntimeError for sizes that do not go together.
    """
    hop, length = _frame_lengths("stft", n_fft, hop_length, win_length)
    if center and align_to_window is not None:
        raise RuntimeError("stft: expected align_to_window only where center is False")
    if return_complex is None:
        if not self.is_complex() and (window is None or not window.is_complex()):
            raise RuntimeError("stft: expected return_complex to be given for real inputs")
        return_complex = True
    signal = _batch("stft", self, (1, 2))
    if center:
        signal = _padded(signal, n_fft // 2, pad_mode)
    if not 0 < n_fft <= signal.shape[1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {signal.shape[1]}, got {n_fft}")
    _check_window("stft", window, length)
    if align_to_window:
        signal = ops.aten.constant_pad_nd(signal, ((n_fft - length) // 2,) * 2)
    frames = signal.unfold(1, n_fft, hop)
    if window is not None or length < n_fft:
        frames = frames.mul(_in_the_middle(window, length, n_fft, signal))
    spectra = _spectra(frames, normalized, onesided)
    if return_complex:
        found = spectra.transpose(1, 2)
    else:
        pairs = spectra.view(spectra.dtype.to_real())
        found = pairs.reshape((*spectra.shape, 2)).transpose(1, 2)
    return found.squeeze(0) if self.dim() == 1 else found


def _spectra(frames: Tensor, normalized: bool, onesided: bool | None) -> Tensor:
    """The spectra of frames (N, frames, samples), row-major."""
    if frames.is_complex():
        if onesided:
            raise RuntimeError("stft: the spectra of complex numbers have no redundant half")
        found = ops.aten._fft_c2c(frames, (2,), int(normalized), True)
    else:
        found = ops.aten._fft_r2c(frames, (2,), int(normalized), onesided is not False)
    return found.contiguous()


def _frame_lengths(
    name: str, n_fft: int, hop_length: int | None, win_length: int | None
) -> tuple[int, int]:
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, got {hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft={n_fft}, got {length}")
    return hop, length


def _batch(name: str, self: Tensor, ranks: tuple[int, int]) -> Tensor:
    """With a batch dimension. Raises RuntimeError for other ranks and for integers."""
    if self.dtype.kind not in ("float", "complex"):
        raise RuntimeError(f"{name}: expected a floating or complex dtype, got {self.dtype}")
    if self.dim() not in ranks:
        raise RuntimeError(f"{name}: expected {ranks[0]} or {ranks[1]} dims, got {self.dim()}")
    return self.unsqueeze(0) if self.dim() == ranks[0] else self


def _padded(signal: Tensor, count: int, mode: str) -> Tensor:
    size = signal.shape[1]
    if mode != "reflect" or not 0 < count < size:
        return ops.aten.pad(signal.unsqueeze(0), (count, count), mode).squeeze(0)
    # In three pieces: signals are long, and what is reflected is short.
    before = signal.narrow(1, 1, count).flip(1)
    after = signal.narrow(1, size - 1 - count, count).flip(1)
    return ops.aten.cat((before, signal, after), 1)


def _check_window(name: str, window: Tensor | None, length: int) -> None:
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(
            f"{name}: expected a window of shape [{length}], got {list(window.shape)}"
        )


def _in_the_middle(window: Tensor | None, length: int, n_fft: int, like: Tensor) -> Tensor:
    """The window (ones, where there is none) with zeros around it."""
    if window is None:
        window = ops.aten.new_ones(like, (length,))
    left = (n_fft - length) // 2
    return ops.aten.constant_pad_nd(window, (left, n_fft - length - left))


@op
def istft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal (*, samples) whose `stft` is nearest to the spectra (*, frequencies, frames).

    Frames are added up where they overlap, and divided by the sums of the windows' squares. Raises
    RuntimeError where these are zero, and for sizes that do not go together.
    """
    hop, window_length = _frame_lengths("istft", n_fft, hop_length, win_length)
    spectra = _batch("istft", self, (2, 3))
    _check_spectra(spectra, n_fft, onesided, window, window_length, return_complex)
    onesided = spectra.shape[1] != n_fft if onesided is None else onesided
    weights = _in_the_middle(window, window_length, n_fft, spectra.new_empty((0,), dtype=None))
    if window is None:
        weights = weights.to(spectra.dtype if return_complex else spectra.dtype.to_real())
    frames = _frames(spectra.transpose(1, 2), n_fft, normalized, onesided, return_complex)
    signal = _overlapping_sum(frames.mul(weights), hop)
    squares = weights.square().expand((1, frames.shape[1], n_fft))
    envelope = _overlapping_sum(squares, hop)
    begin = n_fft // 2 if center else 0
    whole = signal.shape[1]
    end = whole - (n_fft // 2 if center else 0) if length is None else begin + length
    signal, envelope = (one[:, begin : min(end, whole)] for one in (signal, envelope))
    if has_data(self) and not bool(envelope.abs().gt(_LEAST_WEIGHT).all()):
        raise RuntimeError("istft: the windows leave samples without weight, or no samples at all")
    signal = signal.div(envelope)
    if end > whole:
        signal = ops.aten.constant_pad_nd(signal, (0, end - whole))
    return signal.squeeze(0) if self.dim() == 2 else signal


def _check_spectra(
    spectra: Tensor,
    n_fft: int,
    onesided: bool | None,
    window: Tensor | None,
    window_length: int,
    return_complex: bool,
) -> None:
    if not spectra.is_complex():
        raise RuntimeError(f"istft: expected a complex input, got {spectra.dtype}")
    if spectra.numel() == 0:
        raise RuntimeError("istft: expected spectra with elements")
    _check_window("istft", window, window_length)
    if window is not None and window.is_complex() and not return_complex:
        raise RuntimeError("istft: expected a real window for a real signal")
    frequencies = spectra.shape[1]
    one_sided = frequencies != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if one_sided else n_fft
    if frequencies != wanted:
        raise RuntimeError(f"istft: expected {wanted} frequencies, got {frequencies}")
    if one_sided and return_complex:
        raise RuntimeError("istft: complex signals have no one-sided spectra")


def _frames(
    spectra: Tensor, n_fft: int, normalized: bool, onesided: bool, return_complex: bool
) -> Tensor:
    mode = 1 if normalized else 2
    if return_complex:
        return ops.aten._fft_c2c(spectra, (2,), mode, False)
    if not onesided:
        spectra = spectra.narrow(2, 0, n_fft // 2 + 1)
    return ops.aten._fft_c2r(spectra, (2,), mode, n_fft)


def _overlapping_sum(frames: Tensor, hop: int) -> Tensor:
    """Frames (N, frames, samples), each added `hop` samples after the one before it.

    They are cut into pieces of `hop` samples: the first pieces of all frames go next to one
    another, so do the second ones, a piece later, and so on.
    """
    batch, count, samples = frames.shape
    pieces = -(-samples // hop)
    padded = ops.aten.constant_pad_nd(frames, (0, pieces * hop - samples))
    cut = padded.reshape((batch, count, pieces, hop))
    total = ops.aten.new_zeros(frames, (batch, count + pieces - 1, hop))
    for piece in range(pieces):
        total[:, piece : piece + count].add_(cut[:, :, piece])
    flat = total.reshape((batch, (count + pieces - 1) * hop))
    return flat.narrow(1, 0, samples + hop * (count - 1))
