// The oracle's front for HTTP/1.1 and 1.0: each request is answered by a body of two letters.

#include "_oracle_http_requests.h"

static int answer(Client* client, const Departure* leaving, char* bytes) {
    (void)client;
    if (leaving->fault == CLOSE) return CLOSES;
    return snprintf(bytes, ANSWER, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n%s\r\n%s",
                    leaving->fault == STATUS ? "500 Internal Server Error" : "200 OK",
                    leaving->leaves        ? "Connection: close\r\n"
                    : leaving->form.is_old ? "Connection: keep-alive\r\n"
                                           : "",
                    leaving->form.is_head ? "" : leaving->fault == BODY ? "no" : "ok");
}
