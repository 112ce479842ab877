"""Writes shorten_<case>.sph, SPHERE files with embedded Shorten, and shorten.safetensors, their samples.

The encoder is written from the description of the format (Robinson 1994, CUED/F-INFENG/TR.156) and shares nothing with
the C decoder. Needs ffmpeg, which must decode every file to the same samples, but those of unsigned
samples and of mu-law codes, which it does not read.
"""

import audioop  # of Python before 3.13
import os
import subprocess

import numpy as np
import torch

import golden_file

DIFF, QUIT, BLOCKSIZE, BITSHIFT, QLPC, ZERO, VERBATIM = 0, 4, 5, 6, 7, 8, 9
AU1, S8, U8, S16HL, U16HL, S16LH, U16LH, ULAW, AU2 = range(9)
SAMPLES = 1100


class Bits:
    def __init__(self):
        self.bits = []

    def raw(self, value, count):
        self.bits += [value >> i & 1 for i in reversed(range(count))]

    def uvar(self, value, n):
        self.bits += [0] * (value >> n) + [1]
        self.raw(value & ((1 << n) - 1), n)

    def var(self, value, n):
        self.uvar(value << 1 if value >= 0 else ~value << 1 | 1, n + 1)

    def ulong(self, value):
        n = max(0, value.bit_length() - 1)
        self.uvar(n, 2)
        self.uvar(value, n)

    def data(self):
        bits = self.bits + [0] * (-len(self.bits) % 32)
        return np.packbits(np.array(bits, dtype=np.uint8)).tobytes()


def divide(a, b):
    """Division that rounds towards zero, as C has it."""
    return abs(a) // b * (1 if a >= 0 else -1)


class Encoder:
    def __init__(self, version, kind, channels, block, means, order):
        self.out, self.version, self.block, self.shift = Bits(), version, block, 0
        middle = {U8: 0x80, U16HL: 0x8000, U16LH: 0x8000}.get(kind, 0)
        self.means = [[middle] * max(1, means) for _ in range(channels)]
        self.keeps_means = means > 0
        self.history = [[0] * max(3, order) for _ in range(channels)]
        for byte in b"ajkg" + bytes([version]):
            self.out.raw(byte, 8)
        for value in (kind, channels, block, order, means, 0):
            self.out.ulong(value)

    def offset(self, channel):
        means = self.means[channel]
        if not self.keeps_means:
            return means[0]
        total = sum(means) + (len(means) // 2 if self.version > 1 else 0)
        mean = divide(total, len(means))
        return mean >> self.shift if self.version > 1 else mean

    def set_shift(self, shift):
        self.out.uvar(BITSHIFT, 2)
        self.out.uvar(shift, 2)
        self.shift = shift

    def set_block(self, block):
        self.out.uvar(BLOCKSIZE, 2)
        self.out.ulong(block)
        self.block = block

    def verbatim(self, data):
        self.out.uvar(VERBATIM, 2)
        self.out.uvar(len(data), 5)
        for byte in data:
            self.out.uvar(byte, 8)

    def encode(self, channel, samples, command, coefficients=()):
        """One block; samples are already shifted."""
        history, offset = self.history[channel], self.offset(channel)
        self.out.uvar(command, 2)
        if command != ZERO:
            residuals = self.residuals(history, samples, command, coefficients, offset)
            energy = max(0, int(np.ceil(np.log2(1 + np.mean(np.abs(residuals))))) - 1)
            self.out.uvar(energy, 3)
            if command == QLPC:
                self.out.uvar(len(coefficients), 2)
                for c in coefficients:
                    self.out.var(c, 5)
            for r in residuals:
                self.out.var(int(r), energy)
        if self.keeps_means:
            total = sum(samples) + (len(samples) // 2 if self.version > 1 else 0)
            mean = divide(total, len(samples))
            self.means[channel] = self.means[channel][1:] + [mean << self.shift if self.version > 1 else mean]
        self.history[channel] = (history + samples)[-len(history):]

    def residuals(self, history, samples, command, coefficients, offset):
        x, n = history + samples, len(history)
        if command == DIFF:
            return [s - offset for s in samples]
        if command < QUIT:
            weights = {1: [1], 2: [2, -1], 3: [3, -3, 1]}[command]
            return [x[n + t] - sum(w * x[n + t - 1 - i] for i, w in enumerate(weights)) for t in range(len(samples))]
        rounding = 32 if self.version > 1 else 0
        x = [s - offset for s in x]
        return [x[n + t] - (rounding + sum(c * x[n + t - 1 - i] for i, c in enumerate(coefficients)) >> 5)
                for t in range(len(samples))]

    def finish(self):
        self.out.uvar(QUIT, 2)
        return self.out.data()


# ---- mu-law ----------------------------------------------------------------------------------------------

def ulaw_value(code):
    """G.711: 16 bits of a code."""
    code ^= 0xff
    magnitude = ((2 * (code & 15) + 33) * 4 << (code >> 4 & 7)) - 132
    return -magnitude if code & 0x80 else magnitude


VALUES = np.array([ulaw_value(code) for code in range(256)])


def ulaw_order(shift):
    """The codes of samples -128 ... 127: around 0 codes of multiples of 2^shift in 13 bits, outside the others."""
    multiples = np.arange(-4096, 4096, 1 << shift) * 8
    positive, negative = range(255, 127, -1), range(126, -1, -1)
    used = set(audioop.lin2ulaw(multiples.astype("<i2").tobytes(), 2))
    up = [c for c in positive if c in used] + [c for c in positive if c not in used]
    down = [c for c in negative if c in used] + [0x7f] + [c for c in negative if c not in used]
    return down[::-1] + up


def ulaw_samples(x, kind, shift):
    """The nearest codes that this shift can represent: coded numbers, and values."""
    order = np.array(ulaw_order(shift))
    sample = np.abs(VALUES[order] - x[..., None]).argmin(-1) - 128
    values = VALUES[order[sample + 128]]
    if kind == AU2:
        sample = np.where(sample < 0, sample - 1, sample)
        sample[x == 0] = -1  # the negative zero
        values[x == 0] = 0
    return sample, values


def header(samples, channels, version, order):
    lines = ["NIST_1A", "   1024", f"sample_count -i {samples}", "sample_rate -i 16000",
             f"channel_count -i {channels}", "sample_n_bytes -i 2", f"sample_byte_format -s2 {order}",
             f"sample_coding -s{len('pcm,embedded-shorten-v2.00')} pcm,embedded-shorten-v{version}.00", "end_head"]
    return ("\n".join(lines) + "\n").encode().ljust(1024)


def signal(channels, seed):
    random = np.random.default_rng(seed)
    time = np.arange(SAMPLES)[:, None]
    x = 6000 * np.sin(time / (9 + np.arange(channels))) + random.normal(0, 200, (SAMPLES, channels)) + 40
    x[300:560] = 0
    return np.clip(np.round(x), -32768, 32767).astype(int)


# name: version, type, channels, block, means, commands in turn
COMMANDS = [(1, ()), (DIFF, ()), (2, ()), (3, ()), (QLPC, (40, -12)), (QLPC, (28,)), (QLPC, (50, -30, 8))]
CASES = {
    "v2": (2, S16LH, 1, 256, 4),
    "v2_big": (2, S16HL, 1, 100, 4),
    "v2_stereo": (2, S16LH, 2, 256, 4),
    "v2_no_means": (2, S16HL, 1, 256, 0),
    "v2_unsigned": (2, U16LH, 1, 200, 2),
    "v1": (1, S16HL, 1, 256, 0),
    "v1_means": (1, S16HL, 2, 128, 3),
    "v2_ulaw": (2, AU1, 1, 256, 4),
    "v2_ulaw_zeros": (2, AU2, 2, 200, 4),
    "v1_ulaw": (1, AU1, 1, 256, 0),
}


def encode(version, kind, channels, block, means, samples):
    encoder = Encoder(version, kind, channels, block, means, 3)
    stored = samples.copy() + (0x8000 if kind in (U16HL, U16LH) else 0)
    encoder.verbatim(b"RIFF")
    at, turn = 0, 0
    while at < SAMPLES:
        count = min(encoder.block, SAMPLES - at)
        if count != encoder.block:
            encoder.set_block(count)
        part = stored[at:at + count].copy()
        shift = 2 if turn % 5 == 3 else 0
        if kind in (AU1, AU2):
            shift = turn * 5 % 13
            part, stored[at:at + count] = ulaw_samples(part, kind, shift)
        else:
            part >>= shift
            stored[at:at + count] = part << shift
        if shift != encoder.shift:
            encoder.set_shift(shift)
        for channel in range(channels):
            command, coefficients = COMMANDS[(turn + channel) % len(COMMANDS)]
            if not part[:, channel].any():
                command = ZERO
            encoder.encode(channel, part[:, channel].tolist(), command, coefficients)
        at, turn = at + count, turn + 1
    samples[:] = stored - (0x8000 if kind in (U16HL, U16LH) else 0)
    return encoder.finish()


def check(path, samples):
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "s16le", "-"], capture_output=True, check=True)
    decoded = np.frombuffer(raw.stdout, dtype="<i2").reshape(-1, samples.shape[1])
    assert np.array_equal(decoded, samples), path


def main():
    tensors = {}
    for seed, (name, (version, kind, channels, block, means)) in enumerate(CASES.items()):
        samples = signal(channels, seed)
        data = encode(version, kind, channels, block, means, samples)
        path = os.path.join(golden_file.FOLDER, f"shorten_{name}.sph")
        with open(path, "wb") as file:
            file.write(header(SAMPLES, channels, version, "10" if kind in (S16HL, U16HL) else "01") + data)
        if kind in (S16HL, S16LH):
            check(path, samples)
        tensors[name] = torch.from_numpy(samples)
    orders = [ulaw_order(shift) for shift in range(13)]
    assert orders[5][128:137] == [255, 231, 219, 211, 205, 201, 197, 193, 190]  # as in Robinson's tables
    assert orders[2][139:142] == [225, 223, 222]
    assert orders[11][124:131] == [126, 127, 0, 15, 255, 143, 254]
    tensors["ulaw"] = torch.from_numpy(VALUES[np.array(orders)])
    golden_file.write("shorten.safetensors", tensors)


if __name__ == "__main__":
    main()
