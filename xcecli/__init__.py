"""The user's command. It speaks HTTP to a controller and imports of XCE itself only `xce.model`
and `xce.resreq`, and those only for checks that need no controller."""

__version__ = "0.2.0"
