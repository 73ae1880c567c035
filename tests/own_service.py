"""A service as a user would write it, of the standard library alone: python own_service.py PORT [FAULT].

FAULT: workers, it has a process of its own beside it, and one in a session of its own; early, it ends at once; of
every fifth price: wrong, it is another one; close, its connection ends; redirect, it is elsewhere; late, it takes half
a second; mute, it never comes; die, it is the last. Of every fifth stream of events: cut, its connection ends; stall,
it stops. Of all replies: gzip, they are compressed where the request allows that; chunks, they come in pieces with a
trailer behind; last, the connection ends behind them. order: users 1, 2 and 0 must come in turn. slow: a user takes
20 ms, and every fifth price is wrong. A POST to /login returns a token and sets a cookie, with which orders are made,
read and deleted; login: not without them.
"""

import gzip
import itertools
import json
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, FAULT = [*sys.argv[1:], ""][:2]
numbers = itertools.count(1)
orders = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        if self.path.startswith("/orders/"):
            self.say(200 if orders.get(self.path[8:]) == self.caller() else 404, {})
        elif self.path == "/secret":
            self.say(200 if self.headers.get("Authorization") == "Bearer hush-hush" else 401, {})
        elif self.path.startswith("/events/"):
            self.send_events(int(self.path.rpartition("/")[2]))
        elif self.path == "/echo":
            self.say(200, {"token": self.headers.get("Authorization")})
        else:
            number = int(self.path.rpartition("/")[2] or 0)
            time.sleep(0.02 * (FAULT == "slow"))
            is_next = FAULT != "order" or number == next(numbers) % 3
            self.say(200 if is_next else 409, {"id": number, "name": "Ada"})

    def send_events(self, count):
        fault = FAULT if next(numbers) % 5 == 0 else ""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(count):
            time.sleep(0.002)
            value = json.dumps({"n": number, "of": count}).encode()
            self.send_chunk(b": a comment\r\nevent: token\r\ndata: " + value + b"\r\n\r\n")
            if fault == "cut" and number == 1:
                self.close_connection = True
                return
            if fault == "stall" and number == 1:
                time.sleep(300)
        self.send_chunk(b"data: [DONE]\n\n")
        self.send_chunk(b"")

    def send_chunk(self, content):
        self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))
        self.wfile.flush()

    def handle_expect_100(self):
        is_right = super().handle_expect_100()
        self.wfile.flush()
        return is_right

    def do_DELETE(self):
        self.say(200 if orders.pop(self.path[8:], None) == self.caller() else 404, {})

    def caller(self):
        """Return who a request is from, by the token and the cookie that its login got; these must agree."""
        user = (self.headers.get("Authorization") or "").removeprefix("Bearer token of ")
        return user if self.headers.get("Cookie") == f"session={user}" else "nobody"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/login":
            user = asked["user"]
            is_right = asked["password"] == f"password of {user}"
            self.say(200 if is_right else 401, {"token": f"token of {user}"}, {"Set-Cookie": f"session={user}"})
            return
        if self.path == "/orders":
            number = str(next(numbers))
            orders[number] = self.caller()
            self.say(
                401 if FAULT == "login" and orders[number] == "nobody" else 201,
                {"items": [{"number": number, "key": asked.get("key")}]},
            )
            return
        fault = FAULT if next(numbers) % 5 == 0 else ""
        if fault == "close":
            self.close_connection = True
            return
        if fault == "die":
            os._exit(7)
        if fault in ("late", "mute"):
            time.sleep(0.5 if fault == "late" else 300)
        if fault == "redirect":
            self.say(302, {}, {"Location": "/elsewhere"})
            return
        self.say(200, {"sku": asked["sku"], "currency": "USD" if fault in ("wrong", "slow") else "EUR"})

    def say(self, status, value, headers=None):
        body = json.dumps(value).encode()
        headers = dict(headers or {})
        if FAULT == "gzip" and "gzip" in self.headers.get("Accept-Encoding", ""):
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        if FAULT == "last":
            headers["Connection"] = "close"
        if FAULT == "chunks":
            headers |= {"Transfer-Encoding": "chunked", "Trailer": "Server-Timing"}
            pieces = [body[:5], body[5:], b""]
            body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece)
            body += b"0\r\nServer-Timing: all;dur=1\r\n\r\n"
        else:
            headers["Content-Length"] = str(len(body))
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    if FAULT == "workers":
        words = [sys.executable, "-c", "import time; time.sleep(300)", "own_service_worker"]
        subprocess.Popen(words)
        subprocess.Popen(words, start_new_session=True)
    if FAULT == "early":
        sys.exit("own_service: the database is not there")
    ThreadingHTTPServer(("127.0.0.1", int(PORT)), Handler).serve_forever()
