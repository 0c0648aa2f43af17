/*
Figure 6: how does the size of the data set change the effect of the batch size?
Two data sets, one curve a subset; y is the steps to result divided by the curve's own at the batch size normalise_at,
or where more of the panel's curves reached the goal at another one, at that, of several the smallest.
Change a goal or a number of trials below; the parameters goal and trials replace them all, release names the release,
or several joined by commas.
*/
WITH curves(panel_order, panel, series_order, series, workload, metric, goal, asked_trials, normalise_at) AS (
    VALUES
        (1, 'Simple CNN on subsets of MNIST', 1, 'mnist_55000', 'mnist_subsets/mnist_55000/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.02, 100, 2),
        (1, 'Simple CNN on subsets of MNIST', 2, 'mnist_27500', 'mnist_subsets/mnist_27500/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.02, 100, 2),
        (1, 'Simple CNN on subsets of MNIST', 3, 'mnist_13750', 'mnist_subsets/mnist_13750/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.02, 100, 2),
        (1, 'Simple CNN on subsets of MNIST', 4, 'mnist_6875', 'mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.02, 100, 2),
        (2, 'ResNet-50 on subsets of ImageNet', 1, 'imagenet', 'imagenet/resnet_50/nesterov_momentum', 'val_classification_error', 0.25, 100, 64),
        (2, 'ResNet-50 on subsets of ImageNet', 2, 'imagenet_half_images', 'imagenet_subsets/imagenet_half_images/resnet_50/nesterov_momentum', 'val_classification_error', 0.3, 100, 64),
        (2, 'ResNet-50 on subsets of ImageNet', 3, 'imagenet_half_classes', 'imagenet_subsets/imagenet_half_classes/resnet_50/nesterov_momentum', 'val_classification_error', 0.3, 100, 64)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows')),
bounded AS (FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false)))
FROM normalised('bounded');
