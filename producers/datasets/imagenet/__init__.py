"""ImageNet: class folders of JPEG files, or TFRecord shards."""
