"""Two workloads on which nothing was chosen, to test predictions of their critical batch sizes.

docs/measured.md has the predictions, which were committed before the training.
Trained with `dbtool produce --from data/held_back.py`.
"""

from dataclasses import replace

from producers.workloads.registry import WORKLOADS as PUBLISHED

WORKLOADS = [
    replace(
        PUBLISHED["fashion_mnist/fc_128_128_128/sgd"],
        model="fc_1024_1024_1024",
        batch_sizes=(4, 16, 64, 256, 1_024, 4_096),
    ),
    replace(
        PUBLISHED["mnist/simple_cnn_base/nesterov_momentum"],
        model="simple_cnn_narrow",
        batch_sizes=(8, 32, 128, 512, 2_048),
    ),
]
