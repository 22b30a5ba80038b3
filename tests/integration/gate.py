"""A way to the broker that misbehaves as it is told: an HTTP proxy that the client asks for a tunnel, and behind it a server
that speaks TLS and hands what comes to the broker."""
import asyncio
import collections
import os
import socket
import ssl
import struct
import subprocess
import threading

HOST = "sqs.bad-day.test"  # no name server knows it: who reaches it came through the proxy
ALERT = bytes.fromhex("15 0303 0002 02 50")  # TLS 1.2 record: a fatal alert, internal_error
OPEN = b"HTTP/1.1 200 Connection established\r\n\r\n"
NO_WAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\nunavailable"


def certificate(folder):
    """Makes a certificate for HOST that is its own authority; returns its path and that of its key."""
    paths = [os.path.join(folder, name) for name in ("gate.pem", "gate.key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}",
                    "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


def operation(request):
    head = request.lower()
    at = head.find(b"x-amz-target: amazonsqs.")
    return head[at:head.find(b"\r", at)].decode().split(".")[-1]


async def message(reader):
    """One whole request or answer; the broker and the client frame theirs by Content-Length."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return head + await reader.readexactly(length)


class Gate:
    """Moods: calm; resets (half of the requests meet a reset, before or after the broker carried them out); half_open
    (connections there were are never heard of again, new ones work); slow (answers come in drops); storm (503 to everything);
    dead (the proxy is gone); no_tunnel (it is there and answers 502); alerts (every TLS handshake ends in an alert).
    """

    def __init__(self, broker_port, folder, chance):
        self.broker_port, self.chance = broker_port, chance
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*certificate(folder))
        self.mood = "calm"
        self.requests = collections.Counter()  # by operation
        self.harm = 0  # requests and connections that were not served as the broker would have
        self.writers = set()
        self.port = None
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.call(self.listen())

    def call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    async def listen(self):
        self.server = await asyncio.start_server(self.admit, "127.0.0.1", self.port or 0)
        self.port = self.server.sockets[0].getsockname()[1]

    def become(self, mood):
        self.call(self.change(mood))

    async def change(self, mood):
        if self.mood == "dead":
            await self.listen()
        self.mood = mood
        if mood == "dead":
            self.server.close()
        if mood in ("dead", "no_tunnel", "alerts"):
            for writer in list(self.writers):
                self.reset(writer)

    def close(self):
        async def end():
            self.server.close()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
        self.call(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    def reset(self, writer):
        raw = writer.get_extra_info("socket")
        if raw and raw.fileno() >= 0:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async def admit(self, reader, writer):
        raw = writer.transport
        try:
            await message(reader)  # CONNECT
            if self.mood == "no_tunnel":
                self.harm += 1
                writer.write(NO_WAY)
                return await writer.drain()
            writer.write(OPEN)
            if self.mood == "alerts":
                self.harm += 1
                await reader.read(1)  # of the ClientHello: an alert before it would be a surprise of another kind
                writer.write(ALERT)
                return await writer.drain()
            await writer.start_tls(self.tls)
            self.writers.add(writer)
            await self.serve(reader, writer)
        except (OSError, EOFError, asyncio.CancelledError):  # ssl.SSLError and IncompleteReadError among them
            pass
        finally:
            self.writers.discard(writer)
            raw.close() if self.mood in ("no_tunnel", "alerts") else raw.abort()

    async def serve(self, reader, writer):
        born_in = self.mood
        behind = None
        try:
            while True:
                request = await message(reader)
                self.requests[operation(request)] += 1
                if self.mood == "half_open" and born_in != "half_open":
                    self.harm += 1
                    await reader.read()  # until the client gives up
                    return
                if self.mood == "storm":
                    self.harm += 1
                    writer.write(UNAVAILABLE)
                    await writer.drain()
                    continue
                harm = self.mood == "resets" and self.chance.random() < 0.5
                self.harm += harm
                if harm and self.chance.random() < 0.5:
                    return self.reset(writer)
                behind = behind or await asyncio.open_connection("127.0.0.1", self.broker_port)
                behind[1].write(request)
                answer = await message(behind[0])
                if harm:
                    return self.reset(writer)
                await self.relay(answer, writer)
        finally:
            if behind:
                behind[1].close()

    async def relay(self, answer, writer):
        if self.mood != "slow":
            writer.write(answer)
            return await writer.drain()
        self.harm += 1
        drop = max(1, len(answer) // 10)
        for at in range(0, len(answer), drop):
            writer.write(answer[at:at + drop])
            await writer.drain()
            await asyncio.sleep(0.15)
