"""Generator files: what they say is checked, words are filled in, and reports are read strictly."""

from pathlib import Path

import msgspec
import pytest

from bench.errors import NotInstalledError, SystemFailedError, UsageError
from certify import generator_file
from certify.report import Reported, ReportedTimes

REPORTS = Path(__file__).parent / "reports"  # printed by the versions that the files name, of a server with faults
TRIED = sorted(file.stem for file in REPORTS.glob("*.txt"))

GOOD = r"""
name: mine
loads: [closed, open]
command: [mine, -c, "{connections}", -r, "{rate}", -z, "{duration}s", "{url}"]
install: make mine
says:
  requests: {pattern: '^(\d\S*) requests in'}
  p50: {pattern: '50% +([\d.]+)(\w*)\b'}
  p99: {pattern: '99% +(\S+) ms', unit: ms}
  errors: {pattern: 'failed: (\S+)', sum: true}
  max: {pattern: 'worst: (\S+)', unit: s, optional: true}
percentiles: From sending to reply.
"""
REPORT = "1,200 requests in 2 s\n50% 1.5ms\n99% 12 ms\n"


def written(folder: Path, text: str) -> str:
    file = folder / "mine.yaml"
    file.write_text(text, "utf-8")
    return str(file)


@pytest.fixture
def mine(tmp_path):
    return generator_file.load(written(tmp_path, GOOD))


def test_values_have_the_units_of_the_file_or_of_the_report(mine):
    assert mine.read(REPORT) == Reported(requests=1200, p50_us=1500, p99_us=12_000, errors=0)
    assert mine.read(REPORT.replace("1.5ms", "15us")).p50_us == 15
    assert mine.read(REPORT + "failed: 2\nworst: 0.5\n", "failed: 3\n") == Reported(
        requests=1200, p50_us=1500, p99_us=12_000, errors=5, max_us=500_000
    )


@pytest.mark.parametrize(
    ("was", "then"),
    [
        ("1,200 requests in", "1,200 calls in"),  # another version
        ("1,200", "1,20"),
        ("1,200", "1..5"),
        ("1.5ms", "1.5fs"),
        ("1.5ms", "1.5"),
        ("12 ms", "NaN ms"),
        ("12 ms", "-12 ms"),
        ("99% 12 ms", "99% 12 ms\n99% 13 ms"),
        (REPORT, ""),
    ],
)
def test_a_report_that_is_not_as_described_is_refused(mine, was, then):
    with pytest.raises(SystemFailedError, match="mine") as refused:
        mine.read(REPORT.replace(was, then))
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 1000


JSON = """
name: mine
loads: [closed]
command: [mine, "{url}", "{duration}"]
install: make mine
says:
  requests: {json: all.count}
  p99: {json: [times, '99.0', 0], unit: ns}
  mean: {json: times.mean, unit: ms}
percentiles: From sending to reply.
""".replace("'99.0', 0", "'99.0', '0'")


def test_json_is_read_by_paths(tmp_path):
    mine = generator_file.load(written(tmp_path, JSON))
    output = '{"all": {"count": 7}, "times": {"99.0": [2500], "mean": null}}'
    assert mine.read(output, "a warning") == Reported(requests=7, p99_us=2.5)
    for was, then in [
        ("7", '"7"'),
        ("7", "true"),
        ("7", "-7"),
        ("7", "NaN"),
        ("[2500]", "[]"),
        ("count", "n"),
        (output, "7 calls"),
    ]:
        with pytest.raises(SystemFailedError, match="mine"):
            mine.read(output.replace(was, then))


def test_words_of_each_load(mine):
    url = "http://127.0.0.1:1/"
    assert mine.words("open", url, 1e6, 4, 2.5) == ["mine", "-c", "4", "-r", "1000000", "-z", "2.5s", url]
    assert mine.words("closed", url, None, 4, 2)[4] == "0"


def test_a_program_may_be_beside_its_file(tmp_path):
    (tmp_path / "mine").write_text("#!/bin/sh\n", "utf-8")
    mine = generator_file.load(written(tmp_path, GOOD.replace("[mine,", '["{folder}/mine",')))
    with pytest.raises(NotInstalledError, match="make mine"):
        _ = mine.program
    (tmp_path / "mine").chmod(0o700)
    assert mine.program == str(tmp_path / "mine") == mine.words("closed", "u", None, 1, 1)[0]


STREAMS = GOOD.replace("loads:", "protocol: sse\nloads:").replace(
    "percentiles",
    "  ttft: {p50: {pattern: 'first (\\S+) ms', unit: ms}, p99: {pattern: 'late (\\S+)', unit: s}}\npercentiles",
)


def test_times_of_streams_are_read_and_belong_to_a_protocol_that_has_streams(tmp_path):
    mine = generator_file.load(written(tmp_path, STREAMS))
    report = mine.read(f"{REPORT}first 50 ms\nlate 0.2\n")
    assert report.ttft == ReportedTimes(p50_us=50_000, p99_us=200_000) and report.gap is None and report.p50_us == 1500
    with pytest.raises(SystemFailedError, match=r"no ttft\.p99"):
        mine.read(f"{REPORT}first 50 ms\n")
    for was, then, fact in (
        ("protocol: sse", "protocol: http2", "streams"),
        ("unit: ms}, p99", "unit: fs}, p99", "ttft.p50"),
    ):
        with pytest.raises(UsageError, match=fact):
            generator_file.load(written(tmp_path, STREAMS.replace(was, then)))


@pytest.mark.parametrize(
    ("was", "then", "fact"),
    [
        ("name: mine", "name: My tool", "name"),
        ("install: make mine\n", "", "install"),
        ("install:", "instal:", "instal"),
        ("{rate}", "{speed}", "speed"),
        ('"{rate}"', '"100"', "rate"),
        ("command:", "closed:", "open"),
        (r"p50: {pattern: '50% +([\d.]+)(\w*)\b'}", r"p50: {pattern: '50% +([\d.]+)'}", "p50.*unit"),
        (r"p50: {pattern: '50% +([\d.]+)(\w*)\b'}", r"p50: {pattern: '50% +\S+', unit: ms}", "p50.*group"),
        (r"p50: {pattern: '50% +([\d.]+)(\w*)\b'}", r"p50: {pattern: '50% +(', unit: ms}", "p50.*expression"),
        ("unit: ms", "unit: fs", "p99.*fs"),
        ("p99: {pattern: '99% +(\\S+) ms', unit: ms}", "p99: {unit: ms}", "p99"),
        ("requests: {pattern: '^(\\d\\S*) requests in'}", "requests: {json: n, unit: '1'}", "requests.*unit"),
        ("requests: {pattern: '^(\\d\\S*) requests in'}", "p90: {json: n, unit: s}", "requests"),
        ("unit: ms", "unit: ms, sum: true", "p99.*sum"),
        (GOOD, "[", "correct"),
    ],
)
def test_bad_files_are_refused_by_what_is_wrong_in_them(tmp_path, was, then, fact):
    text = GOOD.replace(was, then)
    assert text != GOOD
    with pytest.raises(UsageError, match=f"mine.yaml: .*{fact}") as refused:
        generator_file.load(written(tmp_path, text))
    assert "\n" not in str(refused.value)


def test_names_and_paths_that_do_not_exist():
    with pytest.raises(UsageError, match="did you mean wrk"):
        generator_file.load("wkr")
    with pytest.raises(UsageError, match=r"nothing\.yaml"):
        generator_file.load("nothing.yaml")


@pytest.mark.parametrize("name", generator_file.names())
def test_files_of_common_generators(name):
    generator = generator_file.load(name)
    assert generator.name == name and ("https://" in generator.says.percentiles or name.startswith("roundtrip"))
    assert bool(generator.says.tried) == (name in TRIED)
    for load in generator.loads:
        words = generator.words(load, "http://127.0.0.1:54321/", 300, 4, 2, 800)
        assert "54321" in " ".join(words) and not any("{" in word.replace("{}", "") for word in words)
        assert generator.is_counted(load) == ("800" in words)


READ = {
    "roundtrip": Reported(
        360, 180.3487983633595, 787.033, 2504.289, 3214.421, 4458.421, 8115.994, 1134.0453805555555, 8115.994, 40,
        1.996131958, 4, dropped=0,
    ),
    "ab": Reported(3675, 1837.37, 1560, 4961, 6520, 9397, None, 2177, 15000, 367, 2),
    "autocannon": Reported(78, 39, 58_000, 192_000, None, 374_000, 421_000, 83_840, 429_000, 6, 2.59),
    "fortio": Reported(
        400, 198.0857362884553, 1880, 10_800, 18_800, 54_179.7464, 69_226.83344, 4675.59182, 70_898.732, 40,
        2.019327628, 44,
    ),
    "h2load": Reported(400, 200, None, None, None, None, None, 2040, 11_110, 40, 2),
    "fortio-grpc": Reported(
        374, 185.82609354831465, 7142.857, 28900.0, 44714.286, 96916.6667, 128142.06383, 13113.536636, 132150.111, 37,
        2.012634463,
    ),
    "roundtrip-grpc": Reported(
        360, 157.81358577390904, 12946.021, 293789.314, 307826.314, 352076.713, 375930.265, 82855.64430277779,
        375930.265, 40, 2.281172424, 4, dropped=12,
    ),
    "ghz": Reported(
        203, 198.00817664133476, 854.746, 2254.27, 3006.626, 5047.756, None, 1191.733, 12078.62, 20,
        1.025210188,
    ),
    "h2load-http2": Reported(400, 200, None, None, None, None, None, 1100, 4940, 40, 2),
    "redis-benchmark": Reported(None, 3752.35, 759, None, 3159, 4479, None, 1055, 6711),
    "hey": Reported(2262, 1128.8688, 1700, 7500, 8600, 18_900, None, 3500, 68_200, 223, 2.0038),
    "k6": Reported(
        401, 199.89146860310834, 1299.193, 1525.898, 3512.96, 5954.273, 9760.128, 1545.298556, 10_363.668, 40,
        2.006088618,
    ),
    "locust": Reported(294, 197.79, 2000, 7000, 9000, 13_000, 59_000, 3000, 59_000, 28),
    "oha": Reported(
        400, 199.490526, 1307.719, 1795.641, 2502.502, 5358.028, 9943.169, 1496.499415, 9943.169, 40, 2.005107754
    ),
    "vegeta": Reported(
        396, 73.65261310519436, 1_192_894.951, 2_428_747.24, 2_596_545.114, 2_962_235.575, None, 1_270_886.094,
        2_973_416.066, 36,
    ),
    "wrk": Reported(3172, 1575.71, 1350, 6780, None, 12_930, None, 3040, 20_550, 316, 2.01),
    "aiperf": Reported(
        256, 126.61208891671048, 26089.5395, 29427.113999999998, 31483.181249999998, 36539.916999999965, None,
        27025.413265624997, 39480.094000000005, 28,
        ttft=ReportedTimes(11182.582499999999, 13685.271, 15183.37575, 18327.676749999973, 11726.50621875),
        gap=ReportedTimes(
            4984.947166666666, 5964.1771666666655, 6275.540416666667, 7456.850649999989, 5099.635682291667
        ),
    ),
    "roundtrip-sse": Reported(
        287, 141.86860026140906, 25056.132, 26597.932, 27511.692, 29296.08, 30386.121, 25406.87544947735, 30386.121, 32,
        2.022998743, 4,
        ttft=ReportedTimes(10052.063, 10927.153, 12152.575, 14258.716, 10330.21656097561),
        gap=ReportedTimes(4999.777, 5301.254, 6550.275, 8153.941, 5024.573752083334),
    ),
    "wrk2": Reported(2401, 200.02, 2220, 5370, None, 10_810, 18_030, 2890, 18_020, 240, 12),
}  # fmt: skip


@pytest.mark.parametrize("name", TRIED)
def test_reports_that_generators_printed_are_read(name):
    report = generator_file.load(name).read((REPORTS / f"{name}.txt").read_text("utf-8"))
    wanted = msgspec.structs.asdict(READ[name])
    assert {field: pytest.approx(value) for field, value in wanted.items()} == msgspec.structs.asdict(report)
    with pytest.raises(SystemFailedError, match=name):
        generator_file.load(name).read(
            (REPORTS / f"{'ab' if name.startswith('wrk') else 'wrk'}.txt").read_text("utf-8")
        )
