"""A database of loss measurements taken during training, and the tools around it."""

__version__ = "0.1.0"
