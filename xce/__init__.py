"""XCE: a batch controller for clusters that train and serve large models."""

__version__ = "0.2.0"
