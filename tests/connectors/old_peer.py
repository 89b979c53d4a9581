"""A connector of version 1, written by the rules of that protocol and with none of callboard's code for it."""

import base64
import gzip
import hashlib
import hmac
import json
import os
import time
from typing import Any

import httpx
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from callboard.http_server import Server

SECRET = "a shared key of the old world"
KEY_MS = 4 * 3600 * 1000
PATH = "/libs/sling/topology/connector"


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def trust(direction: str, path: str, body: str, secret: str = SECRET, ahead: int = 0) -> dict[str, str]:
    number = int(time.time() * 1000) // KEY_MS + ahead
    hashed = digest(f"{direction}:{path}:{body}")
    mac = hmac.new(digest(f"{secret}{number}").encode(), hashed.encode(), hashlib.sha256).digest()
    return {"X-SlingTopologyHash": hashed, "X-SlingTopologyTrust": f"{number}/{base64.b64encode(mac).decode()}"}


def cipher(salt: bytes, iv: bytes, secret: str) -> Any:
    key = hashlib.pbkdf2_hmac("sha256", secret.encode(), salt, 10_000, 16)
    return Cipher(algorithms.AES(key), modes.CBC(iv))


def encrypted(text: str, secret: str = SECRET) -> str:
    salt, iv, data = os.urandom(9), os.urandom(16), text.encode()
    data += bytes([16 - len(data) % 16]) * (16 - len(data) % 16)
    encryptor = cipher(salt, iv, secret).encryptor()
    parts = (salt, iv, encryptor.update(data) + encryptor.finalize())
    return json.dumps({"payload": [base64.b64encode(each).decode() for each in parts]}, separators=(",", ":"))


def decrypted(body: str) -> Any:
    salt, iv, data = map(base64.b64decode, json.loads(body)["payload"])
    decryptor = cipher(salt, iv, SECRET).decryptor()
    padded = decryptor.update(data) + decryptor.finalize()
    return json.loads(padded[: -padded[-1]])


def instance(name: str, leads: bool, **properties: str) -> dict[str, Any]:
    return {"slingId": name, "isLeader": leads, "cluster": "old", "properties": properties}


def tree(owner: str, cluster: str = "old", *inner: dict[str, Any], **more: Any) -> dict[str, Any]:
    members = [instance(owner, True, zone="east"), instance(f"{owner}-mate", False)]
    return {
        "ownerId": owner, "protocolVersion": 1, "created": time.time_ns() // 1_000_000, "inherited": False,
        "serverInfo": "old:8080", "localClusterView": {"id": cluster, "instances": members},
        "topologyAnnouncements": list(inner), **more,
    }  # fmt: skip


class OldPeer:
    """Sends requests, and answers those to ``url``; ``got`` has all announcements that were sent to it."""

    def __init__(self, name: str = "old-1", *, gzipped: bool = False) -> None:
        self.name, self.gzipped = name, gzipped
        self.got: list[dict[str, Any]] = []
        self.methods: list[str] = []
        self.reply: dict[str, Any] | None = None
        self.answer_trust: dict[str, Any] = {}
        self.server = Server(self, ("127.0.0.1", 0), None)

    async def __aenter__(self) -> "OldPeer":
        await self.server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}{PATH}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        text = (gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body).decode()
        wanted = trust("request", scope["path"], text or "null")
        status = 200 if all(headers.get(name.lower()) == value for name, value in wanted.items()) else 404
        self.methods.append(scope["method"])
        answer = ""
        if status == 200 and scope["method"] == "PUT":
            self.got.append(decrypted(text))
            answer = encrypted(json.dumps(self.reply or tree(self.name)))
        out = trust("response", scope["path"], answer, **self.answer_trust)
        data = answer.encode()
        if self.gzipped and "gzip" in headers["accept-encoding"]:
            data, out = gzip.compress(data), out | {"Content-Encoding": "gzip"}
        pairs = [(name.lower().encode(), value.encode()) for name, value in out.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": data})

    async def put(self, port: int, said: Any, name: str = "", **given: Any) -> tuple[int, Any]:
        """The status, and the announcement in the answer, whose authenticity is checked."""
        path, body = f"{PATH}.{name or self.name}.json", encrypted(json.dumps(said))
        return await self.send(port, "PUT", path, body, trust("request", path, body, **given))

    async def delete(self, port: int) -> int:
        path = f"{PATH}.{self.name}.json"
        return (await self.send(port, "DELETE", path, "", trust("request", path, "null")))[0]

    async def send(self, port: int, method: str, path: str, body: str, headers: dict[str, str]) -> tuple[int, Any]:
        data = body.encode()
        if self.gzipped:
            data, headers = gzip.compress(data), headers | {"Content-Encoding": "gzip"}
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.request(method, f"http://127.0.0.1:{port}{path}", content=data, headers=headers)
        if answer.status_code != 200 or not answer.content:
            return answer.status_code, None
        for header, value in trust("response", path, answer.text).items():
            assert answer.headers[header] == value
        return 200, decrypted(answer.text)
