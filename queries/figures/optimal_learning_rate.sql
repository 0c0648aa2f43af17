/*
Does the best learning rate follow a simple scaling rule?
Figure 8 for the learning rate itself and all workloads, one a panel; y is the learning rate of the trial that got
strictly past the goal first. linear and square_root are the two rules through the first point.
Change a goal or a number of trials below; the parameters goal and trials replace them all, release names the release,
or several joined by commas.
*/
WITH curves(panel_order, panel, series_order, series, workload, metric, goal, asked_trials) AS (
    VALUES
        (1, 'Simple CNN on MNIST, SGD', 1, 'simple_cnn_base', 'mnist/simple_cnn_base/sgd', 'val_classification_error', 0.01, 100),
        (2, 'Simple CNN on MNIST, momentum', 1, 'simple_cnn_base', 'mnist/simple_cnn_base/momentum', 'val_classification_error', 0.01, 100),
        (3, 'Simple CNN on MNIST, Nesterov momentum', 1, 'simple_cnn_base', 'mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.01, 100),
        (4, 'Narrow simple CNN on MNIST, SGD', 1, 'simple_cnn_narrow', 'mnist/simple_cnn_narrow/sgd', 'val_classification_error', 0.01, 100),
        (5, 'Wide simple CNN on MNIST, SGD', 1, 'simple_cnn_wide', 'mnist/simple_cnn_wide/sgd', 'val_classification_error', 0.01, 100),
        (6, 'FC 1024 on MNIST, SGD', 1, 'fc_1024', 'mnist/fc_1024/sgd', 'val_classification_error', 0.03, 100),
        (7, 'FC 1024-1024 on MNIST, SGD', 1, 'fc_1024_1024', 'mnist/fc_1024_1024/sgd', 'val_classification_error', 0.03, 100),
        (8, 'FC 64-64-64 on MNIST, SGD', 1, 'fc_64_64_64', 'mnist/fc_64_64_64/sgd', 'val_classification_error', 0.03, 100),
        (9, 'FC 128-128-128 on MNIST, SGD', 1, 'fc_128_128_128', 'mnist/fc_128_128_128/sgd', 'val_classification_error', 0.03, 100),
        (10, 'FC 256-256-256 on MNIST, SGD', 1, 'fc_256_256_256', 'mnist/fc_256_256_256/sgd', 'val_classification_error', 0.03, 100),
        (11, 'FC 512-512-512 on MNIST, SGD', 1, 'fc_512_512_512', 'mnist/fc_512_512_512/sgd', 'val_classification_error', 0.03, 100),
        (12, 'FC 1024-1024-1024 on MNIST, SGD', 1, 'fc_1024_1024_1024', 'mnist/fc_1024_1024_1024/sgd', 'val_classification_error', 0.03, 100),
        (13, 'FC 2048-2048-2048 on MNIST, SGD', 1, 'fc_2048_2048_2048', 'mnist/fc_2048_2048_2048/sgd', 'val_classification_error', 0.03, 100),
        (14, 'Simple CNN on Fashion MNIST, Nesterov momentum', 1, 'simple_cnn_base', 'fashion_mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.1, 100),
        (15, 'Simple CNN on 55,000 images of MNIST, Nesterov momentum', 1, 'simple_cnn_base', 'mnist_subsets/mnist_55000/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.02, 100),
        (16, 'Simple CNN on 27,500 images of MNIST, Nesterov momentum', 1, 'simple_cnn_base', 'mnist_subsets/mnist_27500/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.02, 100),
        (17, 'Simple CNN on 13,750 images of MNIST, Nesterov momentum', 1, 'simple_cnn_base', 'mnist_subsets/mnist_13750/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.02, 100),
        (18, 'Simple CNN on 6,875 images of MNIST, Nesterov momentum', 1, 'simple_cnn_base', 'mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.02, 100),
        (19, 'Simple CNN on MNIST, solution quality, Nesterov momentum', 1, 'simple_cnn_base', 'solution_quality/mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.01, 100),
        (20, 'Simple CNN on Fashion MNIST, solution quality, Nesterov momentum', 1, 'simple_cnn_base', 'solution_quality/fashion_mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.1, 100),
        (21, 'ResNet-8 on CIFAR-10, SGD', 1, 'resnet_8', 'cifar_10/resnet_8/sgd', 'val_classification_error', 0.3, 100),
        (22, 'ResNet-8 on CIFAR-10, Nesterov momentum', 1, 'resnet_8', 'cifar_10/resnet_8/nesterov_momentum', 'val_classification_error', 0.3, 100),
        (23, 'ResNet-50 on ImageNet, Nesterov momentum', 1, 'resnet_50', 'imagenet/resnet_50/nesterov_momentum', 'val_classification_error', 0.25, 100),
        (24, 'VGG-11 on ImageNet, Nesterov momentum', 1, 'vgg_11', 'imagenet/vgg_11/nesterov_momentum', 'val_classification_error', 0.35, 100),
        (25, 'ResNet-50 on half of the classes of ImageNet, Nesterov momentum', 1, 'resnet_50', 'imagenet_subsets/imagenet_half_classes/resnet_50/nesterov_momentum', 'val_classification_error', 0.3, 100),
        (26, 'ResNet-50 on half of the images of ImageNet, Nesterov momentum', 1, 'resnet_50', 'imagenet_subsets/imagenet_half_images/resnet_50/nesterov_momentum', 'val_classification_error', 0.3, 100),
        (27, 'ResNet-50 on Open Images, Nesterov momentum', 1, 'resnet_50', 'open_images_v4/resnet_50/nesterov_momentum', 'val_average_precision', 0.31, 100),
        (28, 'LSTM on LM1B, Nesterov momentum', 1, 'lstm', 'lm1b/lstm/nesterov_momentum', 'val_cross_entropy_error', 3.9, 50),
        (29, 'Transformer on LM1B, Nesterov momentum', 1, 'transformer_base', 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.9, 100),
        (30, 'Narrow and shallow Transformer on LM1B, Nesterov momentum', 1, 'transformer_narrow_and_shallow', 'lm1b/transformer_narrow_and_shallow/nesterov_momentum', 'val_cross_entropy_error', 4.2, 100),
        (31, 'Shallow Transformer on LM1B, SGD', 1, 'transformer_shallow', 'lm1b/transformer_shallow/sgd', 'val_cross_entropy_error', 3.9, 50),
        (32, 'Shallow Transformer on LM1B, momentum', 1, 'transformer_shallow', 'lm1b/transformer_shallow/momentum', 'val_cross_entropy_error', 3.9, 100),
        (33, 'Shallow Transformer on LM1B, Nesterov momentum', 1, 'transformer_shallow', 'lm1b/transformer_shallow/nesterov_momentum', 'val_cross_entropy_error', 3.9, 100),
        (34, 'Wide Transformer on LM1B, Nesterov momentum', 1, 'transformer_wide', 'lm1b/transformer_wide/nesterov_momentum', 'val_cross_entropy_error', 4.2, 100),
        (35, 'Transformer on Common Crawl, Nesterov momentum', 1, 'transformer_base', 'common_crawl/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.9, 50)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
first_points AS (FROM steps_points('study_rows')),
points AS (FROM optimal('first_points', 'learning_rate'))
FROM banded('points', 'trial_rows', 'learning_rate', coalesce($bands::BOOLEAN, false));
