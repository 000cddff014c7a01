"""The files of the page: paths, headers, compression, and that the wheel and the image contain them."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from pydantic import SecretStr
from starlette.testclient import TestClient

import headwater_web
from headwater_web import MemorySink, WebSettings, create_app
from headwater_web.page_files import ADDRESSES, DOCUMENT, MEDIA_TYPES, accepts_gzip, page_files

from ..given_answers import GivenAnswers
from .raw import client_of, sent, serving

ROOT = Path(__file__).parents[2]
PAGE = Path(str(files(headwater_web))) / "page"
LOCAL = "Host: localhost"
SERVED = sorted(path for path in PAGE.rglob("*") if path.is_file() and path.suffix in MEDIA_TYPES)


@pytest.fixture(scope="module")
def page() -> Iterator[TestClient]:
    with client_of(create_app(GivenAnswers(), MemorySink(), WebSettings())) as client:
        yield client


@pytest.fixture(scope="module")
def guarded() -> Iterator[int]:
    with serving(create_app(GivenAnswers(), MemorySink(), WebSettings(tokens=(SecretStr("open"),)))) as port:
        yield port


@pytest.mark.parametrize("address", ADDRESSES)
def test_each_address_of_the_page_is_answered_with_its_document(page: TestClient, address: str) -> None:
    answer = page.get(f"{address}?namespace=a&name=b")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.content == (PAGE / DOCUMENT).read_bytes()


def test_every_file_has_its_media_type_and_the_headers_that_confine_it(page: TestClient) -> None:
    for path in SERVED:
        answer = page.get(f"/page/{path.relative_to(PAGE).as_posix()}")
        assert (answer.status_code, answer.content) == (200, path.read_bytes()), path
        assert answer.headers["content-type"] == MEDIA_TYPES[path.suffix]
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"


def test_a_file_is_compressed_for_clients_that_accept_it(page: TestClient) -> None:
    plain = page.get("/", headers={"Accept-Encoding": "identity"})
    packed = page.get("/", headers={"Accept-Encoding": "br, gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content
    assert plain.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"
    assert plain.headers["etag"] != packed.headers["etag"]


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_a_file_that_the_client_has_is_not_sent_again(page: TestClient, encoding: str) -> None:
    accepting = {"Accept-Encoding": encoding}
    first = page.get("/", headers=accepting)
    again = page.get("/", headers=accepting | {"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert page.get("/", headers=accepting | {"If-None-Match": '"other"'}).status_code == 200


def test_two_servers_give_a_file_the_same_etag() -> None:
    first, second = page_files(), page_files()
    assert {path: file.tag for path, file in first.items()} == {path: file.tag for path, file in second.items()}
    assert first["/"].compressed == second["/"].compressed
    assert gzip.decompress(first["/"].compressed) == first["/"].body


def test_a_head_request_has_no_body_and_a_post_is_refused(page: TestClient) -> None:
    answer = page.head("/")
    assert (answer.status_code, answer.content) == (200, b"")
    assert page.post("/", json={}).status_code == 405


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("*", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0", False),
        ("", False),
    ],
)
def test_gzip_is_accepted_if_the_header_says_so(accepted: str, is_compressed: bool) -> None:
    assert accepts_gzip(accepted) is is_compressed


@pytest.mark.parametrize(
    "target",
    [
        "/page/../app.py",
        "/page/%2e%2e/app.py",
        "/page/..%2fapp.py",
        "/page//etc/passwd",
        "/page/js/../../settings.py",
        "/page/%5c..%5capp.py",
        "/page/index.html%00.js",
        "/page/",
        "/page",
        "/page/js",
        "//",
        "/./",
    ],
)
def test_no_path_leads_out_of_the_folder(page: TestClient, guarded: int, target: str) -> None:
    status, body = sent(guarded, target, LOCAL)
    assert status in (400, 401), body
    with serving(create_app(GivenAnswers(), MemorySink(), WebSettings())) as port:
        status, body = sent(port, target, LOCAL)
        assert status in (400, 404), body


def test_type_declarations_and_other_files_are_not_served(tmp_path: Path) -> None:
    for name in (DOCUMENT, "js/main.js", "js/types.d.ts", "README.md", ".hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert page_files(tmp_path).keys() == {"/page/index.html", "/page/js/main.js", *ADDRESSES}


def test_the_page_needs_no_token_and_opens_no_other_path(guarded: int) -> None:
    for path in (*ADDRESSES, "/page/index.html"):
        assert sent(guarded, path, "Host: lineage.example")[0] == 200
    for path in ("/api/v1/graph/search?text=x", "/api/v1/openapi.json", "/page/x.js", "/job/", "/jobs", "/Job"):
        assert sent(guarded, path, "Host: lineage.example")[0] == 401


def test_without_tokens_the_page_answers_under_the_names_of_this_machine_alone(page: TestClient) -> None:
    for path in (*ADDRESSES, "/page/index.html"):
        assert page.get(path, headers={"Host": "attacker.example"}).status_code == 403


def test_a_link_of_another_site_may_lead_to_the_page(page: TestClient) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert page.get("/lineage?kind=job&namespace=a&name=b", headers=headers).status_code == 200
    assert page.get("/api/v1/graph/search?text=x", headers=headers).status_code == 403


def test_no_address_of_the_page_is_one_of_the_api(page: TestClient) -> None:
    app = create_app(GivenAnswers(), MemorySink(), WebSettings())
    described = set(app.openapi()["paths"])
    assert described
    assert not described & page_files().keys()
    assert all(path.startswith("/api/") for path in described)
    assert not any(path.startswith("/api/") for path in page_files())


class _Inline(HTMLParser):
    """Collects what the document loads, and what its policy would not run."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.refused: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.refused += [name for name in given if name.startswith("on") or name == "style"]
        if tag == "style" or (tag == "script" and not given.get("src")):
            self.refused.append(tag)
        if tag in ("script", "link"):
            self.loaded.append(given.get("src") or given.get("href") or "")


def test_the_document_loads_files_of_the_page_alone_and_has_nothing_inline() -> None:
    parser = _Inline()
    parser.feed((PAGE / DOCUMENT).read_text(encoding="utf-8"))
    assert parser.refused == []
    assert parser.loaded
    assert [path for path in parser.loaded if path not in page_files() and not path.startswith("data:")] == []


def test_the_wheel_contains_every_file_of_the_page(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("headwater_web/page/")}
    assert {f"headwater_web/page/{path.relative_to(PAGE).as_posix()}" for path in SERVED} <= packed


def test_the_image_is_built_from_a_context_with_the_page() -> None:
    kept = (ROOT / "k8s/Dockerfile.dockerignore").read_text().splitlines()
    assert "!web/headwater_web" in kept
    assert not [line for line in kept if "page" in line]
