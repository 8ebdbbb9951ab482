"""How the controller asks that a silent host be switched off."""

from msgspec import Struct

from xce.model.config.timing import SECOND_US


class FencingConfig(Struct, frozen=True, gc=False, kw_only=True):
    """`command` with the host's name behind it: exit 0 says that nothing runs there any more.
    Anything else, or more than `timeout_us`, says nothing, and it is asked again after a pause."""

    command: tuple[str, ...] = ()
    timeout_us: int = 60 * SECOND_US
    retry_first_us: int = 10 * SECOND_US
    retry_cap_us: int = 300 * SECOND_US
