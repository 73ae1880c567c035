// How the oracle's fronts over HTTP/1.1 and 1.0 take in requests, pipelined or not: any method and path, bodies with
// Content-Length. What the answer to a request is, is in the files that include this one.

#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <strings.h>

enum { IS_ORDERED = 1 };

typedef struct {
    int is_head, leaves, is_old;  // the request that is read: HEAD; ends its connection; HTTP/1.0
    int in_body;
    size_t body_left;
} Reading;

typedef struct {
    uint8_t is_head, is_old;
} Form;

#include "_oracle_front.h"

static int is_header(const char* line, const char* name) {
    return !strncasecmp(line, name, strlen(name));
}

// Take in a head, from its first byte to the empty line; whether it is one that can be answered.
static int understand(Reading* request, char* head, char* end) {
    char *line = (char*)memchr(head, '\r', (size_t)(end - head) + 1), *next;
    if (line - head < 12 || memcmp(line - 8, "HTTP/1.", 7)) return 0;
    request->is_old = request->leaves = line[-1] == '0';
    request->is_head = !memcmp(head, "HEAD ", 5);
    request->body_left = 0;
    for (line += 2; line < end; line = next + 2) {
        next = (char*)memchr(line, '\r', (size_t)(end - line) + 1);
        *next = 0;
        if (is_header(line, "content-length:")) request->body_left = strtoull(line + 15, NULL, 10);
        if (is_header(line, "transfer-encoding:")) return 0;
        if (is_header(line, "connection:")) {
            if (strcasestr(line, "close")) request->leaves = 1;
            if (strcasestr(line, "keep-alive")) request->leaves = 0;
        }
    }
    return 1;
}

static char* take(Client* client, char* at, char* until) {
    Reading* request = &client->reading;
    while (at < until && !client->is_last) {
        if (!request->in_body) {
            char* end = (char*)memmem(at, (size_t)(until - at), "\r\n\r\n", 4);
            if (!end) break;
            if (!understand(request, at, end)) return refuse();
            at = end + 4;
            request->in_body = 1;
        }
        size_t some = (size_t)(until - at) < request->body_left ? (size_t)(until - at) : request->body_left;
        at += some;
        request->body_left -= some;
        if (request->body_left) break;
        request->in_body = 0;
        Form form = {(uint8_t)request->is_head, (uint8_t)request->is_old};
        if (!arrive(client, form, request->leaves)) return NULL;
    }
    return at;
}
