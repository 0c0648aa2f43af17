/*
Does the best momentum grow with the batch size?
Figure 8 for the momentum and all workloads that have one, one a panel; y is 1 - momentum of the trial that got strictly
past the goal first.
Change a goal or a number of trials below; the parameters goal and trials replace them all, release names the release,
or several joined by commas.
*/
WITH curves(panel_order, panel, series_order, series, workload, metric, goal, asked_trials) AS (
    VALUES
        (1, 'Simple CNN on MNIST, momentum', 1, 'simple_cnn_base', 'mnist/simple_cnn_base/momentum', 'val_classification_error', 0.01, 100),
        (2, 'Simple CNN on MNIST, Nesterov momentum', 1, 'simple_cnn_base', 'mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.01, 100),
        (3, 'Simple CNN on Fashion MNIST, Nesterov momentum', 1, 'simple_cnn_base', 'fashion_mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.1, 100),
        (4, 'Simple CNN on 55,000 images of MNIST, Nesterov momentum', 1, 'simple_cnn_base', 'mnist_subsets/mnist_55000/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.02, 100),
        (5, 'Simple CNN on 27,500 images of MNIST, Nesterov momentum', 1, 'simple_cnn_base', 'mnist_subsets/mnist_27500/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.02, 100),
        (6, 'Simple CNN on 13,750 images of MNIST, Nesterov momentum', 1, 'simple_cnn_base', 'mnist_subsets/mnist_13750/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.02, 100),
        (7, 'Simple CNN on 6,875 images of MNIST, Nesterov momentum', 1, 'simple_cnn_base', 'mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.02, 100),
        (8, 'Simple CNN on MNIST, solution quality, Nesterov momentum', 1, 'simple_cnn_base', 'solution_quality/mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.01, 100),
        (9, 'Simple CNN on Fashion MNIST, solution quality, Nesterov momentum', 1, 'simple_cnn_base', 'solution_quality/fashion_mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.1, 100),
        (10, 'ResNet-8 on CIFAR-10, Nesterov momentum', 1, 'resnet_8', 'cifar_10/resnet_8/nesterov_momentum', 'val_classification_error', 0.3, 100),
        (11, 'ResNet-50 on ImageNet, Nesterov momentum', 1, 'resnet_50', 'imagenet/resnet_50/nesterov_momentum', 'val_classification_error', 0.25, 100),
        (12, 'VGG-11 on ImageNet, Nesterov momentum', 1, 'vgg_11', 'imagenet/vgg_11/nesterov_momentum', 'val_classification_error', 0.35, 100),
        (13, 'ResNet-50 on half of the classes of ImageNet, Nesterov momentum', 1, 'resnet_50', 'imagenet_subsets/imagenet_half_classes/resnet_50/nesterov_momentum', 'val_classification_error', 0.3, 100),
        (14, 'ResNet-50 on half of the images of ImageNet, Nesterov momentum', 1, 'resnet_50', 'imagenet_subsets/imagenet_half_images/resnet_50/nesterov_momentum', 'val_classification_error', 0.3, 100),
        (15, 'ResNet-50 on Open Images, Nesterov momentum', 1, 'resnet_50', 'open_images_v4/resnet_50/nesterov_momentum', 'val_average_precision', 0.31, 100),
        (16, 'LSTM on LM1B, Nesterov momentum', 1, 'lstm', 'lm1b/lstm/nesterov_momentum', 'val_cross_entropy_error', 3.9, 50),
        (17, 'Transformer on LM1B, Nesterov momentum', 1, 'transformer_base', 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.9, 100),
        (18, 'Narrow and shallow Transformer on LM1B, Nesterov momentum', 1, 'transformer_narrow_and_shallow', 'lm1b/transformer_narrow_and_shallow/nesterov_momentum', 'val_cross_entropy_error', 4.2, 100),
        (19, 'Shallow Transformer on LM1B, momentum', 1, 'transformer_shallow', 'lm1b/transformer_shallow/momentum', 'val_cross_entropy_error', 3.9, 100),
        (20, 'Shallow Transformer on LM1B, Nesterov momentum', 1, 'transformer_shallow', 'lm1b/transformer_shallow/nesterov_momentum', 'val_cross_entropy_error', 3.9, 100),
        (21, 'Wide Transformer on LM1B, Nesterov momentum', 1, 'transformer_wide', 'lm1b/transformer_wide/nesterov_momentum', 'val_cross_entropy_error', 4.2, 100),
        (22, 'Transformer on Common Crawl, Nesterov momentum', 1, 'transformer_base', 'common_crawl/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.9, 50)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
first_points AS (FROM steps_points('study_rows')),
points AS (FROM optimal('first_points', 'momentum'))
FROM banded('points', 'trial_rows', 'momentum', coalesce($bands::BOOLEAN, false));
