"""Reports that wrk 4.1.0 and h2load 1.52.0 printed here, with four connections, of servers well and ill."""

WRK = """\
Running 1s test @ http://127.0.0.1:39755/x
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   127.12us  280.09us   5.45ms   96.39%
    Req/Sec    37.69k     7.13k   45.36k    63.64%
  Latency Distribution
     50%   75.00us
     75%   90.00us
     90%  161.00us
     99%    1.41ms
  41185 requests in 1.10s, 1.69MB read
Requests/sec:  37433.56
Transfer/sec:      1.54MB
"""

WRK_STATUS = """\
Running 1s test @ http://127.0.0.1:42979/x
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   367.76us  729.83us   8.25ms   88.22%
    Req/Sec    29.59k    12.41k   44.53k    50.00%
  Latency Distribution
     50%   80.00us
     75%  136.00us
     90%    1.36ms
     99%    3.12ms
  29463 requests in 1.00s, 1.21MB read
  Non-2xx or 3xx responses: 9819
Requests/sec:  29433.98
Transfer/sec:      1.21MB
"""

WRK_SOCKET = WRK.replace("Requests/sec", "  Socket errors: connect 0, read 652, write 0, timeout 0\nRequests/sec")

WRK_SLOW = """\
Running 3s test @ http://127.0.0.1:42625/x
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.20s     2.13ms   1.20s   100.00%
    Req/Sec     3.00      0.00     3.00    100.00%
  Latency Distribution
     50%    1.20s{0}
     75%    1.20s{0}
     90%    1.20s{0}
     99%    1.20s{0}
  8 requests in 3.01s, 344.00B read
Requests/sec:      2.66
Transfer/sec:     114.24B
""".format(" ")

PROGRESS = """\
starting benchmark...
spawning thread #0: 4 total client(s). Timing-based test with 0s of warm-up time and \
1s of main duration for measurements.
Warm-up started for thread #0.
progress: 25% of clients started
progress: 50% of clients started
progress: 75% of clients started
progress: 100% of clients started
Warm-up phase is over for thread #0.
Main benchmark duration is started for thread #0.
Application protocol: http/1.1
Main benchmark duration is over for thread #0. Stopping all clients.
Stopped all clients for thread #0

"""

H2LOAD = (
    PROGRESS
    + """\
finished in 1.00s, 33309.00 req/s, 1.37MB/s
requests: 33309 total, 33313 started, 33309 done, 33309 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 33309 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 1.37MB (1432287) total, 487.95KB (499665) headers (space savings 0.00%), 162.65KB (166555) data
                     min         max         mean         sd        +/- sd
time for request:       21us      5.31ms       119us       204us    98.72%
time for connect:       33us        63us        51us        12us    75.00%
time to 1st byte:      686us      1.15ms       862us       220us    75.00%
req/s           :    8200.38     8587.11     8326.11      180.30    75.00%
"""
)

H2LOAD_STATUS = (
    PROGRESS
    + """\
finished in 1.00s, 22742.00 req/s, 954.99KB/s
requests: 22742 total, 22746 started, 22742 done, 15163 succeeded, 7579 failed, 0 errored, 0 timeout
status codes: 15163 2xx, 0 3xx, 7579 4xx, 0 5xx
traffic: 954.99KB (977906) total, 333.16KB (341160) headers (space savings 0.00%), 111.05KB (113720) data
                     min         max         mean         sd        +/- sd
time for request:       20us     12.12ms       175us       438us    97.74%
time for connect:        7us        35us        22us        11us    50.00%
time to 1st byte:      315us       759us       488us       212us    75.00%
req/s           :    5553.19     5998.30     5684.76      212.14    75.00%
"""
)

H2LOAD_MOVED = H2LOAD.replace("33309 2xx, 0 3xx", "0 2xx, 33309 3xx")

H2LOAD_ENDED = (
    PROGRESS
    + """\
finished in 1.01s, 200.00 req/s, 8.40KB/s
requests: 200 total, 204 started, 200 done, 200 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 200 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 8.40KB (8600) total, 2.93KB (3000) headers (space savings 0.00%), 1000B (1000) data
                     min         max         mean         sd        +/- sd
time for request:       36us      3.39ms       213us       428us    97.00%
time for connect:        6us        32us        21us        11us    75.00%
time to 1st byte:     2.51ms      3.41ms      2.89ms       380us    50.00%
req/s           :    4238.67     5022.34     4626.71      426.60   100.00%
"""
)

H2LOAD_SLOW = (
    PROGRESS
    + """\
finished in 3.00s, 2.67 req/s, 114B/s
requests: 8 total, 12 started, 8 done, 8 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 8 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 344B (344) total, 120B (120) headers (space savings 0.00%), 40B (40) data
                     min         max         mean         sd        +/- sd
time for request:      1.20s       1.22s       1.21s      6.80ms    75.00%
time for connect:        5us        32us        21us        11us    75.00%
time to 1st byte:      1.20s       1.22s       1.21s      5.93ms    75.00%
req/s           :       0.67        0.67        0.67        0.00    50.00%
"""
)
