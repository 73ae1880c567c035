"""TLS 1.3 by the standard library's ``ssl``: contexts, connections, and what to do about a handshake that failed.

The client verifies the chain up to the run's authority, and the server's name. ``ssl`` is imported on first use, so
that systems without encryption start as fast as ever.
"""

import errno
import functools
import os
import socket
from typing import TYPE_CHECKING, Any

from bench.contract import Address
from bench.errors import BENCH, TransportError
from bench.plan import credentials

if TYPE_CHECKING:
    import ssl

HANDSHAKE_S = 3.0
ALERT = b"\x15\x03"  # a TLS record of type alert begins so
SAME, IF = credentials.SAME, credentials.IF

_sessions: dict[Address, Any] = {}  # the last session of each server, for resumption


def refuse_session(tls: bool, tls_session: str) -> None:
    """Raise ValueError for a way of beginning a session that needs TLS, without it."""
    if tls_session == "resumed" and not tls:
        raise ValueError("tls_session resumed needs encryption: give tls true")


def files(folder: str) -> tuple[str, str]:
    """Return the files of a server's certificate and key in a folder."""
    return f"{folder}/{credentials.CERTIFICATE}", f"{folder}/{credentials.KEY}"


def server_context(folder: str) -> "ssl.SSLContext":
    """Return what a server needs for TLS 1.3, with the certificate in a folder."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(*files(folder))
    except OSError as reason:
        raise TransportError(f"the server's certificate and key cannot be used: {reason}") from reason
    return context


def client_context(protocol: str = "") -> "ssl.SSLContext":
    """Return what a client needs for TLS 1.3: it trusts this run's authority alone, and verifies names.

    protocol: what it asks for by ALPN, such as h2.
    """
    return _client_context(credentials.text(credentials.AUTHORITY), protocol)


@functools.lru_cache(maxsize=4)
def _client_context(authority: str, protocol: str = "") -> "ssl.SSLContext":
    import ssl

    context = ssl.create_default_context(cadata=authority)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if protocol:
        context.set_alpn_protocols([protocol])
    return context


def server_name(address: Address) -> str:
    """Return the name that a server's certificate has to hold; at a socket file that is localhost."""
    return "localhost" if address.transport == "ipc" else address.host


def secured(connection: socket.socket, address: Address, tls_session: str = "new") -> "ssl.SSLSocket":
    """Return a connection after its handshake; TransportError, with a remedy, if that failed."""
    session = _sessions.get(address) if tls_session == "resumed" else None
    context = client_context()
    connection.settimeout(HANDSHAKE_S)
    try:
        encrypted = context.wrap_socket(connection, server_hostname=server_name(address), session=session)
    except OSError as reason:
        connection.close()
        raise failed(reason) from reason
    encrypted.settimeout(None)
    return encrypted


RECORD = 16_384  # bytes that one TLS record holds, at most


class Layer:
    """TLS of one connection apart from its socket, for the load generator ``wire``: bytes go in, and bytes come out.

    is_ready: whether the handshake is over.
    """

    def __init__(self, address: Address, tls_session: str = "new", protocol: str = "") -> None:
        self._address, self._is_resuming, self._protocol = address, tls_session == "resumed", protocol
        self._name = server_name(address)
        self._ssl: ssl.SSLObject | None = None
        self.is_ready = False

    def _context(self) -> "ssl.SSLContext":
        return _client_context(credentials.text(credentials.AUTHORITY), self._protocol)

    def start(self) -> None:
        """Begin a new connection, with the last one's session if that is to be resumed."""
        import ssl

        context = self._context()
        if self._is_resuming and self._ssl is not None and self.is_ready:
            _sessions[self._address] = self._ssl.session
        session = _sessions.get(self._address) if self._is_resuming else None
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        made = context.wrap_bio(self._incoming, self._outgoing, server_hostname=self._name, session=session)
        self._ssl, self._read, self._write = made, made.read, made.write
        self._no_more, self._broken, self.is_ready = ssl.SSLWantReadError, ssl.SSLError, False

    def shake(self, data: bytes | None) -> bytes:
        """Take in what came of the handshake, None for the end; return what to send.

        TransportError, with a remedy, if the handshake has failed.
        """
        assert self._ssl
        if data is None:
            self._incoming.write_eof()
        else:
            self._incoming.write(data)
        try:
            self._ssl.do_handshake()
        except self._no_more:
            return self._outgoing.read()
        except self._broken as reason:
            raise self.failed(reason) from reason
        if self._protocol and self._ssl.selected_alpn_protocol() != self._protocol:
            raise TransportError(f"the server does not agree to speak {self._protocol} over TLS", "connect")
        self.is_ready = True
        return self._outgoing.read()

    @property
    def resumed(self) -> bool:
        """Whether the connection resumed an earlier session."""
        return bool(self._ssl and self._ssl.session_reused)

    def failed(self, reason: BaseException) -> TransportError:
        """Return the error for a connection that failed in its handshake."""
        return failed(reason)

    def encrypt(self, data: bytes) -> bytes:
        """Return the records that carry some bytes."""
        self._write(data)
        return self._outgoing.read()

    def decrypt(self, data: bytes) -> bytes:
        """Return what came in these records and in the beginnings of earlier ones; b"" if that is not whole."""
        incoming, plain = self._incoming, b""
        incoming.write(data)
        try:
            plain = self._read(RECORD)
            while incoming.pending:
                plain += self._read(RECORD)
        except self._no_more:
            return plain
        except self._broken as reason:
            raise TransportError(f"the encrypted connection failed: {reason}", "read") from reason
        return plain


def keep_session(connection: Any, address: Address) -> None:
    """Keep the session of an encrypted connection that has been used, so that the next one can resume it."""
    if (session := getattr(connection, "session", None)) is not None:
        _sessions[address] = session


def was_resumed(connection: Any) -> bool | None:
    """Return whether a connection resumed an earlier session; None if it is not encrypted."""
    return getattr(connection, "session_reused", None)


def is_handshake(reason: BaseException, tls: bool) -> bool:
    """Return whether it was the TLS handshake that failed, and not the connection before it."""
    import ssl

    is_failure = isinstance(reason, ssl.SSLError | ConnectionResetError | ConnectionAbortedError | TimeoutError)
    return tls and is_failure and getattr(reason, "errno", None) != errno.ETIMEDOUT  # the kernel's: nobody was reached


def failed(reason: BaseException) -> TransportError:
    """Return the error for a TLS handshake that failed, with a remedy."""
    import ssl

    if isinstance(reason, ssl.SSLCertVerificationError):
        return refused(reason.verify_code, reason.verify_message)
    if isinstance(reason, TimeoutError):
        what = f"no answer to the TLS handshake came within {HANDSHAKE_S:g} s: the server may not use TLS"
    elif isinstance(reason, ssl.SSLEOFError) or not isinstance(reason, ssl.SSLError):
        number = getattr(reason, "errno", None) or 0
        text = os.strerror(number) if number > 0 and not isinstance(reason, ssl.SSLError) else "end of file"
        what = f"the server closed the connection during the TLS handshake ({text}): it may not use TLS"
    elif reason.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"):
        what = "the server did not answer with TLS"
    else:
        what = f"the TLS handshake failed ({reason.reason})"
    return TransportError(f"{what}; {SAME}", "connect")


def refused(code: int, words: str) -> TransportError:
    """Return the error for a certificate that was not accepted, by OpenSSL's number of the reason and its words."""
    folder = f"the folder that {credentials.FOLDER} names"
    if code == 10:
        text = f"the server's certificate has expired: give the server a new one ({BENCH} certificates)"
    elif code in (62, 64):
        text = (
            f"the server's certificate is for another name ({words.rstrip('.')}): make one for this host "
            f"({BENCH} certificates FOLDER HOST), or name the host that it is for"
        )
    elif code in (18, 19, 20, 21):
        text = (
            f"the server's certificate is not signed by the authority that this client trusts ({words}): "
            f"let {folder} hold the {credentials.AUTHORITY} of that server"
        )
    else:
        text = f"the server's certificate is not accepted ({words}): give the server another one"
    return TransportError(text, "connect")


def hint(tls: bool, reason: BaseException) -> str:
    """Return what to add where a server ended the connection of a client without TLS, or sent what is no answer.

    A server that expects TLS answers plain text with an alert, or with nothing.
    """
    text = str(reason)
    is_alert = ALERT.decode("latin-1") in text or repr(ALERT)[2:-1] in text
    ended = isinstance(reason, ConnectionError) or "disconnected" in text
    if tls or not (is_alert or ended):
        return ""
    return f"; the server expects TLS: {SAME}" if is_alert else IF


def plain_text(data: bytes) -> str:
    """Return what to say of an answer that is a TLS alert; "" if it is none."""
    return f"the server expects TLS; {SAME}" if data[:2] == ALERT else ""
