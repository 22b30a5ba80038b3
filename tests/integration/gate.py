"""A gate between a client and the broker that misbehaves as it is told: HTTP over TLS on the client's side, plain behind."""
import asyncio
import collections
import os
import socket
import ssl
import struct
import subprocess
import threading

ALERT = bytes.fromhex("15 0303 0002 02 50")  # TLS 1.2 record: a fatal alert, internal_error
UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\nunavailable"


def certificate(folder):
    """Makes a certificate for localhost that is its own authority; returns its path and that of its key."""
    paths = [os.path.join(folder, name) for name in ("gate.pem", "gate.key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


def operation(request):
    head = request.lower()
    at = head.find(b"x-amz-target: amazonsqs.")
    return head[at:head.find(b"\r", at)].decode().split(".")[-1]


class Gate:
    """Moods: calm; resets (connections are reset before or after the broker carried out what came on them); half_open
    (connections there were are never heard of again, new ones work); slow (answers come in drops); storm (503 to everything);
    dead (nobody listens); alerts (every TLS handshake ends in an alert).
    """

    def __init__(self, target, folder, chance):
        self.target, self.chance = target, chance
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*certificate(folder))
        self.mood = "calm"
        self.requests = collections.Counter()  # by operation
        self.harm = 0  # requests that were not answered as the broker would have
        self.writers = set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.port = None
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
        if mood in ("dead", "alerts"):
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
        if self.mood == "alerts":
            self.harm += 1
            await reader.read(1)  # of the ClientHello: an alert before it would be a surprise of another kind
            writer.write(ALERT)
            return writer.close()
        self.writers.add(writer)
        try:
            await writer.start_tls(self.tls)
            await self.serve(reader, writer)
        except (OSError, EOFError, asyncio.CancelledError):  # ssl.SSLError and IncompleteReadError among them
            pass
        finally:
            self.writers.discard(writer)
            writer.transport.abort()

    async def serve(self, reader, writer):
        born_in = self.mood
        behind = None
        try:
            while True:
                request = await self.message(reader)
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
                behind = behind or await asyncio.open_connection("127.0.0.1", self.target)
                behind[1].write(request)
                answer = await self.message(behind[0])
                if harm:
                    return self.reset(writer)
                await self.relay(answer, writer)
        finally:
            if behind:
                behind[1].close()

    async def relay(self, answer, writer):
        if self.mood == "slow":
            self.harm += 1
            for at in range(0, len(answer), max(1, len(answer) // 10)):
                writer.write(answer[at:at + max(1, len(answer) // 10)])
                await writer.drain()
                await asyncio.sleep(0.15)
        else:
            writer.write(answer)
            await writer.drain()

    async def message(self, reader):
        """One whole request or answer; the broker and the client frame theirs by Content-Length."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return head + await reader.readexactly(length)
