"""Singular values where the fast driver gives up: numpy's divide and conquer first, QR iteration after it."""

from __future__ import annotations

import numpy as np


def svd(A: np.ndarray, full_matrices: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`numpy.linalg.svd` of one matrix or a stack (..., a, b); what does not converge is solved by LAPACK's gesvd.

    Raises `numpy.linalg.LinAlgError` if neither driver converges, or an entry is no number.
    """
    try:
        return np.linalg.svd(A, full_matrices)
    except np.linalg.LinAlgError:
        from scipy.linalg import svd as slower

        if not np.isfinite(A).all():
            raise
        matrices = A.reshape(-1, *A.shape[-2:])
        each = [slower(matrix, full_matrices, lapack_driver="gesvd") for matrix in matrices]
        U, size, V = (np.array(part) for part in zip(*each, strict=True))
        stack = A.shape[:-2]
        return U.reshape(*stack, *U.shape[1:]), size.reshape(*stack, -1), V.reshape(*stack, *V.shape[1:])


def pinv(A: np.ndarray, rcond: float) -> np.ndarray:
    """`numpy.linalg.pinv` of a stack (..., a, b), with `svd` where it does not converge."""
    try:
        return np.linalg.pinv(A, rcond=rcond)
    except np.linalg.LinAlgError:
        U, size, V = svd(A, full_matrices=False)
        is_large = size > rcond * size.max(-1, keepdims=True, initial=0)
        inverse = np.divide(1, size, out=np.zeros_like(size), where=is_large)
        return (V.conj().swapaxes(-1, -2) * inverse[..., None, :]) @ U.conj().swapaxes(-1, -2)
