// The oracle's front for gRPC: a unary call of any method is answered by an empty message, which any type reads as one
// whose fields have their defaults, and by a status in the trailers.
// Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md

#include "_oracle_http2_frames.h"

#define HEADER_FIELDS "\x88\x0f\x10\x10" "application/grpc"  // :status 200, content-type
#define STATUS_FIELD(LENGTH, CODE) "\0\x0bgrpc-status" LENGTH CODE
enum { PREFIX = 5 };  // bytes before a message: not compressed, its size

static int answer(Client* client, const Departure* leaving, char* bytes) {
    static const char header[] = HEADER_FIELDS, ok[] = STATUS_FIELD("\1", "0");
    static const char internal[] = HEADER_FIELDS STATUS_FIELD("\2", "13");
    static const char empty[PREFIX] = "", other[] = "\0\0\0\0\1\xff";  // other: no message of Protocol Buffers
    uint32_t stream = leaving->form.stream;
    int size = instead(client, leaving, bytes), is_other = leaving->fault == BODY;
    if (size) return size;
    if (leaving->fault == STATUS) {
        return (int)(headers(client, bytes, END_STREAM, stream, internal, sizeof internal - 1) - bytes);
    }
    char* at = headers(client, bytes, 0, stream, header, sizeof header - 1);
    at = body(client, at, 0, stream, is_other ? other : empty, is_other ? PREFIX + 1 : PREFIX);
    return (int)(headers(client, at, END_STREAM, stream, ok, sizeof ok - 1) - bytes);
}
