"""A service as a user would write it, of the standard library alone: python own_service.py PORT [FAULT].

FAULT: workers, it has a process of its own beside it; wrong, every fifth price is wrong; close, every fifth
request loses its connection; early, it ends at once; deaf, it never listens.
"""

import itertools
import json
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULT = sys.argv[2] if len(sys.argv) > 2 else ""
numbers = itertools.count(1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        if self.path == "/secret":
            self.say(200 if self.headers.get("Authorization") == "Bearer hush-hush" else 401, {})
        else:
            self.say(200, {"id": int(self.path.rpartition("/")[2] or 0), "name": "Ada"})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_bad = next(numbers) % 5 == 0
        if FAULT == "close" and is_bad:
            self.close_connection = True
            return
        self.say(200, {"sku": asked["sku"], "currency": "USD" if FAULT == "wrong" and is_bad else "EUR"})

    def say(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    if FAULT == "workers":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", "own_service_worker"])
    if FAULT == "early":
        sys.exit("own_service: the database is not there")
    if FAULT == "deaf":
        time.sleep(60)
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
