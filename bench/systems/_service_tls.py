"""TLS to a service of the user's: its certificate is verified, up to the authority that the service's file names."""

import contextlib
import functools
import ssl
from pathlib import Path

from bench.contract import Address, parse_address
from bench.errors import SystemFileError, TransportError
from bench.plan.service_file import Service
from bench.systems import _connections, _tls

REMEDY = ": name the authority that signed it, as in authority: ca.pem"
OWN = ": name one that it trusts, as in certificate: client.pem and key: client.key"
REFUSALS = ("CERTIFICATE", "UNKNOWN_CA", "HANDSHAKE_FAILURE")  # in a server's alert about a client's certificate
REFUSAL_S = 0.1  # for such an alert to come
Files = tuple[str, tuple[str, str]]  # the authority, and the client's certificate and key


class RefusedError(TransportError):
    """A certificate is not accepted, or there is none: another attempt does not make that better."""


def context(described: Service, protocol: str = "") -> ssl.SSLContext | None:
    """Return what a client needs to connect, and to ask for a protocol by ALPN; None for a service without TLS."""
    return _context(_files(described), protocol) if described.is_encrypted else None


def _files(described: Service) -> Files:
    return described.authority, described.own_certificate


@functools.cache
def _context(files: Files, protocol: str = "") -> ssl.SSLContext:
    """Return a context with an authority's file and the client's own, which asks for a protocol by ALPN."""
    authority, (certificate, key) = files
    try:
        made = ssl.create_default_context(cafile=authority or None)
    except OSError as reason:
        raise SystemFileError(f"{authority} holds no certificates in PEM: correct authority") from reason
    made.hostname_checks_common_name = False  # as grpcio and browsers, which read the subject's alternative names alone
    if certificate:
        _add_own(made, certificate, key)
    if protocol:
        made.set_alpn_protocols([protocol])
    return made


def _add_own(made: ssl.SSLContext, certificate: str, key: str) -> None:
    """Let a client show its certificate; SystemFileError for files that do not hold one and its key."""

    def no_password() -> str:
        raise SystemFileError(f"{key} has a password: write a copy without it (openssl pkey -in KEY -out NEW)")

    try:
        made.load_cert_chain(certificate, key, no_password)
    except OSError as reason:
        text = (
            "is not the key of" if getattr(reason, "reason", "") == "KEY_VALUES_MISMATCH" else "holds no key in PEM of"
        )
        raise SystemFileError(f"{key} {text} {certificate}: correct certificate and key") from reason


def texts(described: Service) -> dict[str, bytes | None]:
    """Return the contents of its files, as grpcio names them; None for the authorities that it has itself."""
    authority, (certificate, key) = _files(described)
    context(described)
    named = {"root_certificates": authority, "private_key": key, "certificate_chain": certificate}
    return {name: Path(file).read_bytes() if file else None for name, file in named.items()}


_verified: set[tuple[Files, str, Address]] = set()


def verify(described: Service, address: Address) -> None:
    """Make a handshake, once in a process; RefusedError, with the remedy, for a certificate that is not accepted.

    Libraries do not say why theirs failed, or accept other names. A server refuses the client's behind the handshake.
    """
    seen = _files(described), described.host, address
    protocol = "h2" if described.has_grpc or described.says.http2 else ""  # gRPC servers end connections without it
    if not (made := context(described, protocol)) or seen in _verified:
        return
    try:
        with _connections.connect(address) as plain:
            plain.settimeout(_tls.HANDSHAKE_S)
            with made.wrap_socket(plain, server_hostname=described.host) as encrypted:
                encrypted.settimeout(REFUSAL_S)
                with contextlib.suppress(TimeoutError):
                    if not encrypted.recv(1) and not described.says.certificate:
                        raise _refused(described, f"it ends the connection; if it asks for a certificate{OWN}")
    except OSError as reason:
        raise failed(described, reason) from reason
    _verified.add(seen)


def _refused(described: Service, text: str) -> RefusedError:
    return RefusedError(f"no encrypted connection to {described.name}: {text}", "connect")


def failed(described: Service, reason: BaseException) -> TransportError:
    """Return the error for a handshake that failed, with a remedy."""
    text = str(reason)
    if isinstance(reason, ssl.SSLCertVerificationError):
        text = f"its certificate is not accepted ({reason.verify_message.rstrip('.')})"
        if reason.verify_code in (18, 19, 20, 21):  # the chain does not end at an authority that is trusted
            text += REMEDY
        elif reason.verify_code in (62, 64):  # another name
            text += f": it must hold {described.host} as subjectAltName, or address one of its names"
        elif reason.verify_code in (9, 10):  # not yet valid, or no longer
            text += ": give the service one that is valid now"
        return _refused(described, text)
    if "ALERT" in text and any(each in text for each in REFUSALS):
        what = "does not accept the client's certificate" if described.says.certificate else "asks for a certificate"
        return _refused(described, f"it {what} ({text}){OWN}")
    if isinstance(reason, ssl.SSLError) and reason.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return _refused(described, "it does not answer with TLS: write http:// in address")
    return TransportError(f"no encrypted connection to {described.name}: {text}", "connect")


def layer(described: Service, address: str, protocol: str = "") -> "Layer | None":
    """Return TLS of a connection of the load generator ``wire``; None for a service without TLS."""
    return Layer(described, address, protocol) if described.is_encrypted else None


class Layer(_tls.Layer):
    """TLS of one connection of the load generator ``wire``."""

    def __init__(self, described: Service, address: str, protocol: str = "") -> None:
        super().__init__(parse_address(address), protocol=protocol)
        self._described, self._name = described, described.host

    def _context(self) -> ssl.SSLContext:
        verify(self._described, self._address)
        made = context(self._described, self._protocol)
        assert made
        return made

    def failed(self, reason: BaseException) -> TransportError:
        """Return the error for a connection that failed in its handshake."""
        return failed(self._described, reason)
