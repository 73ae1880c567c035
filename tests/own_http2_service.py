"""A service over HTTP/2 as a user would write it, for ASGI: it says by which version of HTTP it was asked."""

import json


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/events":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for number in range(3):
            event = b'data: {"n": %d}\n\n' % number
            await send({"type": "http.response.body", "body": event, "more_body": number < 2})
        return
    host = dict(scope["headers"])[b"host"].decode()
    body = json.dumps({"version": scope["http_version"], "path": scope["path"], "host": host}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})
