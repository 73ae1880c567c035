// An echo server and a closed load over stream sockets, by system calls alone; see _native.hpp for the roles.
//
//   server LISTENING_FD
//   client ... CONNECTED_FD...     one for each caller
//
// A message is its length (4 bytes, big-endian) and that many bytes, as in sockets.py; the reply is the request.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <cerrno>
#include <system_error>
#include "_native.hpp"

namespace {
using namespace native;
const size_t PREFIX = 4, ONE_READ = 65536, MOST_BYTES = 256000000;

[[noreturn]] void fail_to(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void send_all(int connection, const unsigned char* data, size_t size) {
    for (size_t sent = 0; sent < size;) {
        const ssize_t some = send(connection, data + sent, size - sent, MSG_NOSIGNAL);
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) fail_to("the call failed");
        sent += size_t(some);
    }
}

// The bytes that have come and are not yet taken, from one connection.
class Incoming {
public:
    explicit Incoming(int connection) : connection_(connection), bytes_(ONE_READ) {}

    // Returns the first message with its length before it, receiving what is missing; size 0 when the peer has closed.
    Reply next() {
        size_t size = PREFIX;
        for (;;) {
            if (have() >= PREFIX) size = PREFIX + length();
            if (have() >= size) break;
            make_room(size);
            const ssize_t got = recv(connection_, bytes_.data() + end_, bytes_.size() - end_, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) fail_to("the call failed");
            if (got == 0 && have()) throw std::runtime_error("the connection was closed in the middle of a message");
            if (got == 0) return {nullptr, 0};
            end_ += size_t(got);
        }
        const Reply message{bytes_.data() + begin_, size};
        begin_ += size;
        return message;
    }
private:
    size_t have() const { return end_ - begin_; }

    size_t length() const {
        uint32_t length;
        std::memcpy(&length, bytes_.data() + begin_, PREFIX);
        if (ntohl(length) > MOST_BYTES)
            throw std::runtime_error("a message is larger than " + std::to_string(MOST_BYTES) +
                                     " bytes: the peer does not speak this protocol");
        return ntohl(length);
    }

    // Moves what is there to the beginning, and grows for a message of that size.
    void make_room(size_t size) {
        if (begin_ == end_) {
            begin_ = end_ = 0;
        } else if (begin_ + size > bytes_.size()) {
            std::memmove(bytes_.data(), bytes_.data() + begin_, have());
            end_ -= begin_;
            begin_ = 0;
        }
        if (size > bytes_.size()) bytes_.resize(size);
    }

    int connection_;
    size_t begin_ = 0, end_ = 0;
    Bytes bytes_;
};

// Serves one connection until its client leaves, or breaks the protocol.
void serve_connection(int connection) {
    try {
        Incoming requests(connection);
        for (Reply request = requests.next(); request.size; request = requests.next()) {
            ++answered;
            send_all(connection, static_cast<const unsigned char*>(request.data), request.size);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "a connection was ended: %s\n", error.what());
    }
    close(connection);
}

void accept_all(int listener) {
    for (;;) {
        const int connection = accept(listener, nullptr, nullptr);  // it inherits TCP_NODELAY
        if (connection < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (connection < 0) fail_to("accept");
        std::thread(serve_connection, connection).detach();
    }
}

void serve(const Words& words) {
    const int listener = std::stoi(words.at(1));
    begin([listener] { accept_all(listener); }).detach();
    be_counted();
}

class Connection {
public:
    explicit Connection(int connection) : connection_(connection), replies_(connection) {}

    Reply call(const Bytes& payload) {
        const uint32_t length = htonl(uint32_t(payload.size()));
        request_.resize(PREFIX + payload.size());
        std::memcpy(request_.data(), &length, PREFIX);
        std::memcpy(request_.data() + PREFIX, payload.data(), payload.size());
        send_all(connection_, request_.data(), request_.size());
        const Reply reply = replies_.next();
        if (!reply.size) throw std::runtime_error("the server closed the connection instead of answering");
        return {static_cast<const unsigned char*>(reply.data) + PREFIX, reply.size - PREFIX};
    }
private:
    int connection_;
    Bytes request_;
    Incoming replies_;
};

void make_calls(const Words& words) {
    call<Connection>(words, [&](size_t number) {
        return std::make_unique<Connection>(std::stoi(words.at(5 + number)));
    });
}
}  // namespace

int main(int argc, char** argv) {
    return run(argc, argv, serve, make_calls);
}
