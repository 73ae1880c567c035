// The oracle's front for RESP, the protocol of Redis: commands as arrays of strings or in one line, pipelined or not.
// What it serves, and how it is started: _oracle_front.h.
//
// PING, GET and SET of any key and value are the load. What client libraries ask when they connect is answered at once
// and not recorded: HELLO, CONFIG GET, CLIENT, SELECT, AUTH, COMMAND. Any other command is an error, and counts as
// refused. Source: https://redis.io/docs/latest/develop/reference/protocol-spec/

#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>

enum { IS_ORDERED = 1, KEPT = 3, WORD = 64, MOST_WORDS = 1024 };
static const int64_t MOST_BYTES = 512 << 20;  // of a string, as in Redis

typedef struct {
    int words_left, known;  // of the command that is read: strings still to come; those whose beginnings are in words
    int64_t skipped_left;   // bytes of a string, and of its line's end, still to come
    char words[KEPT][WORD];
} Reading;

typedef enum { PONG, VALUE, STORED } Form;

#include "_oracle_front.h"

static int is_word(const Reading* command, int place, const char* word) {
    return place < command->known && !strcasecmp(command->words[place], word);
}

static void keep(Reading* command, const char* word, size_t size) {
    if (command->known == KEPT) return;
    if (size > WORD - 1) size = WORD - 1;
    memcpy(command->words[command->known], word, size);
    command->words[command->known++][size] = 0;
}

// Write the answer to what is no load; whether the command is known.
static int greet(const Reading* command, char* bytes) {
    if (is_word(command, 0, "hello")) {
        int is_new = is_word(command, 1, "3");
        snprintf(bytes, ANSWER, "%s\r\n+server\r\n+redis\r\n+version\r\n+7.0.0\r\n+proto\r\n:%d\r\n",
                 is_new ? "%3" : "*6", is_new ? 3 : 2);
    } else if (is_word(command, 0, "config") && is_word(command, 1, "get") && command->known > 2) {
        snprintf(bytes, ANSWER, "*2\r\n$%zu\r\n%s\r\n$0\r\n\r\n", strlen(command->words[2]), command->words[2]);
    } else if (is_word(command, 0, "client") || is_word(command, 0, "select") || is_word(command, 0, "auth")) {
        snprintf(bytes, ANSWER, "+OK\r\n");
    } else if (is_word(command, 0, "command")) {
        snprintf(bytes, ANSWER, "*0\r\n");
    } else {
        return 0;
    }
    return 1;
}

// A whole command is here; whether the connection still stands.
static int obey(Client* client) {
    Reading* command = &client->reading;
    static const char* const names[] = {"ping", "get", "set"};
    for (int form = PONG; form <= STORED; form++) {
        if (is_word(command, 0, names[form])) return arrive(client, (Form)form, 0);
    }
    char bytes[ANSWER];
    if (!greet(command, bytes)) {
        summary.refused++;
        snprintf(bytes, ANSWER, "-ERR unknown command\r\n");
    }
    return !client->waiting && put(client, bytes, strlen(bytes));  // it would overtake answers that are due later
}

// Take in a line that begins a command: an array's size, or the whole command.
static int begin(Reading* command, char* at, char* end) {
    command->known = 0;
    if (*at == '*') {
        long words = strtol(at + 1, NULL, 10);
        command->words_left = words > 0 ? (int)words : 0;
        return words <= MOST_WORDS;
    }
    while (at < end) {
        size_t size = strcspn(at, " \r\n");
        if (size) keep(command, at, size);
        at += size + 1;
    }
    return 1;
}

static char* take(Client* client, char* at, char* until) {
    Reading* command = &client->reading;
    while (at < until) {
        if (!command->skipped_left) {
            char* end = (char*)memchr(at, '\n', (size_t)(until - at));
            if (!end) break;
            if (!command->words_left) {
                int is_line = *at != '*';
                if (!begin(command, at, end)) return refuse();
                if (is_line && command->known && !obey(client)) return NULL;
                at = end + 1;
                continue;
            }
            int64_t size = *at == '$' ? strtoll(at + 1, NULL, 10) : -1;
            if (size < 0 || size > MOST_BYTES) return refuse();
            if (command->known < KEPT && until - end - 1 < (size < WORD ? size : WORD)) break;
            keep(command, end + 1, (size_t)size);
            command->skipped_left = size + 2;
            at = end + 1;
        }
        int64_t some = until - at < command->skipped_left ? until - at : command->skipped_left;
        at += some;
        command->skipped_left -= some;
        if (!command->skipped_left && !--command->words_left && !obey(client)) return NULL;
    }
    return at;
}

static int answer(Client* client, const Departure* leaving, char* bytes) {
    static const char* const right[] = {"+PONG\r\n", "$2\r\nok\r\n", "+OK\r\n"};
    static const char* const wrong[] = {"+NO\r\n", "$2\r\nno\r\n", "+NO\r\n"};
    (void)client;
    if (leaving->fault == CLOSE) return CLOSES;
    const char* said = (leaving->fault == BODY ? wrong : right)[leaving->form];
    return snprintf(bytes, ANSWER, "%s", leaving->fault == STATUS ? "-ERR fault\r\n" : said);
}
