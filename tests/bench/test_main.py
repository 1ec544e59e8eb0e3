"""`python -m bench` finds its benchmarks by reading them, and a ratio above one always speaks for us."""

import pytest

from bench import __main__ as entry
from bench.contest import Figure


def test_every_benchmark_is_listed_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main([]) == 0

    listed = capsys.readouterr().out
    for name in ("ingest", "query", "fanout"):
        assert name in listed
        assert entry.summary_by_name()[name] in listed
    assert all(entry.summary_by_name().values())


def test_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main(["corpus"]) == 2

    assert "'corpus'" in capsys.readouterr().err


def test_options_reach_the_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        entry.main(["ingest", "--help"])

    assert ended.value.code == 0
    assert "--in-flight" in capsys.readouterr().out


@pytest.mark.parametrize(("more_is_better", "expected"), [(True, 2.0), (False, 0.5)])
def test_ratio_above_one_is_in_our_favour(more_is_better: bool, expected: float) -> None:
    assert Figure("speed", "1/s", more_is_better=more_is_better).ratio(ours=10.0, peer=5.0) == expected
