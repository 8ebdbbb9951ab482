"""`static`: a value that is there already, taken from the parameter `value`.

Scenarios hold or break a start through three more parameters: `delay=SECONDS` (stays PROVISIONING
that long), `hang=1` (stays PROVISIONING until wanted gone), `fail=TEXT` (FAILED with that text).
"""

from xce.providers.contract import Provider, ProviderFailed, Request


class StaticProvider(Provider):
    """Values from parameters."""

    name = "static"
    limit_s = 3600.0

    def provision(self, request: Request) -> str:
        """The parameter `value`, after the delay that was asked for."""
        parameters = request.parameters
        if parameters.get("hang", "") not in ("", "0"):
            request.cancelled.wait(self.limit_s)
            raise ProviderFailed("was asked to hang, and gave up")
        delay = parameters.get("delay", "")
        if delay:
            try:
                delay_s = float(delay)
            except ValueError:
                raise ProviderFailed(f"delay={delay} is no number of seconds") from None
            if request.cancelled.wait(min(delay_s, self.limit_s)):
                raise ProviderFailed("was wanted gone while it waited")
        if parameters.get("fail"):
            raise ProviderFailed(parameters["fail"])
        return parameters.get("value", "")
