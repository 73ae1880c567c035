"""A service over HTTP/2 as a user would write it, for ASGI: it says by which version of HTTP it was asked.

Every third stream of /trickle takes long, with an event each tenth of a second.
"""

import asyncio
import itertools
import json

numbers = itertools.count(1)


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    while (await receive()).get("more_body"):
        pass
    if scope["path"] in ("/events", "/trickle"):
        is_long = scope["path"] == "/trickle" and next(numbers) % 3 == 0
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        count = 100 if is_long else 3
        for number in range(count):
            await asyncio.sleep(0.1 * is_long)
            event = b'data: {"n": %d}\n\n' % number
            await send({"type": "http.response.body", "body": event, "more_body": number < count - 1})
        return
    host = dict(scope["headers"])[b"host"].decode()
    body = json.dumps({"version": scope["http_version"], "path": scope["path"], "host": host}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})
