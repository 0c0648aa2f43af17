/*
Figure 3: how does the model change the effect of the batch size?
Six panels, one curve a model; y is the steps to result divided by the curve's own at the batch size normalise_at,
or where more of the panel's curves reached the goal at another one, at that, of several the smallest.
Change a goal or a number of trials below; the parameters goal and trials replace them all, release names the release,
or several joined by commas.
*/
WITH curves(panel_order, panel, series_order, series, workload, metric, goal, asked_trials, normalise_at) AS (
    VALUES
        (1, 'Fully connected and CNN on MNIST', 1, 'fc_1024_1024_1024', 'mnist/fc_1024_1024_1024/sgd', 'val_classification_error', 0.03, 100, 1),
        (1, 'Fully connected and CNN on MNIST', 2, 'simple_cnn_base', 'mnist/simple_cnn_base/sgd', 'val_classification_error', 0.03, 100, 1),
        (2, 'ResNet-50 and VGG-11 on ImageNet', 1, 'resnet_50', 'imagenet/resnet_50/nesterov_momentum', 'val_classification_error', 0.35, 100, 64),
        (2, 'ResNet-50 and VGG-11 on ImageNet', 2, 'vgg_11', 'imagenet/vgg_11/nesterov_momentum', 'val_classification_error', 0.35, 100, 64),
        (3, 'Transformer and LSTM on LM1B', 1, 'transformer_base', 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.9, 100, 16),
        (3, 'Transformer and LSTM on LM1B', 2, 'lstm', 'lm1b/lstm/nesterov_momentum', 'val_cross_entropy_error', 3.9, 50, 16),
        (4, 'Fully connected on MNIST', 1, 'fc_1024', 'mnist/fc_1024/sgd', 'val_classification_error', 0.03, 100, 2),
        (4, 'Fully connected on MNIST', 2, 'fc_128_128_128', 'mnist/fc_128_128_128/sgd', 'val_classification_error', 0.03, 100, 2),
        (4, 'Fully connected on MNIST', 3, 'fc_256_256_256', 'mnist/fc_256_256_256/sgd', 'val_classification_error', 0.03, 100, 2),
        (4, 'Fully connected on MNIST', 4, 'fc_512_512_512', 'mnist/fc_512_512_512/sgd', 'val_classification_error', 0.03, 100, 2),
        (4, 'Fully connected on MNIST', 5, 'fc_1024_1024_1024', 'mnist/fc_1024_1024_1024/sgd', 'val_classification_error', 0.03, 100, 2),
        (4, 'Fully connected on MNIST', 6, 'fc_2048_2048_2048', 'mnist/fc_2048_2048_2048/sgd', 'val_classification_error', 0.03, 100, 2),
        (5, 'Simple CNN sizes on MNIST', 1, 'simple_cnn_base', 'mnist/simple_cnn_base/sgd', 'val_classification_error', 0.01, 100, 2),
        (5, 'Simple CNN sizes on MNIST', 2, 'simple_cnn_narrow', 'mnist/simple_cnn_narrow/sgd', 'val_classification_error', 0.01, 100, 2),
        (5, 'Simple CNN sizes on MNIST', 3, 'simple_cnn_wide', 'mnist/simple_cnn_wide/sgd', 'val_classification_error', 0.01, 100, 2),
        (6, 'Transformer sizes on LM1B', 1, 'transformer_wide', 'lm1b/transformer_wide/nesterov_momentum', 'val_cross_entropy_error', 4.2, 100, 16),
        (6, 'Transformer sizes on LM1B', 2, 'transformer_base', 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 4.2, 100, 16),
        (6, 'Transformer sizes on LM1B', 3, 'transformer_shallow', 'lm1b/transformer_shallow/nesterov_momentum', 'val_cross_entropy_error', 4.2, 100, 16),
        (6, 'Transformer sizes on LM1B', 4, 'transformer_narrow_and_shallow', 'lm1b/transformer_narrow_and_shallow/nesterov_momentum', 'val_cross_entropy_error', 4.2, 100, 16)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows')),
bounded AS (FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false)))
FROM normalised('bounded');
