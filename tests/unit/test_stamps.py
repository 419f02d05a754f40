"""What a training of ours is known by: a checkpoint of an earlier release is adopted while its bits are the same."""

import pytest

from gcexp.run.compose import compose
from gcexp.run.stages import decided_by
from gcexp.tasks.checkpoint import stamp

#: As they were when the checkpoints of published trainings were written; hours are trained again where one differs.
STAMPS = {
    "mnist_mlp": "fe3171ebcc384ee7950982fbb8510e837eaff2e37426498db99d048532a979f8",
    "cifar_resnet18": "2dda579e154f5fffef2e757fa9928ef4a29cf36a324090bb3f659786f90670b6",
    "amazon_logistic": "ce6e81da3050d097bec6fffd258425db5d3b4315ae8ac18efd0c9f65b46ed646",
    "digits_mlp": "9fdd3018b810233a4b79507c113fbdf0c88ab1ba6a6cb05d4f0d000437274b63",
    "linear_regression": "0a0e656cd4e57fcc889926b6ebffa7dba810addc17783a4ac4b1e14b4ae7dc35",
    "access_rows_logistic": "f1d2354af12a4b8e663b88e3dc10cf5a6535e292d8670de3182ea69eea20352f",
    "small_cnn": "99b1c37328d6f7ee8de21192d9c1afc8a6c5c29163302e569d23579e3310ef40",
    "torch": "85c85baf0fb074ba540c9bf51fcb019920d3b19b4cf7c9496e94e8a0f2eb3c9e",
}


@pytest.mark.parametrize("task", STAMPS)
def test_a_stamp_of_an_earlier_release_is_still_ours(task):
    record = {"sha256": "0", "key": "of what the data were prepared from: decides nothing"}
    assert stamp(decided_by(compose([f"task={task}", "seeds=0-1"]), record)) == STAMPS[task]
