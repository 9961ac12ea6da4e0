"""The choice of a proxy."""

import pytest

from relay.ai.errors import ProviderError
from relay.ai.proxy import goes_direct, proxy_for


def chosen(url: str, setting: str | None = None, **environ: str) -> str | None:
    proxy = proxy_for(url, setting, environ)
    return proxy.url if proxy else None


def test_the_scheme_decides_which_variable_counts() -> None:
    environ = {"HTTP_PROXY": "http://plain:1", "HTTPS_PROXY": "http://secure:2"}
    assert chosen("http://a.example/v1", **environ) == "http://plain:1"
    assert chosen("https://a.example/v1", **environ) == "http://secure:2"
    assert chosen("https://a.example/v1") is None
    assert chosen("https://a.example/v1", HTTP_PROXY="http://plain:1") is None


def test_lower_case_comes_first_and_all_proxy_last() -> None:
    assert chosen("http://a.example", http_proxy="http://low:1", HTTP_PROXY="http://up:1") == "http://low:1"
    assert chosen("http://a.example", ALL_PROXY="http://all:3") == "http://all:3"
    assert chosen("http://a.example", all_proxy="http://all:3", HTTP_PROXY="http://up:1") == "http://up:1"
    assert chosen("http://a.example", HTTP_PROXY="  ", ALL_PROXY="http://all:3") == "http://all:3"


def test_the_setting_stands_for_both_variables_and_no_proxy_holds_for_it() -> None:
    environ = {"HTTPS_PROXY": "http://secure:2", "NO_PROXY": "direct.example"}
    assert chosen("https://a.example", "http://set:9", **environ) == "http://set:9"
    assert chosen("http://a.example", "http://set:9") == "http://set:9"
    assert chosen("https://direct.example", "http://set:9", **environ) is None


def test_the_address_of_a_proxy() -> None:
    assert chosen("http://a.example", "proxy.example") == "http://proxy.example:80"
    assert chosen("http://a.example", "proxy.example:3128") == "http://proxy.example:3128"
    assert chosen("http://a.example", "https://proxy.example/") == "https://proxy.example:443"
    assert chosen("http://a.example", "http://[::1]:8080") == "http://[::1]:8080"
    proxy = proxy_for("http://a.example", "http://us%40er:p%3Aw@proxy.example:1", {})
    assert proxy is not None
    assert (proxy.url, proxy.auth) == ("http://proxy.example:1", (b"us@er", b"p:w"))
    assert proxy.source == "the setting httpProxy"


@pytest.mark.parametrize(
    "address", ["socks5://secret:word@p:1", "http://", "http://p:99999", "http://p:port"]
)
def test_an_address_that_cannot_be_used_is_named_by_its_source(address: str) -> None:
    with pytest.raises(ProviderError) as caught:
        proxy_for("http://a.example", None, {"HTTP_PROXY": address})
    assert caught.value.kind == "config"
    assert "HTTP_PROXY" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("no_proxy", "host", "port", "direct"),
    [
        ("*", "any.example", 443, True),
        ("example.com", "example.com", 443, True),
        ("example.com", "api.example.com", 443, True),
        ("example.com", "notexample.com", 443, False),
        (".example.com", "api.example.com", 443, True),
        (".example.com", "example.com", 443, True),
        ("*.example.com", "api.example.com", 443, True),
        ("EXAMPLE.com", "api.Example.COM", 443, True),
        ("example.com.", "example.com", 443, True),
        ("example.com", "example.com.", 443, True),
        ("example.com:8443", "example.com", 8443, True),
        ("example.com:8443", "example.com", 443, False),
        ("a.b, example.com , c.d", "example.com", 443, True),
        ("a.b example.com", "example.com", 443, True),
        ("127.0.0.1", "127.0.0.1", 80, True),
        ("10.0.0.0/8", "10.1.2.3", 80, True),
        ("10.0.0.0/8", "11.1.2.3", 80, False),
        ("10.0.0.0/8", "ten.example", 80, False),
        ("::1", "::1", 80, True),
        ("[::1]:8080", "::1", 8080, True),
        ("[::1]:8080", "::1", 80, False),
        ("fd00::/8", "fd12::1", 80, True),
        ("0.0.1", "127.0.0.1", 80, False),
        ("", "example.com", 80, False),
        (",,", "example.com", 80, False),
        ("bad/net", "1.2.3.4", 80, False),
    ],
)
def test_no_proxy(no_proxy: str, host: str, port: int, direct: bool) -> None:
    assert goes_direct(host, port, no_proxy) is direct
