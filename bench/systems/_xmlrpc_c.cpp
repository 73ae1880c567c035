// An echo server and a closed load with Xmlrpc-c: HTTP (Abyss, curl) or packet stream; see _native.hpp for the roles.
//
//   server PROTOCOL LISTENING_FD
//   client ... PROTOCOL WHERE...   WHERE is one URL, or for pstream the connected descriptor of each caller

#include <sys/socket.h>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <xmlrpc-c/client.hpp>
#include <xmlrpc-c/server_abyss.hpp>
#include <xmlrpc-c/server_pstream.hpp>
#include "_native.hpp"

namespace {
using namespace native;
const char* const METHOD = "echo";
const size_t MOST_XML_BYTES = size_t(1) << 30;  // the library's default of 512 KiB refuses larger payloads
const unsigned FOREVER_S = 1000000;

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
    const int listener = std::stoi(words.at(2));
    begin([=] { answer(registry, listener); }).detach();
    be_counted();
}

class Connection {
public:
    Connection(const std::string& protocol, const std::string& where) {
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

    Reply call(const Bytes& payload) {
        xmlrpc_c::paramList parameters(1);
        parameters.add(xmlrpc_c::value_bytestring(payload));
        xmlrpc_c::rpcPtr rpc(METHOD, parameters);
        rpc->call(client_, carriage_);
        reply_ = xmlrpc_c::value_bytestring(rpc->getResult()).vectorUcharValue();
        return {reply_.data(), reply_.size()};
    }
private:
    xmlrpc_c::clientXmlTransport* transport_;
    xmlrpc_c::carriageParm* carriage_;
    xmlrpc_c::client_xml* client_;
    Bytes reply_;
};

void make_calls(const Words& words) {
    call<Connection>(words, [&](size_t number) {
        const std::string& protocol = words.at(5);
        return std::make_unique<Connection>(protocol, words.at(protocol == "http" ? 6 : 6 + number));
    });
}
}  // namespace

int main(int argc, char** argv) {
    setenv("no_proxy", "*", 1);  // curl would send even calls to this machine through a proxy
    xmlrpc_limit_set(XMLRPC_XML_SIZE_LIMIT_ID, MOST_XML_BYTES);
    return run(argc, argv, serve, make_calls);
}
