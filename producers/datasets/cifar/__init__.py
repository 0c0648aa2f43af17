"""CIFAR-10: batches of images in the binary or the Python format."""
