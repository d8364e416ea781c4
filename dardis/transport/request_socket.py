"""ZeroMQ client."""

from __future__ import annotations

import zmq

from dardis.model.errors import InputError


class RequestSocket:
    """REQ socket; the server may start later."""

    def __init__(self, endpoint: str, timeout_s: int) -> None:
        """Raises InputError."""
        self.endpoint, self.timeout_s = endpoint, timeout_s
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.REQ)
        self._socket.set(zmq.LINGER, 0)
        self._socket.set(zmq.SNDTIMEO, 1000 * timeout_s)
        self._socket.set(zmq.RCVTIMEO, 1000 * timeout_s)
        try:
            self._socket.connect(endpoint)
        except zmq.ZMQError as error:
            self.close()
            expected = "an endpoint such as tcp://127.0.0.1:28000"
            raise InputError(f"--batsim {endpoint}", zmq.strerror(error.errno or zmq.EINVAL), expected) from None

    def request(self, text: str) -> bytes:
        """Answer. Raises TimeoutError."""
        try:
            self._socket.send_string(text)
            return self._socket.recv()
        except zmq.Again:
            raise TimeoutError from None

    def close(self) -> None:
        """Close."""
        self._socket.close()
        self._context.term()
