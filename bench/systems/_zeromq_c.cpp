// An echo server and a closed load with libzmq: one REP socket, a REQ socket for each caller; see _native.hpp for the roles.
//
//   server ENDPOINT          says "ready ENDPOINT", with the port that the system picked
//   client ... ENDPOINT
//
// As in zeromq.py: one context with one I/O thread for a process, the library's own high-water mark.

#include <zmq.h>
#include "_native.hpp"

namespace {
using namespace native;

std::runtime_error error_of(const std::string& what) {
    return std::runtime_error(what + ": " + zmq_strerror(zmq_errno()));
}

void* make_socket(int kind, const std::string& endpoint) {
    static void* const context = zmq_ctx_new();
    void* const socket = zmq_socket(context, kind);
    if (!socket) throw error_of("cannot make a socket");
    const int has_version_6 = endpoint.find('[') != std::string::npos, linger = 0;
    zmq_setsockopt(socket, ZMQ_IPV6, &has_version_6, sizeof has_version_6);
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    return socket;
}

void receive(void* socket, zmq_msg_t* message) {
    while (zmq_msg_recv(message, socket, 0) < 0)
        if (zmq_errno() != EINTR) throw error_of("the call failed");
}

[[noreturn]] void answer_all(void* socket) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    for (;;) {
        receive(socket, &message);
        ++answered;
        if (zmq_msg_send(&message, socket, 0) < 0) throw error_of("the reply failed");
    }
}

void serve(const Words& words) {
    const std::string& endpoint = words.at(1);
    void* const socket = make_socket(ZMQ_REP, endpoint);
    if (zmq_bind(socket, endpoint.c_str())) throw error_of("cannot listen at " + endpoint);
    char bound[512];
    size_t size = sizeof bound;
    if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound, &size)) throw error_of("the endpoint is not known");
    begin([socket] { answer_all(socket); }).detach();
    be_counted(bound);
}

class Connection {
public:
    explicit Connection(const std::string& endpoint) : socket_(make_socket(ZMQ_REQ, endpoint)) {
        if (zmq_connect(socket_, endpoint.c_str())) throw error_of("cannot connect to " + endpoint);
        zmq_msg_init(&reply_);
    }

    Reply call(const Bytes& payload) {
        if (zmq_send(socket_, payload.data(), payload.size(), 0) < 0) throw error_of("the call failed");
        receive(socket_, &reply_);
        return {zmq_msg_data(&reply_), zmq_msg_size(&reply_)};
    }
private:
    void* socket_;
    zmq_msg_t reply_;
};

void make_calls(const Words& words) {
    call<Connection>(words, [&](size_t) { return std::make_unique<Connection>(words.at(5)); });
}
}  // namespace

int main(int argc, char** argv) {
    return run(argc, argv, serve, make_calls);
}
