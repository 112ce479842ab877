"""Writes corpus/model: tiny model files by Python's safetensors library, independent of Linnet's writer.

They are the seeds of fuzz_model, and test_model_file.c checks that they load with the values below.
Needs numpy and safetensors.
"""

import json
import os

import numpy as np
from safetensors.numpy import save_file

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "model")

CONFIG = {"encoder": "transformer", "input_dim": 4, "stack": 1, "width": 4, "heads": 2, "layers": 1,
          "feed_forward": 6, "activation": "relu", "norm": "post", "dropout": 0.1, "position": "sinusoidal",
          "attention": "linear", "convolution": 0, "outputs": 3}
FEATURES = {"kind": "fbank", "sample_rate": 16000, "frame_length": 25, "frame_shift": 10, "num_mel": 4,
            "low_frequency": 20, "high_frequency": 0, "preemphasis": 0.97, "cmvn": "utterance",
            "cmvn_variance": True}
SYMBOLS = ["<blk>", "a", "\u0259\u02d0"]


def blstm_shapes(config):
    h, inputs = config["width"], config["input_dim"] * config["stack"]
    for layer in range(config["layers"]):
        for direction in ("", "_reverse"):
            for name, shape in (("weight_ih", (4 * h, inputs)), ("weight_hh", (4 * h, h)), ("bias_ih", (4 * h,)),
                                ("bias_hh", (4 * h,))):
                yield f"lstm.{name}_l{layer}{direction}", shape
        inputs = 2 * h
    yield from linear("output", config["outputs"], 2 * h)


def shapes(config):
    """Name -> shape of every tensor that a configuration has"""
    if config["encoder"] == "blstm":
        yield from blstm_shapes(config)
        return
    d, f, k, v = (config[key] for key in ("width", "feed_forward", "convolution", "outputs"))
    yield from linear("input", d, config["input_dim"] * config["stack"])
    for layer in range(config["layers"]):
        prefix = f"layers.{layer}."
        for name in ("query", "key", "value", "output"):
            yield from linear(f"{prefix}attention.{name}", d, d)
        yield from norm(f"{prefix}norm1", d)
        if k:
            yield from norm(f"{prefix}convolution.norm1", d)
            yield from linear(f"{prefix}convolution.pointwise1", 2 * d, d)
            yield f"{prefix}convolution.depthwise.weight", (k, d)
            yield f"{prefix}convolution.depthwise.bias", (d,)
            yield from norm(f"{prefix}convolution.norm2", d)
            yield from linear(f"{prefix}convolution.pointwise2", d, d)
        yield from linear(f"{prefix}feed_forward.linear1", f, d)
        yield from linear(f"{prefix}feed_forward.linear2", d, f)
        yield from norm(f"{prefix}norm2", d)
    if config["norm"] == "pre":
        yield from norm("norm", d)
    yield from linear("output", v, d)


def linear(name, outputs, inputs):
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def norm(name, width):
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)


def write(name, dtype, config, features, more=None):
    config, features = {**CONFIG, **config}, {**FEATURES, **features}
    tensors = {}
    for index, (tensor, shape) in enumerate(shapes(config)):  # element i of tensor t is t + i / 64: exact in float16
        tensors[tensor] = (index + np.arange(np.prod(shape)) / 64).reshape(shape).astype(dtype)
    tensors.update(more or {})
    metadata = {"format": "linnet-1", "config": json.dumps(config), "features": json.dumps(features),
                "symbols": json.dumps(SYMBOLS), "licence": "Apache-2.0", "name": name}
    path = os.path.join(FOLDER, f"{name}.safetensors")
    save_file(tensors, path, metadata)
    os.chmod(path, 0o644)
    print(f"{name}: {len(tensors)} tensors, {os.path.getsize(path)} bytes")


def main():
    os.makedirs(FOLDER, exist_ok=True)
    write("plain_float32", np.float32, {}, {})
    write("conv_float16", np.float16, {"convolution": 3, "norm": "pre", "activation": "gelu", "stack": 2,
                                       "attention": ["linear"], "dropout": 0}, {"cmvn": "none"})
    write("blstm_float32", np.float32, {"encoder": "blstm", "layers": 2, "stack": 2}, {})
    statistics = {"cmvn.count": np.array([100.]), "cmvn.sum": np.arange(4.), "cmvn.square": np.full(4, 200.)}
    write("global_float32", np.float32, {"position": "none"}, {"cmvn": "global"}, statistics)
    write("live_float32", np.float32, {"attention": "causal-linear", "convolution": 3, "stack": 3,
                                       "convolution_lookahead": [1]},
          {"cmvn": "running", "cmvn_frames": "speech", "cmvn_prior": 250}, statistics)


if __name__ == "__main__":
    main()
