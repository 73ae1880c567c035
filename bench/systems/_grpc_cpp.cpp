// An echo server and a closed load with gRPC's C++ library: unary calls of _grpc_echo.proto; roles as in _native.hpp.
//
//   server MAX_MESSAGE_BYTES PLACE API  says "ready PORT"; PLACE is host:port or unix:path, the port 0 for any; API is
//                                       callback or sync
//   client ... MAX_MESSAGE_BYTES PLACE
//
// As in grpc_sync.py: each caller has a channel of its own, no proxy, no port that another server shares.

#include <grpcpp/grpcpp.h>
#include "_grpc_echo.grpc.pb.h"
#include "_native.hpp"

namespace {
using namespace native;

class Echo : public roundtrip::Echo::Service {
public:
    grpc::Status Call(grpc::ServerContext*, const roundtrip::Payload* request, roundtrip::Payload* reply) override {
        ++answered;
        reply->set_data(request->data());
        return grpc::Status::OK;
    }
};

class CallbackEcho : public roundtrip::Echo::CallbackService {
public:
    grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context, const roundtrip::Payload* request,
                                   roundtrip::Payload* reply) override {
        ++answered;
        reply->set_data(request->data());
        grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }
};

grpc::Service* echo_by(const std::string& api) {
    if (api == "sync") return new Echo;
    return new CallbackEcho;
}

void serve(const Words& words) {
    grpc::Service* const echo = echo_by(words.at(3));
    const int most_bytes = std::stoi(words.at(1));
    const std::string& place = words.at(2);
    int port = 0;
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(most_bytes).SetMaxSendMessageSize(most_bytes);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort(place, grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(echo);
    static std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (!server) throw std::runtime_error("cannot listen at " + place);
    be_counted(std::to_string(port));
}

class Connection {
public:
    Connection(int most_bytes, const std::string& place) {
        grpc::ChannelArguments arguments;
        arguments.SetMaxReceiveMessageSize(most_bytes);
        arguments.SetMaxSendMessageSize(most_bytes);
        arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
        arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
        stub_ = roundtrip::Echo::NewStub(grpc::CreateCustomChannel(place, grpc::InsecureChannelCredentials(), arguments));
    }

    Reply call(const Bytes& payload) {
        grpc::ClientContext context;
        roundtrip::Payload request;
        request.set_data(payload.data(), payload.size());
        const grpc::Status status = stub_->Call(&context, request, &reply_);
        if (!status.ok())
            throw std::runtime_error("the call failed: status " + std::to_string(status.error_code()) + ", " +
                                     status.error_message());
        return {reply_.data().data(), reply_.data().size()};
    }
private:
    std::unique_ptr<roundtrip::Echo::Stub> stub_;
    roundtrip::Payload reply_;
};

void make_calls(const Words& words) {
    call<Connection>(words, [&](size_t) {
        return std::make_unique<Connection>(std::stoi(words.at(5)), words.at(6));
    });
}
}  // namespace

int main(int argc, char** argv) {
    return run(argc, argv, serve, make_calls);
}
