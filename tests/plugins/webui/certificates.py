"""A certificate for this machine, made for the test by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path

from plugins.webui.listen import Certificate


def make(folder: Path, *, passphrase: str = "") -> Certificate:
    """A self-signed certificate for localhost and 127.0.0.1."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(cert)]
    command += ["-passout", f"pass:{passphrase}"] if passphrase else ["-nodes"]
    subprocess.run(command, check=True, capture_output=True)
    return Certificate(str(cert), str(key))
