// What the native programs of several systems share: lines of text with the process that started them, and a closed load.
//
// A program is started in one of two roles, and ends when its standard input does:
//
//   server ...
//       says "ready ..."; answers a line "count" with the number of requests answered so far.
//   client CALLERS MOST_CALLS PAYLOADS PAYLOAD_BYTES ...
//       reads the payloads, makes one verified call with each caller, says "first NS"; reads "AT_NS UNTIL_NS"
//       (CLOCK_MONOTONIC), makes calls, says "done N..." and writes for each caller N send and N receive times (int64).
//
// Both say "error TEXT" instead when they cannot go on. What follows in the words is the system's own.

#pragma once

#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace native {
using Bytes = std::vector<unsigned char>;
using Words = std::vector<std::string>;
const int64_t EARLY_NS = 150000;  // wake up so long before an instant, and spin until it

// A reply as the library holds it, until the next call.
struct Reply {
    const void* data;
    size_t size;
};

inline void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

[[noreturn]] inline void fail(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    say("error " + text);
    _exit(1);
}

// Runs work in a thread: the main thread shall see the end of the input at any time.
inline std::thread begin(std::function<void()> work) {
    return std::thread([work] {
        try {
            work();
        } catch (const std::exception& error) {
            fail(error.what());
        }
    });
}

inline std::string read_line() {
    char line[80];
    if (!std::fgets(line, sizeof line, stdin)) _exit(0);
    return line;
}

inline std::atomic<long long> answered{0};  // requests

// Says that the server is ready, and its own words behind; answers questions until the input ends.
[[noreturn]] inline void be_counted(const std::string& words = "") {
    say("ready " + words);
    for (;;) {
        read_line();
        say(std::to_string(answered.load()));
    }
}

inline int64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

inline void wait_until(int64_t instant_ns) {
    const int64_t early = instant_ns - EARLY_NS;
    const timespec until{time_t(early / 1000000000), long(early % 1000000000)};
    if (early > now_ns()) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    while (now_ns() < instant_ns) continue;
}

inline void verify(const Bytes& payload, const Reply& reply, size_t number) {
    if (reply.size != payload.size() || std::memcmp(reply.data, payload.data(), reply.size))
        throw std::runtime_error("request " + std::to_string(number) + " was answered with other bytes (" +
                                 std::to_string(reply.size) + "): the server does not echo");
}

// One connection, whose `Reply call(const Bytes&)` is what is timed, and the times of its calls.
template <class Connection>
struct Caller {
    Caller(std::unique_ptr<Connection> with, size_t most_calls)
        : connection(std::move(with)), sent(most_calls), received(most_calls) {}

    void closed(const std::vector<Bytes>& payloads, int64_t until_ns) {
        for (calls = 0; calls < sent.size();) {
            const Bytes& payload = payloads[calls % payloads.size()];
            sent[calls] = now_ns();
            const Reply reply = connection->call(payload);
            received[calls] = now_ns();
            verify(payload, reply, calls);
            if (received[calls++] >= until_ns) break;
        }
    }

    std::unique_ptr<Connection> connection;
    std::vector<int64_t> sent, received;
    size_t calls = 0;
};

template <class Connection>
using Callers = std::vector<std::unique_ptr<Caller<Connection>>>;

inline std::vector<Bytes> read_payloads(size_t count, size_t size) {
    std::vector<Bytes> payloads(count, Bytes(size));
    for (Bytes& payload : payloads)
        if (std::fread(payload.data(), 1, size, stdin) != size) _exit(0);
    return payloads;
}

template <class Connection>
void first_calls(const Callers<Connection>& callers, const std::vector<Bytes>& payloads) {
    int64_t first_ns = 0;
    for (const auto& caller : callers) {
        const int64_t began = now_ns();
        const Reply reply = caller->connection->call(payloads[0]);
        if (!first_ns) first_ns = now_ns() - began;
        verify(payloads[0], reply, 0);
    }
    say("first " + std::to_string(first_ns));
}

template <class Connection>
void report(const Callers<Connection>& callers) {
    std::printf("done");
    for (const auto& caller : callers) std::printf(" %zu", caller->calls);
    std::printf("\n");
    for (const auto& caller : callers) {
        std::fwrite(caller->sent.data(), sizeof(int64_t), caller->calls, stdout);
        std::fwrite(caller->received.data(), sizeof(int64_t), caller->calls, stdout);
    }
    std::fflush(stdout);
}

// The threads stay, so that their context switches can be read when the window is over.
template <class Connection>
void load(const Callers<Connection>& callers, const std::vector<Bytes>& payloads, int64_t at_ns, int64_t until_ns) {
    static std::atomic<size_t> running;
    running = callers.size();
    for (const auto& caller : callers)
        begin([&, at_ns, until_ns] {
            wait_until(at_ns);
            caller->closed(payloads, until_ns);
            if (--running == 0) report(callers);
            for (;;) pause();
        }).detach();
}

// The role client: `connect(number)` returns a caller's new connection, which may connect with its first call.
template <class Connection>
[[noreturn]] void call(const Words& words, std::function<std::unique_ptr<Connection>(size_t)> connect) {
    Callers<Connection> callers;
    for (size_t number = 0; number < std::stoul(words.at(1)); ++number)
        callers.push_back(std::make_unique<Caller<Connection>>(connect(number), std::stoul(words.at(2))));
    const std::vector<Bytes> payloads = read_payloads(std::stoul(words.at(3)), std::stoul(words.at(4)));
    begin([&] { first_calls(callers, payloads); }).detach();
    for (;;) {
        long long at_ns = 0, until_ns = 0;
        if (std::sscanf(read_line().c_str(), "%lld %lld", &at_ns, &until_ns) != 2) fail("no such order");
        load(callers, payloads, at_ns, until_ns);
    }
}

// Runs the role that the words name: `serve(words)` or `make_calls(words)`, which do not return.
inline int run(int argc, char** argv, void (*serve)(const Words&), void (*make_calls)(const Words&)) {
    signal(SIGPIPE, SIG_IGN);
    const Words words(argv + 1, argv + argc);
    try {
        (words.at(0) == "server" ? serve : make_calls)(words);
    } catch (const std::exception& error) {
        fail(error.what());
    }
    return 1;
}
}  // namespace native
