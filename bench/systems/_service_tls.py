"""TLS to a service of the user's: its certificate is verified, up to the authority that the service's file names."""

import functools
import ssl

from bench.contract import Address, parse_address
from bench.errors import SystemFileError, TransportError
from bench.plan.service_file import Service
from bench.systems import _http_wire, _tls

REMEDY = ": name the authority that signed it, as in authority: ca.pem"


def base(described: Service, where: Address) -> str:
    """Return the scheme and the authority of a service's URLs."""
    return f"http{'s' * described.is_encrypted}://{_http_wire.authority(where)}"


def hinted(details: str) -> str:
    """Return what a library says of a failure, with the remedy for a certificate that it did not accept."""
    return details + REMEDY * ("CERTIFICATE_VERIFY_FAILED" in details)


def context(described: Service) -> ssl.SSLContext | None:
    """Return what a client needs to connect; None for a service without TLS."""
    return _context(described.authority) if described.is_encrypted else None


@functools.cache
def _context(authority: str, protocol: str = "") -> ssl.SSLContext:
    """Return a context that trusts an authority's file, and asks for a protocol by ALPN."""
    try:
        made = ssl.create_default_context(cafile=authority or None)
    except OSError as reason:
        raise SystemFileError(f"{authority} holds no certificates in PEM: correct authority") from reason
    if protocol:
        made.set_alpn_protocols([protocol])
    return made


def texts(authority: str) -> bytes | None:
    """Return the certificates of an authority's file; None for those that a library has itself."""
    if not authority:
        return None
    _context(authority)
    with open(authority, "rb") as file:  # noqa: PTH123
        return file.read()


def failed(described: Service, reason: BaseException) -> TransportError:
    """Return the error for a handshake that failed, with a remedy."""
    text = str(reason)
    if isinstance(reason, ssl.SSLCertVerificationError):
        text = f"its certificate is not accepted ({reason.verify_message.rstrip('.')})"
        if reason.verify_code in (18, 19, 20, 21):  # the chain does not end at an authority that is trusted
            text += REMEDY
        elif reason.verify_code in (62, 64):  # another name
            text += f": it must hold {described.host}, or address one of its names"
    elif isinstance(reason, ssl.SSLError) and reason.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        text = "it does not answer with TLS: write http:// in address"
    return TransportError(f"no encrypted connection to {described.name}: {text}", "connect")


class Layer(_tls.Layer):
    """TLS of one connection of the load generator ``wire``."""

    def __init__(self, described: Service, address: str, protocol: str = "") -> None:
        super().__init__(parse_address(address), protocol=protocol)
        self._described, self._name = described, described.host

    def _context(self) -> ssl.SSLContext:
        return _context(self._described.authority, self._protocol)

    def failed(self, reason: BaseException) -> TransportError:
        """Return the error for a connection that failed in its handshake."""
        return failed(self._described, reason)
