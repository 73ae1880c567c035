// An echo server and a closed load with Xmlrpc-c: HTTP (Abyss, curl) or packet stream.
//
//   server PROTOCOL LISTENING_FD
//       says "ready"; answers a line "count" with the number of requests answered so far.
//   client PROTOCOL CALLERS MOST_CALLS PAYLOADS PAYLOAD_BYTES WHERE...
//       WHERE is one URL, or for pstream the connected descriptor of each caller. Reads the payloads, makes one
//       verified call with each caller, says "first NS"; reads "AT_NS UNTIL_NS" (CLOCK_MONOTONIC), makes calls,
//       says "done N..." and writes for each caller N send and N receive times (int64).
//
// Both say "error TEXT" instead when they cannot go on, and end when their standard input does.

#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>
#include <xmlrpc-c/client.hpp>
#include <xmlrpc-c/server_abyss.hpp>
#include <xmlrpc-c/server_pstream.hpp>

namespace {
using Bytes = std::vector<unsigned char>;
using Words = std::vector<std::string>;
const char* const METHOD = "echo";
const size_t MOST_XML_BYTES = size_t(1) << 30;  // the library's default of 512 KiB refuses larger payloads
const unsigned FOREVER_S = 1000000;
const int64_t EARLY_NS = 150000;  // wake up so long before an instant, and spin until it

void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

[[noreturn]] void fail(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    say("error " + text);
    _exit(1);
}

// Runs work in a thread: the main thread shall see the end of the input at any time.
std::thread begin(std::function<void()> work) {
    return std::thread([work] {
        try {
            work();
        } catch (const std::exception& error) {
            fail(error.what());
        }
    });
}

std::string read_line() {
    char line[80];
    if (!std::fgets(line, sizeof line, stdin)) _exit(0);
    return line;
}

std::atomic<long long> answered{0};

class Echo : public xmlrpc_c::method {
public:
    void execute(const xmlrpc_c::paramList& parameters, xmlrpc_c::value* result) override {
        *result = xmlrpc_c::value_bytestring(parameters.getBytestring(0));
        ++answered;
    }
};

void serve_connection(const xmlrpc_c::registry* registry, int connection) {
    try {
        using Server = xmlrpc_c::serverPstreamConn;
        Server(Server::constrOpt().registryP(registry).socketFd(connection)).run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "a connection was ended: %s\n", error.what());
    }
    close(connection);  // the library worked with a copy
}

void serve_packets(const xmlrpc_c::registry* registry, int listener) {
    for (;;) {
        int connection = accept(listener, nullptr, nullptr);
        if (connection < 0) throw std::system_error(errno, std::generic_category(), "accept");
        std::thread(serve_connection, registry, connection).detach();
    }
}

void serve_http(const xmlrpc_c::registry* registry, int listener) {
    xmlrpc_c::serverAbyss::constrOpt options;
    options.registryP(registry).socketFd(listener).serverOwnsSignals(false);
    options.maxConn(1000).maxConnBacklog(128).timeout(FOREVER_S);  // its own limits: 15 connections,
    options.keepaliveMaxConn(~0u).keepaliveTimeout(FOREVER_S);     // 30 calls on each, 15 s between two
    xmlrpc_c::serverAbyss(options).run();
}

void serve(const Words& words) {
    auto* registry = new xmlrpc_c::registry;
    registry->addMethod(METHOD, xmlrpc_c::methodPtr(new Echo));
    const auto answer = words.at(1) == "http" ? serve_http : serve_packets;
    begin([&] { answer(registry, std::stoi(words.at(2))); }).detach();
    say("ready");
    for (;;) {
        read_line();
        say(std::to_string(answered.load()));
    }
}

int64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

void wait_until(int64_t instant_ns) {
    const int64_t early = instant_ns - EARLY_NS;
    const timespec until{time_t(early / 1000000000), long(early % 1000000000)};
    if (early > now_ns()) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    while (now_ns() < instant_ns) continue;
}

// One connection and the times of its calls.
class Caller {
public:
    Caller(const std::string& protocol, const std::string& where, size_t most_calls)
        : sent(most_calls), received(most_calls) {
        if (protocol == "http") {
            transport_ = new xmlrpc_c::clientXmlTransport_curl;
            carriage_ = new xmlrpc_c::carriageParm_curl0(where);
        } else {
            using Stream = xmlrpc_c::clientXmlTransport_pstream;
            transport_ = new Stream(Stream::constrOpt().fd(std::stoi(where)));
            carriage_ = new xmlrpc_c::carriageParm_pstream;
        }
        client_ = new xmlrpc_c::client_xml(transport_);
    }

    Bytes call(const Bytes& payload) {
        xmlrpc_c::paramList parameters(1);
        parameters.add(xmlrpc_c::value_bytestring(payload));
        xmlrpc_c::rpcPtr rpc(METHOD, parameters);
        rpc->call(client_, carriage_);
        return xmlrpc_c::value_bytestring(rpc->getResult()).vectorUcharValue();
    }

    void closed(const std::vector<Bytes>& payloads, int64_t until_ns) {
        for (calls = 0; calls < sent.size();) {
            const Bytes& payload = payloads[calls % payloads.size()];
            sent[calls] = now_ns();
            const Bytes reply = call(payload);
            received[calls] = now_ns();
            verify(payload, reply, calls);
            if (received[calls++] >= until_ns) break;
        }
    }

    static void verify(const Bytes& payload, const Bytes& reply, size_t number) {
        if (reply != payload)
            throw std::runtime_error("request " + std::to_string(number) + " was answered with other bytes (" +
                                     std::to_string(reply.size()) + "): the server does not echo");
    }

    std::vector<int64_t> sent, received;
    size_t calls = 0;
private:
    xmlrpc_c::clientXmlTransport* transport_;
    xmlrpc_c::carriageParm* carriage_;
    xmlrpc_c::client_xml* client_;
};

using Callers = std::vector<std::unique_ptr<Caller>>;

std::vector<Bytes> read_payloads(size_t count, size_t size) {
    std::vector<Bytes> payloads(count, Bytes(size));
    for (Bytes& payload : payloads)
        if (std::fread(payload.data(), 1, size, stdin) != size) _exit(0);
    return payloads;
}

void first_calls(const Callers& callers, const std::vector<Bytes>& payloads) {
    int64_t first_ns = 0;
    for (const auto& caller : callers) {
        const int64_t began = now_ns();
        const Bytes reply = caller->call(payloads[0]);
        if (!first_ns) first_ns = now_ns() - began;
        Caller::verify(payloads[0], reply, 0);
    }
    say("first " + std::to_string(first_ns));
}

void report(const Callers& callers) {
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
void load(const Callers& callers, const std::vector<Bytes>& payloads, int64_t at_ns, int64_t until_ns) {
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

void call(const Words& words) {
    Callers callers;
    for (size_t number = 0; number < std::stoul(words.at(2)); ++number) {
        const std::string& where = words.at(words.at(1) == "http" ? 6 : 6 + number);
        callers.push_back(std::make_unique<Caller>(words.at(1), where, std::stoul(words.at(3))));
    }
    const std::vector<Bytes> payloads = read_payloads(std::stoul(words.at(4)), std::stoul(words.at(5)));
    begin([&] { first_calls(callers, payloads); }).detach();
    for (;;) {
        long long at_ns = 0, until_ns = 0;
        if (std::sscanf(read_line().c_str(), "%lld %lld", &at_ns, &until_ns) != 2) fail("no such order");
        load(callers, payloads, at_ns, until_ns);
    }
}
}  // namespace

int main(int argc, char** argv) {
    signal(SIGPIPE, SIG_IGN);
    setenv("no_proxy", "*", 1);  // curl would send even calls to this machine through a proxy
    xmlrpc_limit_set(XMLRPC_XML_SIZE_LIMIT_ID, MOST_XML_BYTES);
    const Words words(argv + 1, argv + argc);
    try {
        if (words.at(0) == "server") serve(words);
        call(words);
    } catch (const std::exception& error) {
        fail(error.what());
    }
}
