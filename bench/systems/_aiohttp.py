"""aiohttp, imported without this host's certificate authorities.

aiohttp reads them when it is imported, which takes more CPU time than all else of the import, in each client and
server. The systems here trust the authority of their run alone: ``bench.systems._tls`` makes their contexts.
"""

import ssl

_usual = ssl.create_default_context
ssl.create_default_context = lambda *_, **__: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # it verifies, and trusts nobody
try:
    import aiohttp
    from aiohttp import web
finally:
    ssl.create_default_context = _usual

__all__ = ["aiohttp", "web"]
