"""A certificate authority of the tests: it signs certificates of servers on 127.0.0.1 and of clients with openssl."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@dataclass(frozen=True, slots=True)
class Authority:
    """An authority whose files are in a folder; ``certificate`` is what its clients trust."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / "ca.crt"

    def sign(self, name: str, names: str = "IP:127.0.0.1") -> Path:
        """Return a PEM file with a new key (PKCS #8) and its certificate; ``name.key`` and ``name.crt`` are beside it."""
        key, request, signed = (self.folder / f"{name}.{part}" for part in ("key", "csr", "crt"))
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\n")
        _openssl("req", *_KEY, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        authority = ("-CA", self.certificate, "-CAkey", self.folder / "ca.key", "-CAcreateserial")
        _openssl("x509", "-req", "-in", request, *authority, "-days", "2", "-extfile", extensions, "-out", signed)
        together = self.folder / f"{name}.pem"
        together.write_text(key.read_text() + signed.read_text())
        return together


def made_authority(folder: Path) -> Authority:
    """Return a new authority in a new folder."""
    folder.mkdir()
    made = Authority(folder)
    extension = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    subject = ("-subj", f"/CN={folder.name}", "-days", "2")
    _openssl("req", "-x509", *_KEY, "-keyout", folder / "ca.key", "-out", made.certificate, *subject, *extension)
    return made


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
