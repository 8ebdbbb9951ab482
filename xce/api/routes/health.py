"""Whether it lives, whether it serves, what it is, and its figures."""

from fastapi import APIRouter
from starlette.responses import Response

from xce import __version__
from xce.api.answers import answer
from xce.api.metrics import Metrics
from xce.api.ports import Engine
from xce.dispatch.protocol import PROTOCOL


class HealthRoutes:
    """The routes of the service itself over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._metrics = Metrics(engine)

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["service"])
        add = router.add_api_route
        add("/healthz", self.healthy, methods=["GET"])
        add("/readyz", self.ready, methods=["GET"])
        add("/version", self.version, methods=["GET"])
        add("/metrics", self.metrics, methods=["GET"])
        return router

    async def healthy(self) -> Response:
        """The process answers."""
        return answer({"status": "ok"})

    async def ready(self) -> Response:
        """It leads and has a settled state."""
        await self._engine.settled()
        state = self._engine.state
        return answer({"status": "ok", "epoch": state.epoch, "lsn": state.lsn})

    async def version(self) -> Response:
        """Version and protocol, and the log with the durability that it read back."""
        told = {"version": __version__, "api": "v1", "protocol": PROTOCOL}
        return answer({**told, "log": self._engine.about})

    async def metrics(self) -> Response:
        """Figures in Prometheus' text format."""
        await self._engine.settled()
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4")
