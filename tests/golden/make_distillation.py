"""Writes distillation.safetensors: the distillation loss of a sequence (Hinton et al. 2015) and its gradient.

Case i is `i.teacher`, `i.student` (T, V): logits; `i.loss` (1): the sum over frames of KL(teacher || student);
`i.grad` (T, V): its gradient with respect to the student's logits. Torch's answers are checked against the definition
in NumPy. The shapes are those of make_consistency.py.
"""

import numpy as np
import torch

import golden_file
from make_consistency import CASES, divergence, posteriors


def check(teacher, student, loss):
    p, q = (posteriors(x.detach().numpy()) for x in (teacher, student))
    expected = float(np.sum(p * np.log(p / q)))
    assert abs(loss - expected) < 1e-9 * max(1, expected), (loss, expected)
    slope = np.abs(student.grad.numpy() - (q - p)).max()
    assert slope < 1e-12, slope
    return f"loss {loss:.6f}"


def make(frames, outputs, factor, apart):
    student = golden_file.rounded(factor * torch.randn(frames, outputs, dtype=torch.float64))
    teacher = golden_file.rounded(student + apart * torch.randn(frames, outputs, dtype=torch.float64))
    student.requires_grad_()
    loss = divergence(teacher, student)
    loss.backward()
    return teacher, student, loss.detach()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(12)
    tensors, names = {}, {}
    for i, (name, *shape) in enumerate(CASES):
        teacher, student, loss = make(*shape)
        print(f"{i} {name}: {check(teacher, student, loss.item())}")
        tensors.update({f"{i}.teacher": teacher, f"{i}.student": student, f"{i}.loss": loss.reshape(1),
                        f"{i}.grad": student.grad})
        names[f"{i}.name"] = name
    golden_file.write("distillation.safetensors", tensors, {"cases": str(len(CASES)), **names})


if __name__ == "__main__":
    main()
