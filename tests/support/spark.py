"""Spark on this machine: a test that asks it is skipped where it cannot be had."""

import contextlib
import importlib
import importlib.util
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

REQUIRED = "DBTOOL_REQUIRE_SPARK"
"""The environment variable that makes such a test fail instead."""

needs_spark = pytest.mark.skipif(
    not os.environ.get(REQUIRED)
    and (shutil.which("java") is None or importlib.util.find_spec("pyspark") is None),
    reason="no Spark: install Java (on Debian: apt-get install default-jre-headless) and "
    "`pip install '.[spark]'`",
)


@contextlib.contextmanager
def open_spark() -> Iterator[Any]:
    """A small Spark, which `SparkSession.builder.getOrCreate()` finds; yields its session."""
    with warnings.catch_warnings():
        # It says that it does not yet know pandas 3 whole.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        builder = importlib.import_module("pyspark.sql").SparkSession.builder
    with tempfile.TemporaryDirectory() as warehouse:
        # Its start compiles little, which takes half the time.
        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.memory": "4g",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.warehouse.dir": warehouse,
            "spark.ui.enabled": "false",
        }
        on_interrupt = signal.getsignal(signal.SIGINT)
        with warnings.catch_warnings():
            # The child becomes Java at once.
            warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            session = builder.master("local[1]").config(map=settings).getOrCreate()
        # Spark's own would outlive it.
        signal.signal(signal.SIGINT, on_interrupt)
        gateway = session.sparkContext._gateway
        try:
            yield session
        finally:
            session.stop()
            gateway.shutdown()
            # The Java process ends when nobody can write to it any more.
            gateway.proc.stdin.close()
            gateway.proc.wait()
            # Else the next session of this process would look for the one that ended.
            context = type(session.sparkContext)
            context._gateway = context._jvm = None
