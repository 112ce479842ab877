"""Writes encoder_<case>.safetensors: outputs, loss, gradients and optimiser steps of tiny encoders.

Computed in float64 from float32 inputs, stored as float32. Each case is also computed in float32, and the
differences are printed: they show which errors a correct float32 implementation has to be allowed.
"""

import json

import torch

import golden_file
import torch_model as model

COMMON = {"encoder": "transformer", "input_dim": 8, "stack": 1, "width": 24, "heads": 3, "layers": 2,
          "feed_forward": 48, "activation": "relu", "norm": "post", "dropout": 0, "position": "sinusoidal",
          "attention": "linear", "convolution": 0, "outputs": 7}

# One utterance of each case has a single output frame. lengths are in input frames.
CASES = {
    "post": {
        "config": {},
        "lengths": [37, 20, 1],
        "labels": [[3, 1, 1, 4, 6, 2, 5], [2, 2, 6], [4]]},
    "pre": {  # the last utterance is shorter than a stack, and its label is empty
        "config": {"stack": 3, "activation": "gelu", "norm": "pre"},
        "lengths": [37, 20, 2],
        "labels": [[1, 5, 5, 3, 2], [6, 1, 2, 2], []]},
    "conv_pre": {  # the middle utterance is infeasible by one frame: 6 labels + 5 repeats, 10 frames
        "config": {"stack": 2, "norm": "pre", "convolution": 15},
        "lengths": [37, 20, 2],
        "labels": [[6, 6, 2, 3, 1, 4], [2, 2, 2, 2, 2, 2], [3]]},
    "conv_post": {
        "config": {"stack": 4, "convolution": 15, "position": "none"},
        "lengths": [37, 20, 4],
        "labels": [[2, 4, 4, 1], [5, 3], [1]]},
    "blstm": {  # torch.nn.LSTM; utterances are not sorted by length
        "config": {"encoder": "blstm", "stack": 2, "width": 12},
        "lengths": [20, 1, 37, 20],
        "labels": [[2, 2, 6], [4], [3, 1, 1, 4, 6, 2, 5], [1, 5]]},
    "fourier": {  # with these seeds, PyTorch's float32 is also within the bounds of the test
        "seed": 5,
        "config": {"norm": "pre", "feature_map": "fourier", "features": 9},
        "lengths": [37, 20, 1],
        "labels": [[3, 1, 1, 4, 6, 2, 5], [2, 2, 6], [4]]},
    "polynomial": {
        "seed": 6,
        "config": {"norm": "pre", "feature_map": "polynomial"},
        "lengths": [37, 20, 1],
        "labels": [[1, 5, 5, 3, 2], [6, 1, 2, 2], [3]]},
    "causal": {  # the convolution of the first layer looks ahead by one frame, that of the second not at all
        "config": {"attention": "causal-linear", "stack": 2, "norm": "pre", "convolution": 15,
                   "convolution_lookahead": [1, 0]},
        "lengths": [37, 20, 2],
        "labels": [[3, 1, 1, 4, 6, 2], [2, 5, 6], [4]]},
}
INFEASIBLE = {"conv_pre": 1}
OPTIMISERS = {"radam": torch.optim.RAdam, "adam": torch.optim.Adam}
STEPS = 3
LEARNING_RATE = 1e-2
MAX_NORM = 1.0


def initial_parameters(config):
    """Torch's initial weights, with changed biases and norms: values of 0 or 1 could hide an error."""
    parameters = dict(model.make_encoder(config).double().state_dict())
    for name, x in parameters.items():
        if x.dim() == 1:
            x += 0.2 * torch.randn(x.shape, dtype=x.dtype)
        parameters[name] = golden_file.rounded(x)
    return parameters


def build(config, parameters, dtype):
    encoder = model.make_encoder(config).to(dtype)
    encoder.load_state_dict(parameters)
    return encoder


def forward(encoder, case, features):
    dtype = next(encoder.parameters()).dtype
    log_probs, offsets = encoder(features.to(dtype), model.lengths_to_offsets(case["lengths"]))
    nll = model.ctc_nll(log_probs, offsets, case["labels"])
    return log_probs, nll, model.batch_loss(nll, case["labels"])[2]


def results(config, case, parameters, features, dtype):
    encoder = build(config, parameters, dtype)
    log_probs, nll, loss = forward(encoder, case, features)
    loss.backward()
    tensors = {"log_probs": log_probs, "nll": nll, "loss": loss.reshape(1)}
    tensors.update({f"grad.{name}": x.grad for name, x in encoder.named_parameters() if x.requires_grad})
    for prefix in OPTIMISERS:
        encoder = build(config, parameters, dtype)
        norms = train(encoder, case, features, OPTIMISERS[prefix])
        print(f"  {prefix}, {dtype}: gradient norms {', '.join(f'{x:.3f}' for x in norms)}")
        tensors.update({f"{prefix}.{name}": x for name, x in encoder.named_parameters()})
    return {name: x.detach() for name, x in tensors.items()}


def train(encoder, case, features, optimiser_class):
    """STEPS steps on one batch; returns the gradient norms before clipping"""
    optimiser = optimiser_class(encoder.parameters(), lr=LEARNING_RATE)
    norms = []
    for _ in range(STEPS):
        optimiser.zero_grad()
        forward(encoder, case, features)[2].backward()
        norms.append(torch.nn.utils.clip_grad_norm_(encoder.parameters(), MAX_NORM).item())
        optimiser.step()
    return norms


def report_float32(exact, single):
    """The largest difference between the float64 and the float32 run, per group of tensors"""
    worst = {}
    for name, x in exact.items():
        finite = x.isfinite()
        error = (x[finite] - single[name][finite]).abs().max().item()
        group = name.split(".")[0]
        worst[group] = max(worst.get(group, (0.0, "")), (error, name))
    for group, (error, name) in worst.items():
        print(f"  float32 differs in {group:9s} by {error:.1e} ({name})")


def make(name, case):
    config = {**COMMON, **case["config"]}
    parameters = initial_parameters(config)
    features = golden_file.rounded(torch.randn(sum(case["lengths"]), config["input_dim"]))
    exact = results(config, case, parameters, features, torch.float64)
    report_float32(exact, results(config, case, parameters, features, torch.float32))
    infeasible = [] if name not in INFEASIBLE else [INFEASIBLE[name]]
    assert exact["nll"].isinf().nonzero().flatten().tolist() == infeasible
    inputs = {"features": features, "lengths": golden_file.integers(case["lengths"]),
              "labels": golden_file.integers([label for labels in case["labels"] for label in labels]),
              "label_lengths": golden_file.integers([len(labels) for labels in case["labels"]])}
    inputs.update({f"param.{key}": x for key, x in parameters.items()})
    metadata = {"config": json.dumps(config), "steps": str(STEPS), "learning_rate": str(LEARNING_RATE),
                "max_norm": str(MAX_NORM)}
    golden_file.write(f"encoder_{name}.safetensors", {**inputs, **exact}, metadata)


def main():
    torch.set_num_threads(1)
    for seed, (name, case) in enumerate(CASES.items(), 1):
        torch.manual_seed(case.get("seed", seed))
        make(name, case)


if __name__ == "__main__":
    main()
