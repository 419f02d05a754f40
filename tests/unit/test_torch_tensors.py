"""Codes take CPU tensors where numpy arrays go, without torch being imported by them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gcexp.codes import CommunicationEfficient, CyclicMDS, CyclicRepetition
from gcexp.errors import ParameterError

CODES = [CyclicRepetition(5, 2), CyclicMDS(5, 2), CommunicationEfficient(5, 3, 2)]
each_code = pytest.mark.parametrize("code", CODES, ids=lambda code: type(code).__name__)


def gradients(code, dtype) -> torch.Tensor:
    return torch.randn(code.k, 7, generator=torch.Generator().manual_seed(0)).to(dtype)


@each_code
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "bfloat16"])
def test_encode_and_decode_take_tensors(code, dtype):
    g = gradients(code, getattr(torch, dtype))
    same = (g.double() if dtype == "bfloat16" else g).numpy()
    sent = code.encode(g)
    assert isinstance(sent, np.ndarray) and sent.dtype == code.encoding.dtype
    np.testing.assert_array_equal(sent, code.encode(same))
    np.testing.assert_array_equal(code.encode(g[:, ::2]), code.encode(same[:, ::2]))  # not contiguous
    responses = torch.ones(1, code.n, dtype=torch.int64)
    for heard in (responses, responses.bool()):
        np.testing.assert_array_equal(code.decode(heard).coefficients, np.ones((1, code.k)))
    decoded = code.combine(sent, code.decode(responses).weights[0])
    np.testing.assert_allclose(decoded[:7], g.double().sum(0), atol=1e-9)


@each_code
def test_combine_takes_tensors(code):
    sent = code.encode(gradients(code, torch.float64))
    weights = code.decode(code.messages).weights[0]
    answer = code.combine(sent, weights)
    for messages in (torch.from_numpy(sent), torch.from_numpy(sent.copy(order="F"))):
        found = code.combine(messages, weights)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, answer, rtol=1e-12)
    single = torch.complex64 if np.iscomplexobj(sent) else torch.bfloat16
    np.testing.assert_allclose(code.combine(torch.from_numpy(sent).to(single), weights), answer, atol=0.2)
    with pytest.raises(ParameterError, match="messages require grad"):
        code.combine(torch.from_numpy(sent).requires_grad_(), weights)
    with pytest.raises(ParameterError, match=r"gradients.detach\(\)"):
        code.encode(gradients(code, torch.float32).requires_grad_())
    with pytest.raises(ParameterError, match="real.*complex"):
        code.encode(torch.ones(code.k, 3, dtype=torch.complex64))
