"""The other end of a connection: a trusted proxy or a client itself, and the origin under which the client knows the server."""

from __future__ import annotations

import ipaddress

from starlette.requests import HTTPConnection

from .settings import WebSettings, is_loopback


def is_from_proxy(request: HTTPConnection, settings: WebSettings) -> bool:
    """Return whether the connection itself comes from a trusted proxy."""
    address = _peer(request)
    return address is not None and any(address in network for network in settings.trusted_proxies)


def is_secure(request: HTTPConnection, settings: WebSettings) -> bool:
    """Return whether the client uses HTTPS: a proxy of this machine or a trusted one may state it in X-Forwarded-Proto."""
    stated = request.headers.get("x-forwarded-proto", "").strip().lower()
    if stated in ("http", "https"):
        address = _peer(request)
        if is_from_proxy(request, settings) or (address is not None and is_loopback(str(address))):
            return stated == "https"
    return str(request.scope["scheme"]) == "https"


def own_origin(request: HTTPConnection, settings: WebSettings) -> str:
    """Return the origin of this server's own pages, in lower case."""
    scheme = "https" if is_secure(request, settings) else "http"
    return f"{scheme}://{request.headers.get('host', '')}".lower()


def client_address(request: HTTPConnection, settings: WebSettings) -> str:
    """Return the address of a client: the last one that a trusted proxy has added to X-Forwarded-For, else the connection's."""
    forwarded = request.headers.getlist("x-forwarded-for") if is_from_proxy(request, settings) else []
    last = forwarded[-1].rpartition(",")[2].strip() if forwarded else ""
    try:
        return str(ipaddress.ip_address(last))
    except ValueError:
        return str(_peer(request) or "unknown")


def _peer(request: HTTPConnection) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(request.client.host if request.client else "")
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
