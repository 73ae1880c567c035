"""An HTTP server by Flask that returns what is posted to /echo."""

from flask import Flask, Response, request

app = Flask(__name__)


@app.post("/echo")
def echo() -> Response:
    """Return the request's bytes."""
    return Response(request.get_data(), mimetype="application/octet-stream")
