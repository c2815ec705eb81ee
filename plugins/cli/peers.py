"""Who is at the other end of a socket: what the operating system says, never what they say."""

from __future__ import annotations

import os
import socket
import struct

import trio

_UCRED = struct.Struct("3i")  # pid, uid, gid
OWNER = "cli:owner"


def uid_of(sock: trio.socket.SocketType) -> int:
    """The user id of the process that connected, from SO_PEERCRED."""
    _, uid, _ = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    return int(uid)


def peer_of(uid: int, own: int | None = None) -> str:
    """The peer a user id stands for: this user and root are the owner, anybody else is one of their own (a guest)."""
    return OWNER if uid in (0, os.getuid() if own is None else own) else f"cli:uid{uid}"
