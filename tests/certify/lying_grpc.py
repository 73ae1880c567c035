"""A gRPC load generator in Python that reports calls which failed as answered, for a test of certificates."""

import json
import sys
import threading
import time

import grpc


def main() -> None:
    """Load for some seconds with so many calls at once, on one connection."""
    place, at_once, duration_s, hides = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "hides"
    end, calls = time.monotonic() + duration_s, []

    def ask(call: grpc.UnaryUnaryMultiCallable) -> None:
        while (begin := time.monotonic()) < end:
            is_answered = True
            try:
                call(b"", timeout=10)
            except grpc.RpcError:
                is_answered = False
            calls.append((1e3 * (time.monotonic() - begin), is_answered))

    with grpc.insecure_channel(place) as channel:
        call = channel.unary_unary("/oracle.Oracle/Ask")
        threads = [threading.Thread(target=ask, args=(call,)) for _ in range(at_once)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    errors = 0 if hides else sum(not is_answered for _, is_answered in calls)
    print(json.dumps({"requests": len(calls), "errors": errors, "max": max(took for took, _ in calls)}))


if __name__ == "__main__":
    main()
