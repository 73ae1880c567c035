"""Requests of a service file over HTTP/2 by httpx: over TLS, or in plain text with prior knowledge (RFC 9113, 3.3)."""

import asyncio
import http.cookiejar
import ssl
from collections.abc import AsyncIterator
from typing import Any

from bench.contract import Address
from bench.errors import BenchError, NotInstalledError, TransportError
from bench.plan.service_file import Prepared, Service, too_late
from bench.systems import _service_streams, _service_tls

try:
    import h2  # noqa: F401 - httpx imports it when it makes a session
    import httpx
except ImportError as absent:
    raise NotInstalledError(
        f"services over HTTP/2 need httpx and h2 ({absent}); install them: python -m pip install 'httpx[http2]'"
    ) from absent


def _settings(described: Service, where: Address) -> dict[str, Any]:
    """Return how a service is connected to, for both kinds of transports of httpx."""
    return {
        "verify": _service_tls.context(described) or False,
        "http1": False,
        "http2": True,
        "trust_env": False,
        "uds": where.path if where.transport == "ipc" else None,
        "limits": httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=None),
    }


def _more(described: Service) -> dict[str, Any]:
    return {"sni_hostname": described.host} if described.is_encrypted else {}


def status(described: Service, where: Address, path: str, timeout_s: float) -> int:
    """Return the status of a path; OSError where there is no answer."""
    transport = httpx.HTTPTransport(**_settings(described, where))
    try:
        base = _service_tls.base(described, where)
        with httpx.Client(base_url=base, transport=transport, timeout=timeout_s) as session:
            return session.get(path, extensions=_more(described)).status_code
    except httpx.HTTPError as reason:
        raise _of_tls(reason) or OSError(str(reason)) from reason


class Session:
    """A session over HTTP/2, with one connection."""

    def __init__(self, described: Service, where: Address) -> None:
        self._described, self._base = described, _service_tls.base(described, where)
        self._more = _more(described)
        transport = httpx.AsyncHTTPTransport(**_settings(described, where))
        host = {"Host": described.called(where)}
        self._session = httpx.AsyncClient(headers=host, transport=transport, timeout=None)
        self._session.cookies.jar.set_policy(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))  # none is sent
        del self._session.headers["Accept-Encoding"]  # compressed are the replies for which the service's file asks

    async def call(self, request: Prepared, data: bytes) -> tuple[int, bytes, str]:
        """Make a request; return status, body and its encoding; TransportError where there is no answer."""
        try:
            async with asyncio.timeout(self._described.says.timeout_s), self._asked(request, data) as reply:
                body = b"".join([part async for part in reply.aiter_raw()])
                return reply.status_code, body, reply.headers.get("Content-Encoding", "")
        except (httpx.HTTPError, httpx.StreamError, OSError) as reason:
            raise self._failed(request, reason) from reason

    async def stream(self, request: Prepared, data: bytes) -> AsyncIterator[bytes]:
        """Make a request; yield the parts of its stream of events; TransportError where there is no such answer."""
        try:
            async with asyncio.timeout(self._described.says.timeout_s), self._asked(request, data) as reply:
                body = await reply.aread() if reply.status_code >= 400 else b""
                _service_streams.refuse_no_events(request, reply.status_code, reply.headers, body)
                async for part in reply.aiter_raw():
                    yield part
        except (httpx.HTTPError, httpx.StreamError, OSError) as reason:
            raise self._failed(request, reason) from reason

    def _asked(self, request: Prepared, data: bytes) -> Any:
        return self._session.stream(
            request.method,
            self._base + request.target,
            content=data or None,
            headers=request.headers,
            extensions=self._more,
        )

    def _failed(self, request: Prepared, reason: Exception) -> BenchError:
        """Return the error for a request without an answer."""
        if isinstance(reason, httpx.TimeoutException | TimeoutError):
            return too_late(self._described, request)
        if of_tls := _of_tls(reason):
            return _service_tls.failed(self._described, of_tls)
        kind = "connect" if isinstance(reason, httpx.ConnectError) else "read"
        return TransportError(f"{request.name} had no answer over HTTP/2: {str(reason) or type(reason).__name__}", kind)

    async def close(self) -> None:
        """Disconnect."""
        await self._session.aclose()


def _of_tls(reason: BaseException | None) -> ssl.SSLError | None:
    """Return the failure of a handshake that lies behind an error; None if it was another."""
    while reason is not None and not isinstance(reason, ssl.SSLError):
        reason = reason.__cause__ or reason.__context__
    return reason
