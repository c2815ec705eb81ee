"""A plugin that wants what is not its own: the wire and the standard library alone, no SDK.

``hostile.py`` has one tool, ``try_NAME``.  Its argument ``do`` says what: ``system`` (what the system lets it do to its
areas), ``answer`` (its result is ``result`` word for word), ``ask`` (a call of the kernel, word for word; the answer),
``block`` (asks for a block and fills it; its offset), ``flicker`` (a block whose bytes change all the time, named as
``as``), ``fds`` (what of memory it has), ``die`` (SIGKILL, holding blocks).
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

NAME = os.environ["HOMED_PLUGIN"]
ARENA = int(os.environ.get("HOMED_FD_ARENA", "-1"))
SEGMENT = int(os.environ.get("HOMED_FD_SEGMENT", "-1"))
LIBC = ctypes.CDLL(None, use_errno=True)
PROT_READ, PROT_WRITE, MAP_SHARED = 1, 2, 1
PUNCH = 0x1 | 0x2  # keep size, punch hole
AREA = mmap.mmap(ARENA, 0) if ARENA >= 0 else None


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def ask(method: str, params: object) -> Any:
    say(id="mine", method=method, params=params)
    while True:
        message = json.loads(sys.stdin.readline())
        if message.get("id") == "mine":
            return message.get("result", message.get("error"))
        serve(message)


def tried(attempt: Callable[[], object]) -> str:
    """``refused`` with the system's word for it, or what came of it."""
    try:
        return f"DONE: {attempt()!r}"
    except (OSError, ValueError, TypeError, BufferError) as error:
        return f"refused: {error}"


def checked(result: int) -> int:
    if result in (-1, 2**64 - 1):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def mapped(fd: int, protection: int) -> int:
    LIBC.mmap.restype = ctypes.c_uint64
    LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
    return checked(LIBC.mmap(None, 4096, protection, MAP_SHARED, fd, 0))


def made_writable(fd: int) -> int:
    address = mapped(fd, PROT_READ)
    return checked(LIBC.mprotect(ctypes.c_void_p(address), 4096, PROT_READ | PROT_WRITE))


def opened_again(fd: int, flags: int, use: Callable[[int], object]) -> object:
    again = os.open(f"/proc/self/fd/{fd}", flags)
    try:
        return use(again)
    finally:
        os.close(again)


def removed(fd: int) -> int:
    address = mapped(fd, PROT_READ)
    return checked(LIBC.madvise(ctypes.c_void_p(address), 4096, 9))  # MADV_REMOVE


def punched(fd: int) -> int:
    LIBC.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return checked(LIBC.fallocate(fd, PUNCH, 0, 4096))


def on_the_segment(fd: int) -> dict[str, Callable[[], object]]:
    return {
        "write": lambda: os.write(fd, b"x"),
        "pwrite": lambda: os.pwrite(fd, b"x", 0),
        "map writable": lambda: mapped(fd, PROT_READ | PROT_WRITE),
        "make a mapping writable": lambda: made_writable(fd),
        "truncate": lambda: os.ftruncate(fd, 0),
        "punch": lambda: punched(fd),
        "remove": lambda: removed(fd),
        "seal": lambda: fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE),
        "again and write": lambda: opened_again(fd, os.O_RDWR, lambda f: os.pwrite(f, b"x", 0)),
        "again and map": lambda: opened_again(fd, os.O_RDWR, lambda f: mapped(f, PROT_READ | PROT_WRITE)),
        "again and make writable": lambda: opened_again(fd, os.O_RDWR, made_writable),
        "again and truncate": lambda: opened_again(fd, os.O_RDWR, lambda f: os.ftruncate(f, 0)),
        "again, truncating": lambda: opened_again(fd, os.O_RDWR | os.O_TRUNC, lambda f: os.fstat(f).st_size),
        "again and grow": lambda: opened_again(fd, os.O_RDWR, lambda f: os.ftruncate(f, 1 << 30)),
        "again and punch": lambda: opened_again(fd, os.O_RDWR, punched),
        "again and remove": lambda: opened_again(fd, os.O_RDWR, removed),
        "again and unseal": lambda: opened_again(fd, os.O_RDWR, lambda f: fcntl.fcntl(f, fcntl.F_ADD_SEALS, 2)),
    }


def on_the_arena(fd: int) -> dict[str, Callable[[], object]]:
    return {
        "shrink": lambda: os.ftruncate(fd, 4096),
        "empty": lambda: os.ftruncate(fd, 0),
        "grow": lambda: os.ftruncate(fd, 1 << 40),
        "again, truncating": lambda: opened_again(fd, os.O_RDWR | os.O_TRUNC, lambda f: os.fstat(f).st_size),
        "seal for writing": lambda: fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE),
        "seal for future writing": lambda: fcntl.fcntl(fd, fcntl.F_ADD_SEALS, 0x10),
    }


def system() -> dict[str, dict[str, str]]:
    return {
        "segment": {name: tried(attempt) for name, attempt in on_the_segment(SEGMENT).items()},
        "arena": {name: tried(attempt) for name, attempt in on_the_arena(ARENA).items()},
    }


def block(data: bytes) -> int:
    off = int(ask("core.arena_alloc", {"len": len(data)})["off"])
    assert AREA is not None
    AREA[off : off + len(data)] = data
    return off


def flicker(size: int) -> int:
    off = block(b'"' + b"a" * (size - 2) + b'"')

    def change() -> None:
        assert AREA is not None
        good, bad = b"a" * 4096, b'\xff"]{' * 1024
        while True:
            for at in range(off + 1, off + size - 4097, 4096):
                AREA[at : at + 4096] = bad
                AREA[at : at + 4096] = good

    threading.Thread(target=change, daemon=True).start()
    return off


def fds() -> list[str]:
    links = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            continue  # the listing's own
    return sorted(link for link in links if "memfd:" in link)


def act(args: dict[str, Any]) -> Any:
    """The result of the tool, word for word."""
    match args["do"]:
        case "system":
            return {"content": system(), "is_error": False}
        case "answer":
            return args["result"]
        case "ask":
            return {"content": ask(args["method"], args["params"]), "is_error": False}
        case "block":
            return {"content": block(args["text"].encode()), "is_error": False}
        case "flicker":
            size = int(args["size"])
            return {"is_error": False, "$arena": {"content": {"off": flicker(size), "len": size, "as": args["as"]}}}
        case "fds":
            return {"content": fds(), "is_error": False}
        case "die":
            for _ in range(4):
                block(b"x" * (1 << 20))
            os.kill(os.getpid(), signal.SIGKILL)
    return {"content": None, "is_error": True}


def serve(message: dict[str, Any]) -> None:
    method, params, id_ = message.get("method"), message.get("params", {}), message.get("id")
    if id_ is None:
        return
    if method == "handshake":
        say(id=id_, result={"protocol": 1, "sdk": "hostile", "pid": os.getpid(), "areas": ["arena", "segment"]})
    elif method == "plugin.init":
        stages = [{"stage": "pre_action", "scope": "global", "order": 0, "on_failure": "open"}] if SEGMENT >= 0 else []
        say(id=id_, result={"tools": [f"try_{NAME}"], "stages": stages, "outputs": [], "inputs": []})
    elif method == "tool.invoke":
        say(id=id_, result=act(params["args"]))
    elif method == "plugin.stop":
        say(id=id_, result={})
        sys.exit(0)
    else:
        say(id=id_, result={})


if __name__ == "__main__":
    for line in sys.stdin:
        serve(json.loads(line))
