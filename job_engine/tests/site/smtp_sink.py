"""A mail server on the loopback interface that keeps what it gets: as much of SMTP as a client needs that sends mail."""

from __future__ import annotations

import email
import email.policy
import socketserver
import threading
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from types import TracebackType


@dataclass(frozen=True, slots=True)
class Received:
    sender: str
    recipients: tuple[str, ...]  # of the envelope: where it really goes, whatever its headers say
    message: EmailMessage

    def text(self, kind: str) -> str:
        """The body as plain text (`plain`) or as HTML (`html`)."""
        part = self.message.get_body((kind,))
        assert part is not None, f"the message has no {kind} part"
        return str(part.get_content())


class SmtpSink:
    """`with SmtpSink() as sink:` and mail to 127.0.0.1, port `sink.port`, is in `sink.received`."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self._server = _Server(("127.0.0.1", 0), _Conversation)
        self._server.received = self.received
        self.port = int(self._server.server_address[1])

    def __enter__(self) -> SmtpSink:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False  # Frappe leaves its connection open until the process ends
    received: list[Received]


class _Conversation(socketserver.StreamRequestHandler):
    server: _Server
    sender: str
    recipients: list[str]

    def handle(self) -> None:
        with suppress(ConnectionError):
            self._answer("220 sink")
            while line := self.rfile.readline():
                command = line.decode().strip()
                if command.upper() == "QUIT":
                    self._answer("221 bye")
                    return
                self._answer(self._obey(command))

    def _obey(self, command: str) -> str:
        verb = command.upper()
        if verb.startswith("MAIL FROM:"):
            self.sender, self.recipients = _address(command), []
        elif verb.startswith("RCPT TO:"):
            self.recipients.append(_address(command))
        elif verb == "DATA":
            self._answer("354 go on, and end with a dot")
            message = email.message_from_bytes(self._data(), _class=EmailMessage, policy=email.policy.default)
            self.server.received.append(Received(self.sender, tuple(self.recipients), message))
        elif not verb.startswith(("EHLO", "HELO", "NOOP", "RSET")):
            return "502 this server does not know that"
        return "250 ok"

    def _data(self) -> bytes:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(lines)

    def _answer(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


def _address(command: str) -> str:
    return command[command.index("<") + 1 : command.index(">")]
