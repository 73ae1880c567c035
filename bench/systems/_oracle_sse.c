// The oracle's front for server-sent events over HTTP/1.1: each request is answered by a stream of events, in chunks, as
// servers of language models answer chat completions. The head departs with the first event, and [DONE] and the end of
// the body with the last one; each event holds one token. A stream with the fault `close` breaks off behind its first.
// Sources: https://html.spec.whatwg.org/multipage/server-sent-events.html
//          https://platform.openai.com/docs/api-reference/chat-streaming

#include "_oracle_http_requests.h"

static int answer(Client* client, const Departure* leaving, char* bytes) {
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n";
    static const char event[] =
        "data: {\"id\":\"oracle\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"oracle\",\"choices\":[{"
        "\"index\":0,\"delta\":{\"content\":\" %s\"},\"finish_reason\":%s}]%s}\n\n%s";
    const char* leaves = leaving->leaves ? "Connection: close\r\n" : "";
    char content[ANSWER / 2], usage[ANSWER / 8] = "";
    int is_first = !leaving->event, is_last = leaving->event + 1 == leaving->events;
    (void)client;
    if (leaving->fault == CLOSE && (!is_first || is_last)) return CLOSES;
    if (leaving->fault == STATUS) {
        return snprintf(bytes, ANSWER, "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n%s\r\n", leaves);
    }
    if (is_last) {
        snprintf(usage, sizeof usage, ",\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":%d,\"total_tokens\":%d}",
                 leaving->events, leaving->events + 1);
    }
    int size = snprintf(content, sizeof content, event, leaving->fault == BODY ? "b" : "a",
                        is_last ? "\"stop\"" : "null", usage, is_last ? "data: [DONE]\n\n" : "");
    return snprintf(bytes, ANSWER, "%s%s%s%x\r\n%s\r\n%s", is_first ? head : "", is_first ? leaves : "",
                    is_first ? "\r\n" : "", (unsigned)size, content, is_last ? "0\r\n\r\n" : "");
}
