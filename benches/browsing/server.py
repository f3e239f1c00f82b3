"""Servers of the site: nginx for HTTP/1.1 and HTTP/2, Caddy for HTTP/3, with our own certificates.

Debian's nginx has no HTTP/3. Caddy is not used for the others: TLS of Go begins with records of
1.2 kB that each have a segment of their own, so that the first window holds less. Records of nginx
have 4 kB: one of 16 kB, its default, does not fit into the first window, and the browser reads
nothing of it before the second.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
from typing import TYPE_CHECKING

from browsing.site import ORIGINS

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = {"1.1": "nginx", "2": "nginx", "3": "caddy"}
"""Debian packages of the servers by the version of HTTP. Their programs have the same names."""
CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def openssl(*arguments: object, text: bytes = b"") -> bytes:
    """The output of openssl."""
    command = ["openssl", *map(str, arguments)]
    return subprocess.run(command, input=text, check=True, capture_output=True).stdout


def make_certificates(folder: Path) -> None:
    """Make a certificate for each origin, with one key, by an authority of our own.

    An origin has its own certificate, so that the browser does not use the connection of another
    origin for it (RFC 9113 section 9.1.1).
    """
    authority = ("-keyout", folder / "authority.key", "-out", folder / "authority.pem")
    openssl("req", "-x509", *CURVE, *authority, "-days", 30, "-subj", "/CN=Bentpipe")
    openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", folder / "key.pem")
    for origin in ORIGINS:
        request = openssl("req", "-new", "-key", folder / "key.pem", "-subj", f"/CN={origin}")
        names = folder / "names"
        names.write_text(f"subjectAltName=DNS:{origin}\n")
        signed = openssl(
            *("x509", "-req", "-CA", folder / "authority.pem", "-CAkey", folder / "authority.key"),
            *("-CAcreateserial", "-days", 30, "-extfile", names),
            text=request,
        )
        chain = signed + (folder / "authority.pem").read_bytes()
        (folder / f"{origin}.pem").write_bytes(chain)


def key_hash(folder: Path) -> str:
    """Hash of the public key, by which the browser recognises the certificates."""
    public = openssl("pkey", "-in", folder / "key.pem", "-pubout", "-outform", "DER")
    return base64.b64encode(hashlib.sha256(public).digest()).decode()


def chain_bytes(folder: Path) -> int:
    """Bytes of the certificates that the server sends, without the framing of TLS."""
    texts = (folder / f"{ORIGINS[0]}.pem").read_text().split("-----BEGIN CERTIFICATE-----")
    encoded = [text.partition("-----END")[0] for text in texts[1:]]
    return sum(len(base64.b64decode(text)) for text in encoded)


WITH_CUBIC = (
    "ip route show | sed 's/rto_min lock/rto_min/' | "
    "while read -r route; do ip route change $route congctl cubic; done; "
)
"""Gives all routes of a namespace CUBIC, also where the machine restricts it to other programs."""


def command(folder: Path, http: str) -> str:
    """Write the settings of the server for a version of HTTP; its line for a shell."""
    text = caddy(folder) if http == "3" else nginx(folder, "http2" if http == "2" else "")
    file = folder / f"settings-{http}"
    file.write_text(text)
    if http == "3":
        start = f"exec caddy run --adapter caddyfile --config {file}"
        return f"export HOME={folder}; {start} 2>{folder}/errors"
    return f"{WITH_CUBIC}exec nginx -p {folder} -e {folder}/errors -c {file}"


def nginx(folder: Path, protocol: str) -> str:
    """The settings of nginx."""
    servers = "".join(
        f"""
    server {{
        listen 443 ssl {protocol};
        server_name {origin};
        ssl_certificate {folder}/{origin}.pem;
        ssl_certificate_key {folder}/key.pem;
        root {folder}/{origin};
    }}"""
        for origin in ORIGINS
    )
    temporary = "".join(
        f"    {kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""daemon off;
user root;
pid {folder}/pid;
events {{ }}
http {{
    include /etc/nginx/mime.types;
    access_log off;
    add_header Access-Control-Allow-Origin "*";
    add_header Cache-Control "no-store";
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_buffer_size 4k;
{temporary}{servers}
}}
"""


def caddy(folder: Path) -> str:
    """The settings of Caddy."""
    blocks = [
        f"""
https://{origin} {{
    tls {folder}/{origin}.pem {folder}/key.pem
    root * {folder}/{origin}
    header Access-Control-Allow-Origin "*"
    header Cache-Control "no-store"
    file_server
}}
"""
        for origin in ORIGINS
    ]
    usual = "    admin off\n    auto_https off\n    servers {\n        protocols h1 h2 h3\n    }\n"
    return "".join([f"{{\n{usual}}}\n", *blocks])
