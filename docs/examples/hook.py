"""A web service that takes orders: hook.py [PORT], 8080 unless said otherwise."""

import http.server
import json
import sys

DONE = set()  # a database, in real life


class Hook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are used again

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.handle_order(body, self.headers["Idempotency-Key"]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def handle_order(self, body, key):
        try:
            order = json.loads(body)
        except ValueError:
            return 422  # no try will help
        if key not in DONE:  # a message may come twice
            print(f"{order['count']} {order['item']}\n", end="", flush=True)  # in one piece: each request has a thread
            DONE.add(key)
        return 204

    def log_message(self, *_):
        pass


port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
with http.server.ThreadingHTTPServer(("127.0.0.1", port), Hook) as server:
    print("listening on", server.server_port, flush=True)
    server.serve_forever()
