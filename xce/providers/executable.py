"""`exec`: a provider that is an executable of the site.

It is run as `ARGV... VERB` with one JSON object on its standard input (verb, attachment, claim,
generation, name, parameters, uid) and answers one JSON object on standard output: `{"value": TEXT}`
for provision and check, `{}` for release, `{"instances": [...]}` for discover, `{"error": TEXT}`
for a failure. The argument vector comes from the agent's settings, never from a claim.
"""

import json
import subprocess
from typing import Any

import msgspec

from xce.model.host import InstanceFacts
from xce.providers.contract import Provider, ProviderFailed, Request


class ExecProvider(Provider):
    """An executable that speaks JSON."""

    def __init__(self, name: str, argv: tuple[str, ...], limit_s: float = 30.0) -> None:
        if not argv:
            raise ValueError(f"provider {name} has no argument vector")
        self.name = name
        self.limit_s = limit_s
        self._argv = argv

    def discover(self) -> tuple[InstanceFacts, ...]:
        """The instances that the executable lists."""
        answer = self._run({"verb": "discover"})
        try:
            return msgspec.convert(answer.get("instances", []), tuple[InstanceFacts, ...])
        except msgspec.ValidationError as error:
            raise ProviderFailed(f"{self.name} discover: {error}") from error

    def provision(self, request: Request) -> str:
        """Ask the executable to provision."""
        return self._value("provision", request)

    def check(self, request: Request) -> str:
        """Ask the executable whether it stands."""
        return self._value("check", request)

    def release(self, request: Request) -> None:
        """Ask the executable to undo it."""
        self._run(self._question("release", request))

    def _value(self, verb: str, request: Request) -> str:
        return str(self._run(self._question(verb, request)).get("value", ""))

    def _question(self, verb: str, request: Request) -> dict[str, Any]:
        return {
            "verb": verb,
            "attachment": request.attachment,
            "claim": request.claim,
            "generation": request.generation,
            "name": request.name,
            "parameters": request.parameters,
            "uid": request.uid,
        }

    def _run(self, question: dict[str, Any]) -> dict[str, Any]:
        verb = question["verb"]
        try:
            done = subprocess.run(
                [*self._argv, verb],
                input=json.dumps(question).encode(),
                capture_output=True,
                timeout=self.limit_s,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise ProviderFailed(f"{self.name} {verb}: no answer in {self.limit_s:g} s") from None
        except OSError as error:
            raise ProviderFailed(f"{self.name} {verb}: {error}") from error
        return self._answer(verb, done)

    def _answer(self, verb: str, done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
        try:
            answer = json.loads(done.stdout or b"{}")
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise ProviderFailed(f"{self.name} {verb}: its answer is no JSON object")
        if answer.get("error"):
            raise ProviderFailed(str(answer["error"]))
        if done.returncode != 0:
            words = done.stderr.decode(errors="replace").strip().splitlines()
            why = words[-1] if words else f"exit code {done.returncode}"
            raise ProviderFailed(f"{self.name} {verb}: {why}")
        return answer
