"""Relay URLs have one spelling; our own address is recognised in every spelling, and nothing else is taken for it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graspd.nostr.relay_url import (
    URL_LENGTH_MAX,
    Domain,
    is_service_clone,
    is_service_relay,
    parse_domain,
    parse_relay_url,
)

LABEL = "a" * 63
HOST = f"{LABEL}.{LABEL}.{LABEL}.{'a' * 61}"

ONE_SPELLING = [
    ("wss://relay.example", "wss://relay.example"),
    ("wss://relay.example/", "wss://relay.example"),
    ("wss://relay.example///", "wss://relay.example"),
    (" wss://relay.example\n", "wss://relay.example"),
    ("WSS://Relay.EXAMPLE", "wss://relay.example"),
    ("relay.example", "wss://relay.example"),
    ("relay.example:7000/path", "wss://relay.example:7000/path"),
    ("wss://relay.example:443", "wss://relay.example"),
    ("wss://relay.example:0443", "wss://relay.example"),
    ("wss://relay.example:", "wss://relay.example"),
    ("wss://relay.example:80", "wss://relay.example:80"),
    ("ws://relay.example:80/", "ws://relay.example"),
    ("ws://relay.example:443", "ws://relay.example:443"),
    ("wss://relay.example.", "wss://relay.example"),
    ("wss://relay.example.:443/", "wss://relay.example"),
    ("wss://relay.example/Path/", "wss://relay.example/Path"),
    ("wss://relay.example/a//", "wss://relay.example/a"),
    ("wss://relay.example/?", "wss://relay.example"),
    ("wss://relay.example/?a=b", "wss://relay.example?a=b"),
    ("wss://relay.example/%7Eme", "wss://relay.example/%7Eme"),
    ("wss://relay_1.example", "wss://relay_1.example"),
    ("localhost", "wss://localhost"),
    ("ws://127.0.0.1:7334", "ws://127.0.0.1:7334"),
    ("ws://[::1]:80", "ws://[::1]"),
    ("wss://[2001:DB8:0:0:0:0:0:1]:443/", "wss://[2001:db8::1]"),
    ("wss://Bücher.example", "wss://xn--bcher-kva.example"),
    ("wss://xn--bcher-kva.example", "wss://xn--bcher-kva.example"),
    ("wss://XN--BCHER-KVA.example", "wss://xn--bcher-kva.example"),
    ("wss://faß.example", "wss://xn--fa-hia.example"),
    ("wss://relay。example", "wss://relay.example"),
    ("wss://１２７.０.０.１", "wss://127.0.0.1"),
    (f"wss://{HOST}", f"wss://{HOST}"),
]

NO_RELAY = [
    ("", "nothing"),
    ("wss://", "no host"),
    ("wss:///path", "no host"),
    ("wss:relay.example", "no //"),
    ("//relay.example", "no scheme and yet slashes"),
    ("https://relay.example", "another scheme"),
    ("http://relay.example", "another scheme"),
    ("ftp://relay.example", "another scheme"),
    ("javascript://relay.example", "another scheme"),
    ("wss://user@relay.example", "userinfo"),
    ("wss://user:secret@relay.example", "userinfo"),
    ("wss://@relay.example", "empty userinfo"),
    ("me@relay.example", "an address of mail"),
    ("wss://relay.example/#top", "a fragment"),
    ("wss://relay.example#", "an empty fragment"),
    ("wss://relay.example\\@evil.example", "a backslash"),
    ("wss://relay.example/a\\b", "a backslash"),
    ("wss://relay.exa\tmple", "a tab, which some parsers drop"),
    ("wss://relay.exa\nmple", "a line break"),
    ("wss://relay.example/a b", "a space"),
    ("wss://relay.example/a\u00a0b", "another white space"),
    ("wss://relay.example/\x00", "a NUL"),
    ("wss://relay.example/\x7f", "a control character"),
    ("wss://relay.example:0", "port 0"),
    ("wss://relay.example:65536", "no such port"),
    ("wss://relay.example:-1", "no such port"),
    ("wss://relay.example:+443", "a sign"),
    ("wss://relay.example:https", "a name as port"),
    ("wss://relay.example:٤٤٣", "digits of another script"),
    ("wss://relay..example", "an empty label"),
    ("wss://.relay.example", "an empty label"),
    ("wss://relay.example..", "an empty label"),
    ("wss://-relay.example", "a leading hyphen"),
    ("wss://relay.example-", "a trailing hyphen"),
    ("wss://relay%2eexample", "a percent-encoded host"),
    ("wss://relay.example;x", "no host has a semicolon"),
    ("wss://a.example,wss://b.example", "two in one"),
    ("wss://☃.example", "a name that IDNA forbids"),
    ("wss://[relay.example]", "no address in the brackets"),
    ("wss://[127.0.0.1]", "the other kind of address in the brackets"),
    ("wss://[v1.relay]", "an address of the future"),
    ("wss://[::1", "an open bracket"),
    ("wss://::1", "an address without brackets"),
    ("wss://[fe80::1%eth0]", "a zone"),
    (f"wss://{LABEL}a.example", "a label that no resolver takes"),
    (f"wss://{HOST}a", "a host that no resolver takes"),
    (f"wss://relay.example/{'a' * URL_LENGTH_MAX}", "longer than any in use"),
    (f"wss://ü.example/{'a' * (URL_LENGTH_MAX - 17)}", "longer than that once in its one spelling"),
]


@pytest.mark.parametrize(("text", "spelled"), ONE_SPELLING)
def test_a_relay_url_has_one_spelling(text: str, spelled: str) -> None:
    assert parse_relay_url(text) == spelled


@pytest.mark.parametrize(("text", "why"), NO_RELAY)
def test_what_is_no_relay_url(text: str, why: str) -> None:
    assert parse_relay_url(text) is None, why


url_texts = st.one_of(
    st.text(),
    st.text("wsWS:/.?#@[]%0149aBüß。１\\ \t-_", max_size=40),
    st.builds(
        lambda scheme, host, rest: scheme + host + rest,
        st.sampled_from(("", "ws://", "wss://", "WSS://")),
        st.text("aZ09.-_ü。ß１", min_size=1, max_size=30),
        st.sampled_from(("", ":", ":80", ":443", ":0", "/", "//", "/a/", "/?", "/?b", "?b#", ".")),
    ),
    st.from_regex(r"wss?://[a-zü0-9.-]{1,240}(:\d{1,5})?/[a-zü/]{0,300}", fullmatch=True),
)


@given(url_texts)
@example(f"wss://{'ü' * 50}.example/{'a' * (URL_LENGTH_MAX - 64)}")
def test_the_one_spelling_is_its_own(text: str) -> None:
    spelled = parse_relay_url(text)
    assert spelled is None or (parse_relay_url(spelled) == spelled and len(spelled) <= URL_LENGTH_MAX)


@given(st.text("abc0.-_", min_size=1), st.sampled_from(("ws", "wss")), st.integers(1, 65535))
def test_case_and_a_final_slash_or_dot_make_no_difference(host: str, scheme: str, port: int) -> None:
    plain = parse_relay_url(f"{scheme}://{host}:{port}")
    assert parse_relay_url(f"{scheme.upper()}://{host.upper()}:{port}/") == plain
    if plain is not None and not host.endswith("."):
        assert parse_relay_url(f"{scheme}://{host}.:{port}") == plain


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("grasp.example", Domain("grasp.example")),
        (" Grasp.Example. ", Domain("grasp.example")),
        ("grasp.example:7334", Domain("grasp.example", 7334)),
        ("127.0.0.1:7334", Domain("127.0.0.1", 7334)),
        ("[::1]:7334", Domain("::1", 7334)),
        ("bücher.example", Domain("xn--bcher-kva.example")),
        ("https://grasp.example", None),
        ("grasp.example/path", None),
        ("grasp.example?a", None),
        ("me@grasp.example", None),
        ("grasp.example:port", None),
        ("", None),
    ],
)
def test_domain_as_an_operator_writes_it(text: str, domain: Domain | None) -> None:
    assert parse_domain(text) == domain


def test_domain_is_written_as_it_is_read() -> None:
    for text in ("grasp.example", "grasp.example:7334", "[::1]:7334", "[::1]"):
        assert str(parse_domain(text)) == text


GRASP = Domain("grasp.example")
ODD_PORT = Domain("grasp.example", 7334)


@pytest.mark.parametrize(
    ("text", "domain", "ours"),
    [
        ("wss://grasp.example", GRASP, True),
        ("ws://grasp.example", GRASP, True),
        ("wss://grasp.example/", GRASP, True),
        ("wss://GRASP.example.:443//", GRASP, True),
        ("ws://grasp.example:80", GRASP, True),
        (" wss://grasp.example ", GRASP, True),
        ("wss://grasp.example:7334", ODD_PORT, True),
        ("ws://grasp.example:7334/", ODD_PORT, True),
        ("ws://[::1]:7334", Domain("::1", 7334), True),
        ("wss://xn--bcher-kva.example", Domain("xn--bcher-kva.example"), True),
        ("wss://bücher.example", Domain("xn--bcher-kva.example"), True),
        ("ws://grasp.example:443", GRASP, False),
        ("wss://grasp.example:80", GRASP, False),
        ("wss://grasp.example", ODD_PORT, False),
        ("wss://grasp.example:7335", ODD_PORT, False),
        ("grasp.example", GRASP, False),
        ("https://grasp.example", GRASP, False),
        ("wss://grasp.example/path", GRASP, False),
        ("wss://grasp.example/?a", GRASP, False),
        ("wss://grasp.example.evil.org", GRASP, False),
        ("wss://evil.org/grasp.example", GRASP, False),
        ("wss://evil.org?wss://grasp.example", GRASP, False),
        ("wss://evil.org#wss://grasp.example", GRASP, False),
        ("wss://grasp.example@evil.org", GRASP, False),
        ("wss://evil.org\\@grasp.example", GRASP, False),
        ("wss://notgrasp.example", GRASP, False),
        ("wss://sub.grasp.example", GRASP, False),
        ("wss://grasp.exam\tple", GRASP, False),
        ("", GRASP, False),
    ],
)
def test_relay_values_that_name_us(text: str, domain: Domain, ours: bool) -> None:
    assert is_service_relay(text, domain) is ours


NPUB = "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6"


@pytest.mark.parametrize(
    ("text", "identifier", "ours"),
    [
        (f"https://grasp.example/{NPUB}/proj.git", "proj", True),
        (f"http://grasp.example/{NPUB}/proj.git", "proj", True),
        (f"https://grasp.example:443/{NPUB}/proj.git/", "proj", True),
        (f"HTTPS://GRASP.EXAMPLE./{NPUB}/proj.git", "proj", True),
        (f"http://grasp.example:80/{NPUB}/proj.git", "proj", True),
        (f"https://grasp.example/{NPUB}/my%20proj.git", "my proj", True),
        (f"https://grasp.example/{NPUB}/my proj.git", "my proj", True),
        (f"https://grasp.example/{NPUB}/%F0%9F%9A%80.git", "🚀", True),
        (f"https://grasp.example/{NPUB}/🚀.git", "🚀", True),
        (f"https://grasp.example/{NPUB}/a%25b.git", "a%b", True),
        (f"https://grasp.example/{NPUB}/what%3F%23.git", "what?#", True),
        (f"https://grasp.example/{NPUB}/proj.git.git", "proj.git", True),
        (f"https://grasp.example/{NPUB}/Proj.git", "proj", False),
        (f"https://grasp.example/{NPUB}/proj", "proj", False),
        (f"https://grasp.example/{NPUB}/other.git", "proj", False),
        (f"https://grasp.example/{NPUB}/my+proj.git", "my proj", False),
        (f"https://grasp.example/{NPUB}/a%2520b.git", "a b", False),
        (f"https://grasp.example/{NPUB}/proj.git?x", "proj", False),
        (f"https://grasp.example/{NPUB}/proj.git#x", "proj", False),
        (f"https://grasp.example/x/{NPUB}/proj.git", "proj", False),
        (f"https://grasp.example/{NPUB}%2Fproj.git", "proj", False),
        (f"https://grasp.example/{NPUB}/a/b.git", "b", False),
        (f"https://grasp.example/{NPUB.upper()}/proj.git", "proj", False),
        ("https://grasp.example/proj.git", "proj", False),
        (f"https://grasp.example:8443/{NPUB}/proj.git", "proj", False),
        (f"http://grasp.example:443/{NPUB}/proj.git", "proj", False),
        (f"https://grasp.example.evil.org/{NPUB}/proj.git", "proj", False),
        (f"https://evil.org/grasp.example/{NPUB}/proj.git", "proj", False),
        (f"https://grasp.example@evil.org/{NPUB}/proj.git", "proj", False),
        (f"https://evil.org/?https://grasp.example/{NPUB}/proj.git", "proj", False),
        (f"https://evil.org https://grasp.example/{NPUB}/proj.git", "proj", False),
        (f"wss://grasp.example/{NPUB}/proj.git", "proj", False),
        (f"ssh://grasp.example/{NPUB}/proj.git", "proj", False),
        (f"grasp.example/{NPUB}/proj.git", "proj", False),
        ("", "proj", False),
    ],
)
def test_clone_values_that_name_us(text: str, identifier: str, ours: bool) -> None:
    assert is_service_clone(text, GRASP, NPUB, identifier) is ours
