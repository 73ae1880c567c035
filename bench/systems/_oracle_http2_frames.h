// What the oracle's fronts for HTTP/2 and gRPC have in common: frames, settings, windows and streams (RFC 9113), in
// plain text with prior knowledge. What the answer to a request is, is in the files that include this one.
//
// A request is whole at the frame that ends its stream. Its header fields are not read: any method and path is answered
// alike, HEAD too. The answers of a connection depart when they are due, in any order. Their header fields are
// those of the static table, or literals that are not indexed (RFC 7541), so that they depend on no other answer.

#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>

enum { IS_ORDERED = 0 };

typedef struct {
    int is_open;          // the client's preface has been read
    uint32_t size, left;  // of the frame that is read: bytes of its content, and those still to come
    uint8_t kind, flags;
    uint32_t stream, newest;  // newest: the highest stream so far
    uint32_t block;           // the stream whose header block is not complete; 0: none
    int ends_with_block;      // whether the request is whole then
    int64_t taken;            // bytes of bodies since the last window update
    int64_t room;             // bytes of answers that the client takes on this connection
    int has_small_table;      // its table of header fields is smaller than the default, and we have not agreed yet
} Reading;

typedef struct {
    uint32_t stream;
    uint8_t is_cancelled;
} Form;

#include "_oracle_front.h"

enum Kind { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };                                    // flags
enum { HEADER_TABLE_SIZE = 1, MAX_CONCURRENT_STREAMS = 3, INITIAL_WINDOW_SIZE = 4 };  // settings
enum { PROTOCOL_ERROR = 1, INTERNAL_ERROR = 2, FLOW_CONTROL_ERROR = 3, FRAME_SIZE_ERROR = 6 };
enum { HEAD = 9, MOST_FRAME = 16384, MOST_CONTROL = 1024, MOST_BLOCK = 64, TABLE = 4096 };  // bytes
enum { WINDOW = 65535, MOST_WINDOW = INT32_MAX, LEAST_ROOM = 16, MOST_TAKEN = 1 << 30 };
static const char PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static char* number(char* at, uint32_t value, int bytes) {
    while (bytes--) *at++ = (char)(value >> 8 * bytes);
    return at;
}

static uint32_t number_at(const char* at, int bytes) {
    uint32_t value = 0;
    while (bytes--) value = value << 8 | (unsigned char)*at++;
    return value;
}

// Write a frame; return where the next one begins.
static char* frame(char* at, enum Kind kind, int flags, uint32_t stream, const char* content, size_t size) {
    at = number(at, (uint32_t)size, 3);
    *at++ = (char)kind;
    *at++ = (char)flags;
    at = number(at, stream, 4);
    memcpy(at, content, size);
    return at + size;
}

static char* frame_of_number(char* at, enum Kind kind, uint32_t stream, uint32_t value) {
    char content[4];
    number(content, value, 4);
    return frame(at, kind, 0, stream, content, sizeof content);
}

// Write a header block. The first after the client has made its table smaller says that none is used (RFC 7541, 4.2).
static char* headers(Client* client, char* at, int flags, uint32_t stream, const char* fields, size_t size) {
    char block[MOST_BLOCK];
    int says_so = client->reading.has_small_table;
    block[0] = 0x20;
    memcpy(block + says_so, fields, size);
    client->reading.has_small_table = 0;
    return frame(at, HEADERS, END_HEADERS | flags, stream, block, size + (size_t)says_so);
}

static char* fail_with(Client* client, uint32_t error) {
    char bytes[HEAD + 8], content[8];
    number(number(content, client->reading.newest, 4), error, 4);
    put(client, bytes, (size_t)(frame(bytes, GOAWAY, 0, 0, content, sizeof content) - bytes));
    return refuse();
}

static int open_connection(Client* client) {
    char bytes[64], settings[12];
    char* at = number(number(settings, MAX_CONCURRENT_STREAMS, 2), MOST_WINDOW, 4);
    number(number(at, INITIAL_WINDOW_SIZE, 2), MOST_WINDOW, 4);
    at = frame(bytes, SETTINGS, 0, 0, settings, sizeof settings);
    at = frame_of_number(at, WINDOW_UPDATE, 0, MOST_WINDOW - WINDOW);
    client->reading.is_open = 1;
    client->reading.room = WINDOW;
    return put(client, bytes, (size_t)(at - bytes));
}

static void cancel(const Client* client, uint32_t stream) {
    for (int i = 0; i < waiting_count; i++) {
        Departure* one = &waiting[i];
        if (one->connection == client->number && one->form.stream == stream) one->form.is_cancelled = 1;
    }
}

static uint32_t settle(Reading* from, const char* content) {
    for (const char* at = content; at < content + from->size; at += 6) {
        uint32_t setting = number_at(at, 2), value = number_at(at + 2, 4);
        if (setting == HEADER_TABLE_SIZE && value < TABLE) from->has_small_table = 1;
        if (setting == INITIAL_WINDOW_SIZE && value < LEAST_ROOM) return FLOW_CONTROL_ERROR;  // no answer would fit
    }
    return 0;
}

// Take in a frame of which all is here and that belongs to no request; return an error code, 0 if it is right.
static uint32_t control(Client* client, const char* content) {
    Reading* from = &client->reading;
    char bytes[HEAD + 8];
    uint32_t error = 0;
    switch (from->kind) {
        case SETTINGS:
            if (from->stream || from->size % 6) return PROTOCOL_ERROR;
            if (from->flags & ACK) return 0;
            if ((error = settle(from, content))) return error;
            return put(client, bytes, (size_t)(frame(bytes, SETTINGS, ACK, 0, "", 0) - bytes)) ? 0 : INTERNAL_ERROR;
        case PING:
            if (from->stream || from->size != 8) return PROTOCOL_ERROR;
            if (from->flags & ACK) return 0;
            return put(client, bytes, (size_t)(frame(bytes, PING, ACK, 0, content, 8) - bytes)) ? 0 : INTERNAL_ERROR;
        case RST_STREAM:
            if (!from->stream || from->size != 4) return PROTOCOL_ERROR;
            cancel(client, from->stream);
            return 0;
        default:  // WINDOW_UPDATE: an answer is shorter than the window of its stream, so only the connection's counts
            if (from->size != 4) return FRAME_SIZE_ERROR;
            if (!from->stream) from->room += number_at(content, 4) & INT32_MAX;
            return from->room > MOST_WINDOW ? FLOW_CONTROL_ERROR : 0;
    }
}

// The head of a frame is here; return an error code, 0 if it may come now.
static uint32_t begin(Reading* to, const char* at) {
    to->size = to->left = number_at(at, 3);
    to->kind = (uint8_t)at[3];
    to->flags = (uint8_t)at[4];
    to->stream = number_at(at + 5, 4) & INT32_MAX;
    int is_of_request = to->kind == DATA || to->kind == HEADERS || to->kind == CONTINUATION;
    if (to->size > MOST_FRAME) return FRAME_SIZE_ERROR;
    if (is_of_request && to->stream % 2 == 0) return PROTOCOL_ERROR;
    if ((to->kind == CONTINUATION) != (to->block != 0)) return PROTOCOL_ERROR;
    if (to->block && to->stream != to->block) return PROTOCOL_ERROR;
    if (to->kind == DATA && to->stream > to->newest) return PROTOCOL_ERROR;
    return to->kind == PUSH_PROMISE ? PROTOCOL_ERROR : 0;
}

static int is_control(const Reading* frame) {
    return frame->kind == SETTINGS || frame->kind == PING || frame->kind == RST_STREAM || frame->kind == WINDOW_UPDATE;
}

// A frame of which nothing but its head matters is here; whether the connection still stands.
static int end(Client* client) {
    Reading* of = &client->reading;
    int is_whole = 0;
    if (of->kind == DATA) {
        is_whole = of->flags & END_STREAM;
        of->taken += of->size;
        if (of->taken >= MOST_TAKEN) {
            char bytes[HEAD + 4], *until = frame_of_number(bytes, WINDOW_UPDATE, 0, (uint32_t)of->taken);
            if (!put(client, bytes, (size_t)(until - bytes))) return 0;
            of->taken = 0;
        }
    }
    if (of->kind == HEADERS) {
        of->block = of->stream;
        of->ends_with_block = of->flags & END_STREAM;
        if (of->stream > of->newest) of->newest = of->stream;
    }
    if (of->block && of->flags & END_HEADERS) {
        of->block = 0;
        is_whole = of->ends_with_block;
    }
    Form form = {of->stream, 0};
    return !is_whole || arrive(client, form, 0);
}

static char* take(Client* client, char* at, char* until) {
    Reading* of = &client->reading;
    enum { OPENING = sizeof PREFACE - 1 };
    if (!of->is_open) {
        if (until - at < OPENING && !memcmp(at, PREFACE, (size_t)(until - at))) return at;
        if (until - at < OPENING || memcmp(at, PREFACE, OPENING)) return refuse();
        if (!open_connection(client)) return NULL;
        at += OPENING;
    }
    for (;;) {
        if (!of->left) {
            if (until - at < HEAD) return at;
            uint32_t error = begin(of, at);
            if (!error && is_control(of)) {
                if (of->size > MOST_CONTROL) return fail_with(client, FRAME_SIZE_ERROR);
                of->left = 0;
                if (until - at < HEAD + (ptrdiff_t)of->size) return at;
                error = control(client, at + HEAD);
                at += HEAD + of->size;
                if (error) return fail_with(client, error);
                continue;
            }
            if (error) return fail_with(client, error);
            at += HEAD;
        }
        uint32_t here = (uint32_t)(until - at), some = here < of->left ? here : of->left;
        at += some;
        of->left -= some;
        if (of->left) return at;
        if (!end(client)) return NULL;
    }
}

// What a departure is instead of an answer: a size, or 0 if it is to be answered.
static int instead(Client* client, const Departure* leaving, char* bytes) {
    if (leaving->form.is_cancelled) return CANCELLED;
    if (client->reading.room < LEAST_ROOM) return NO_ROOM;
    if (leaving->fault != CLOSE) return 0;
    return (int)(frame_of_number(bytes, RST_STREAM, leaving->form.stream, INTERNAL_ERROR) - bytes);
}

// Write the frame with a body, for which there is room.
static char* body(Client* client, char* at, int flags, uint32_t stream, const char* content, size_t size) {
    client->reading.room -= (int64_t)size;
    return frame(at, DATA, flags, stream, content, size);
}
