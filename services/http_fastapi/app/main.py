"""An HTTP server by FastAPI that returns what is posted to /echo."""

from fastapi import FastAPI, Request, Response

app = FastAPI()


@app.post("/echo")
async def echo(request: Request) -> Response:
    """Return the request's bytes."""
    return Response(await request.body(), media_type="application/octet-stream")
