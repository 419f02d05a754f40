"""Categorical rows one-hot encoded, the regression on them, and the AUC table of the specification on real rows."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OneHotEncoder

from gcexp.data import Dataset, load, prepare
from gcexp.data.categories import LEFT_OUT, one_hot_pairs
from gcexp.errors import ParameterError
from gcexp.tasks.logistic_regression import LogisticRegression, area_under_roc
from gcexp.tasks.optimizers import AcceleratedGradient
from gcexp.tasks.training import train

draw = np.random.default_rng(0)
ROWS, LABELS = draw.integers(0, 5, (60, 9)).astype(np.int32), draw.integers(0, 2, 60)
SMALL = Dataset("small", ROWS, LABELS, ROWS[:0], LABELS[:0], "")


def dense(rows):
    """The same encoding by scikit-learn on columns of text."""
    pairs = [p for p in combinations(range(rows.shape[1]), 2) if p not in LEFT_OUT]
    text = [rows[:, j].astype(str) for j in range(rows.shape[1])]
    text += [np.char.add(np.char.add(text[a], "&"), text[b]) for a, b in pairs]
    encoded = OneHotEncoder(sparse_output=False).fit_transform(np.stack([*text, np.full(len(rows), "1")], 1))
    return encoded[:, encoded.any(0)]


@pytest.mark.parametrize("size", [4, 400])  # few values: bitmaps; many: sorted
def test_encoding_is_one_hot_of_columns_and_pairs(size):
    draw = np.random.default_rng(size)
    rows = draw.integers(0, size, (50, 9)) * 7
    ones, l = one_hot_pairs(rows)
    assert ones.shape == (50, 44) and (np.diff(ones) > 0).all() and (ones[:, -1] == l - 1).all()
    ours = np.zeros((50, l))
    np.put_along_axis(ours, ones.astype(np.int64), 1, axis=1)
    expected = dense(rows)
    assert ours.shape == expected.shape and ours.any(0).all()
    np.testing.assert_array_equal(ours @ ours.T, expected @ expected.T)


def test_area_under_roc_as_scikit_learn_has_it():
    draw = np.random.default_rng(0)
    for _ in range(20):
        scores, labels = draw.integers(0, 6, 40) / 5, draw.integers(0, 2, 40) > 0
        np.testing.assert_allclose(area_under_roc(scores, labels), roc_auc_score(labels, scores), rtol=1e-12)


@pytest.mark.parametrize(("seed", "split_seed", "order"), [(3, None, 3), (3, 7, 7)])
def test_gradients_are_derivatives_of_the_loss_on_the_split_of_the_seed(seed, split_seed, order):
    kept = np.random.default_rng(order).permutation(60)[:44]
    ones, _ = one_hot_pairs(ROWS)
    x, y = np.zeros((44, 2000)), 2 * LABELS[kept] - 1
    np.put_along_axis(x, ones[kept].astype(np.int64), 1, axis=1)
    problem = LogisticRegression("small", 44, split_seed, pad_to=2000).problem(SMALL, seed)
    w, c = np.random.default_rng(1).standard_normal(2000) / 10, np.array([1.0, -2, 0, 0.5, 3])
    weights = np.repeat(c, [9, 9, 9, 9, 8])

    def loss(v):
        return weights @ np.logaddexp(0, -y * (x @ v))

    assert check_grad(loss, lambda v: problem.gradient(v, c, 0), w) < 1e-4
    assert problem.recovered_samples(c) == 44 - 9 and problem.n_samples == 44


def test_padding_changes_no_score():
    tasks = LogisticRegression("small", 44), LogisticRegression("small", 44, pad_to=1500)
    plain, padded = (train(t, AcceleratedGradient(1.0), SMALL, [0], [20], progress=False) for t in tasks)
    for score in ("test_loss", "test_auc"):
        np.testing.assert_allclose(plain.scores[score], padded.scores[score], rtol=1e-12)
    assert padded.parameters.shape[-1] == 1500


REAL = Dataset("small", ROWS.astype(np.float32), LABELS, None, None, "")


@pytest.mark.parametrize(
    ("task", "data", "named"),
    [
        (LogisticRegression("small", 60), SMALL, "59.*60"),
        (LogisticRegression("small", 44, pad_to=9), SMALL, "pad_to"),
        (LogisticRegression("other", 44), SMALL, "'other'"),
        (LogisticRegression("small", 44), REAL, "categorical"),
    ],
    ids=["rows", "pad", "data", "kind"],
)
def test_what_does_not_fit_is_refused(task, data, named):
    with pytest.raises(ParameterError, match=named):
        task.problem(data, 0)


def test_generated_rows(tmp_path):
    """The stand-in of the quick preset: sizes, the chance of access, and what can be learned from them."""
    prepare("access_rows", tmp_path / "access_rows.npz")
    data = load(tmp_path / "access_rows.npz")
    assert data.x_train.shape == (3000, 9) and "generated" in data.note
    assert abs(data.y_train.mean() - 0.942) < 0.02
    assert 7.2e4 < one_hot_pairs(data.x_train)[1] < 8.2e4
    task = LogisticRegression("access_rows", 2400)
    found = train(task, AcceleratedGradient(), data, [0, 1], [100, 100], progress=False)
    auc = found.scores["test_auc"]
    assert (auc[:, 0] == 0.5).all() and ((auc[:, -1] > 0.77) & (auc[:, -1] < 0.9)).all()


def test_auc_table_of_the_specification(tmp_path, published_data):
    prepare("amazon_access", tmp_path / "amazon_access.npz", published_data("amazon_access/train.csv"))
    data = load(tmp_path / "amazon_access.npz")
    assert data.y_train.sum() == 30872 and one_hot_pairs(data.x_train)[1] == 241915
    assert [len(np.unique(c)) for c in data.x_train.T] == [7518, 4243, 128, 177, 449, 343, 2358, 67, 343]
    task = LogisticRegression("amazon_access", 26220, pad_to=343474)
    found = train(task, AcceleratedGradient(10.0, 1.0), data, [0, 1], [100, 100], progress=False)
    expected = [[0.5, 0.7498, 0.8414, 0.8573, 0.8651, 0.8664], [0.5, 0.7779, 0.8499, 0.8644, 0.8698, 0.8713]]
    np.testing.assert_allclose(
        found.scores["test_auc"][:, [0, 10, 20, 30, 50, 100]], expected, rtol=0, atol=1e-3
    )
    assert found.parameters.shape == (2, 5, 343474)
