"""Reading `tf.train.Example`, the message in TFRecord files of images, without TensorFlow."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

from dbtool.errors import DbtoolError

_Field = descriptor_pb2.FieldDescriptorProto


def _example_class() -> Any:
    """The class of the message, in a pool of its own since TensorFlow registers the same names."""
    file = descriptor_pb2.FileDescriptorProto(
        name="example.proto", package="tensorflow", syntax="proto3"
    )
    for name, kind in (
        ("BytesList", _Field.TYPE_BYTES),
        ("FloatList", _Field.TYPE_FLOAT),
        ("Int64List", _Field.TYPE_INT64),
    ):
        file.message_type.add(name=name).field.add(
            name="value", number=1, type=kind, label=_Field.LABEL_REPEATED
        )
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, name in enumerate(("BytesList", "FloatList", "Int64List"), start=1):
        _message_field(feature, name, number, name).oneof_index = 0
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_Field.TYPE_STRING, label=_Field.LABEL_OPTIONAL)
    _message_field(entry, "value", 2, "Feature")
    _message_field(features, "feature", 1, "Features.FeatureEntry").label = _Field.LABEL_REPEATED
    _message_field(file.message_type.add(name="Example"), "features", 1, "Features")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.Example"))


def _message_field(owner: Any, name: str, number: int, kind: str) -> Any:
    return owner.field.add(
        name=name,
        number=number,
        type=_Field.TYPE_MESSAGE,
        type_name=f".tensorflow.{kind}",
        label=_Field.LABEL_OPTIONAL,
    )


_Example = _example_class()


def parse_example(data: bytes, origin: str) -> tuple[bytes, int]:
    """The image and label of an example.

    Args:
        data: the serialised message.
        origin: where it came from, for the errors.

    Returns:
        `image/encoded`, the content of an image file, and `image/class/label` as it stands there.

    Raises:
        DbtoolError: the data is no such message, or has no single image and label.
    """
    try:
        features = _Example.FromString(data).features.feature
    except message.DecodeError as error:
        raise DbtoolError(f"{origin} is no tf.train.Example; replace the file") from error
    return (
        _single(features, "image/encoded", "BytesList", origin),
        _single(features, "image/class/label", "Int64List", origin),
    )


def _single(features: Any, name: str, kind: str, origin: str) -> Any:
    """The only value of a feature."""
    values: Any = getattr(features[name], kind).value if name in features else ()
    if len(values) != 1:
        found = ", ".join(sorted(features)) or "nothing"
        raise DbtoolError(
            f"{origin} has no single {name} (it holds {found}); write the shards as"
            " build_imagenet_data.py of TensorFlow's models does"
        )
    return values[0]
