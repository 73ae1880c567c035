// What the oracle's fronts have in common: service times that are waited for, of which only the ends are spun, so that
// one thread serves thousands of requests at once; and a record of when each request arrived, when its answer was due,
// and when it departed. How a request is taken from bytes, and what bytes answer it, is in a file for each protocol.
//
//   serve LISTENING_FD LAW MEAN_US FREEZE_MS SEED WORKERS FAULT EVERY SPARED MOST EVENTS GAP_US
//
// WORKERS: requests in service at once; 0 for no limit. Others wait in one queue, first come, first served.
// FREEZE_MS: in every second, from half a second after the first request on, for so long nothing is served.
// FAULT: none, status (an error), body (another one) or close, for one request in EVERY; not for the first SPARED.
// MOST: how many requests are recorded; later ones are served and counted.
// EVENTS, GAP_US: into how many events an answer is divided, and the time between two of them. The first is due when the
// service ends; a worker is free by then, and neither it nor a freeze delays the events behind it. 1 and 0 for an answer
// of one piece. An error is one event.
//
// Says "ready". At the end of its input it writes its record to its output: a Summary, the Requests, the Connections.
// Linux (epoll).
//
// A protocol's file includes this one after it has defined
//   Reading      what it remembers of a connection from one read to the next; at first all zeros
//   Form         what the answer to a request depends on, beside its fault
//   IS_ORDERED   whether the answers of a connection depart in the order of their requests
// and then defines take and answer, which are declared below.

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "_oracle_law.h"

enum { INPUT = 16384, OUTPUT = 16384, ANSWER = 1024, EVENTS = 64 };
enum { MOST_CONNECTIONS = 1 << 20, MOST_WAITING = 1 << 20, MOST_WORKERS = 4096 };
static const int64_t SECOND = 1000000000, AGAIN = 1000000, LEAST_SPIN = 50000, MOST_SPIN = 500000;  // ns

enum Fault { NONE, STATUS, BODY, CLOSE };
enum { NEVER = -1 };  // departed: its connection was closed, or it was cancelled, before the end of its answer was due

typedef struct {
    int64_t arrived, due, first, departed;  // ns of CLOCK_MONOTONIC; due, first: of the first event; departed: of the last
    int64_t late;                           // ns, of the latest of its events
    int32_t connection, fault;
} Request;

typedef struct {
    int64_t opened, closed;  // ns; closed 0: open at the end
} Connection;

typedef struct {
    int64_t magic, requests, not_recorded, connections, not_admitted, refused, first_freeze, most;
} Summary;

typedef struct Client {
    int fd, number, waiting;  // fd -1: it has left; waiting: its requests without an answer
    int is_last;              // no further request is read
    size_t have;              // bytes that are here and not yet taken
    int64_t last_due;  // when the last event of its answers is
    size_t output;  // bytes that the kernel has not taken yet
    struct Client* next_gone;
    Reading reading;
    char input[INPUT], out[OUTPUT];
} Client;

typedef struct {
    int64_t due, order;
    int32_t connection, record;  // record: -1 if it has none
    int32_t event, events;       // event: the number of the one that is due, from 0
    uint8_t fault, leaves;       // leaves: its connection ends with the answer
    Form form;
} Departure;

static Request* requests;
static Connection* connections;
static Client** clients;
static Summary summary;
static Departure* waiting;  // a heap: the one that is due first is at its top
static int waiting_count, queue, listener;
static Client* gone;  // those that left: an event of theirs may still be in hand

static const char *law, *fault_name;
static double mean_us, freeze_ms;
static int workers, fault_every, spared, most_events;
static int64_t gap;  // ns
static int64_t free_at[MOST_WORKERS];  // a heap: when each worker is free

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static void fail(const char* what) {
    printf("error %s: %s\n", what, strerror(errno));
    fflush(stdout);
    _exit(1);
}

static void* memory(size_t bytes) {  // zeros, which take room only once they are written
    void* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) fail("mmap");
    return at;
}

// --- When an answer is due ---

// The instant at which a service of this length ends that may begin at an instant: freezes interrupt it.
static int64_t served(int64_t start, int64_t service) {
    int64_t freeze = (int64_t)(freeze_ms * 1e6);
    if (!freeze) return start + service;
    for (;;) {
        int64_t until = summary.first_freeze;
        if (start >= until) {
            int64_t phase = (start - until) % SECOND;
            if (phase < freeze) start += freeze - phase, phase = freeze;
            until = start + SECOND - phase;
        }
        if (start + service < until) return start + service;
        service -= until - start;
        start = until;
    }
}

static int64_t due_at(int64_t arrived, int64_t service) {
    if (!workers) return served(arrived, service);
    int64_t end = served(arrived > free_at[0] ? arrived : free_at[0], service);
    int at = 0;
    for (int child; (child = 2 * at + 1) < workers; at = child) {  // the worker that is free first takes it
        if (child + 1 < workers && free_at[child + 1] < free_at[child]) child++;
        if (free_at[child] >= end) break;
        free_at[at] = free_at[child];
    }
    free_at[at] = end;
    return end;
}

// --- The heap of departures ---

static int before(const Departure* one, const Departure* other) {
    return one->due < other->due || (one->due == other->due && one->order < other->order);
}

static void push(Departure added) {
    int at = waiting_count++;
    for (int parent; at && before(&added, &waiting[parent = (at - 1) / 2]); at = parent) waiting[at] = waiting[parent];
    waiting[at] = added;
}

static Departure pop(void) {
    Departure first = waiting[0], last = waiting[--waiting_count];
    int at = 0;
    for (int child; (child = 2 * at + 1) < waiting_count; at = child) {
        if (child + 1 < waiting_count && before(&waiting[child + 1], &waiting[child])) child++;
        if (!before(&waiting[child], &last)) break;
        waiting[at] = waiting[child];
    }
    waiting[at] = last;
    return first;
}

// --- Connections ---

static void watch(int fd, uint32_t events, int change, void* of) {
    struct epoll_event event;
    event.events = events;
    event.data.ptr = of;
    if (epoll_ctl(queue, change, fd, &event)) fail("epoll_ctl");
}

static void leave(Client* client) {
    connections[client->number].closed = now_ns();
    clients[client->number] = NULL;
    close(client->fd);
    client->fd = -1;
    client->next_gone = gone;
    gone = client;
}

static void free_gone(void) {
    while (gone) {
        Client* next = gone->next_gone;
        free(gone);
        gone = next;
    }
}

static void admit(void) {
    for (;;) {
        int on = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE) fail("accept");
            return;
        }
        Client* client = summary.connections < MOST_CONNECTIONS ? (Client*)malloc(sizeof *client) : NULL;
        if (!client) {
            summary.not_admitted++;
            close(fd);
            continue;
        }
        memset(client, 0, offsetof(Client, input));
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        client->fd = fd;
        client->number = (int)summary.connections++;
        clients[client->number] = client;
        connections[client->number].opened = now_ns();
        watch(fd, EPOLLIN, EPOLL_CTL_ADD, client);
    }
}

// Send, and keep what the kernel does not take. Whether the connection still stands.
static int put(Client* client, const char* bytes, size_t count) {
    ssize_t sent = 0;
    if (!client->output) {
        sent = send(client->fd, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return 0;
        if (sent < 0) sent = 0;
        if ((size_t)sent == count) return 1;
        watch(client->fd, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD, client);
    }
    size_t left = count - (size_t)sent;
    if (client->output + left > OUTPUT) return 0;  // it reads none of its answers
    memcpy(client->out + client->output, bytes + sent, left);
    client->output += left;
    return 1;
}

static int flush(Client* client) {
    ssize_t sent = send(client->fd, client->out, client->output, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    client->output -= (size_t)sent;
    memmove(client->out, client->out + sent, client->output);
    if (client->output) return 1;
    watch(client->fd, EPOLLIN, EPOLL_CTL_MOD, client);
    return !client->is_last || client->waiting;
}

// --- Requests ---

static int fault_of(int64_t number) {
    if (!fault_every || number <= spared || number % fault_every) return NONE;
    return !strcmp(fault_name, "status") ? STATUS : !strcmp(fault_name, "body") ? BODY : CLOSE;
}

// Take in what is here from at to until, calling arrive for each whole request; return where the rest begins, of which
// more has to come, or NULL if the connection has to end.
static char* take(Client* client, char* at, char* until);

// Write the answer, or the event of it that is due, at most ANSWER bytes; return how many.
static int answer(Client* client, const Departure* leaving, char* bytes);
enum { CLOSES = -1, CANCELLED = -2, NO_ROOM = -3 };  // what it may return instead; NO_ROOM: ask again later

static char* refuse(void) {  // what take returns for what is no request
    summary.refused++;
    return NULL;
}

// A whole request is here; whether there is room for it.
static int arrive(Client* client, Form form, int leaves) {
    static int64_t number;
    if (waiting_count == MOST_WAITING) return 0;
    int64_t now = now_ns();
    if (!number++) summary.first_freeze = now + SECOND / 2;
    int64_t due = due_at(now, (int64_t)(1000.0 * law_time_us(law, mean_us)));
    if (IS_ORDERED && due < client->last_due) due = client->last_due;
    int fault = fault_of(number), parts = fault == STATUS ? 1 : most_events;
    client->last_due = due + (parts - 1) * gap;
    Departure departure = {due, number, client->number, -1, 0, parts, (uint8_t)fault, (uint8_t)leaves, form};
    if (summary.requests < summary.most) {
        Request record = {now, due, 0, 0, 0, client->number, fault};
        departure.record = (int32_t)summary.requests++;
        requests[departure.record] = record;
    } else {
        summary.not_recorded++;
    }
    client->waiting++;
    client->is_last = leaves;
    push(departure);
    return 1;
}

// Record when an event departs; is_last: none follows it.
static void note(const Departure* leaving, int64_t now, int is_last) {
    if (leaving->record < 0) return;
    Request* record = &requests[leaving->record];
    int64_t late = now - record->due - leaving->event * gap;
    if (late > record->late) record->late = late;
    if (!leaving->event) record->first = now;
    if (is_last) record->departed = now;
}

static void depart(void) {
    Departure leaving = pop();
    Client* client = clients[leaving.connection];
    char bytes[ANSWER];
    int size = client ? answer(client, &leaving, bytes) : CANCELLED;
    if (size == NO_ROOM) {
        leaving.due = now_ns() + AGAIN;
        push(leaving);
        return;
    }
    if (size == CANCELLED) {
        if (leaving.record >= 0) requests[leaving.record].departed = NEVER;
        if (client) client->waiting--;
        return;
    }
    int is_last = size == CLOSES || leaving.event + 1 == leaving.events;
    note(&leaving, now_ns(), is_last);
    if (is_last) {
        client->waiting--;
    } else {
        leaving.event++;
        leaving.due += gap;
        push(leaving);
    }
    int is_over = is_last && leaving.leaves;
    if (size == CLOSES || !put(client, bytes, (size_t)size) || (is_over && !client->output)) leave(client);
}

static void depart_due(void) {
    while (waiting_count && waiting[0].due <= now_ns()) depart();
}

// Read what has come; whether the connection still stands.
static int hear(Client* client) {
    ssize_t got = recv(client->fd, client->input + client->have, INPUT - client->have, 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (!got) return 0;
    char *until = client->input + client->have + got, *rest = take(client, client->input, until);
    if (!rest) return 0;
    client->have = client->is_last ? 0 : (size_t)(until - rest);
    if (client->have == INPUT) return refuse() != NULL;
    memmove(client->input, rest, client->have);
    return 1;
}

// --- The loop ---

// How long before a departure waiting becomes spinning: twice as long as this machine's late wake-ups, so that they
// are over in time; it becomes shorter again by and by.
static int64_t spin = 50000;

static void adapt_spin(int64_t late) {
    if (2 * late > spin) spin = 2 * late;
    else spin -= spin / 1024;
    if (spin > MOST_SPIN) spin = MOST_SPIN;
    if (spin < LEAST_SPIN) spin = LEAST_SPIN;
}

static void await(void) {
    struct pollfd all = {queue, POLLIN, 0};
    int64_t wake = waiting_count ? waiting[0].due - spin : 0, left = wake - now_ns();
    struct timespec patience = {left / SECOND, left % SECOND};
    if (!waiting_count) ppoll(&all, 1, NULL, NULL);
    else if (left > 0 && !ppoll(&all, 1, &patience, NULL)) adapt_spin(now_ns() - wake);  // epoll_wait has whole ms only
}

static void write_all(const void* bytes, size_t count) {
    for (const char* at = (const char*)bytes; count;) {
        ssize_t some = write(1, at, count);
        if (some < 0 && errno == EINTR) continue;
        if (some <= 0) _exit(1);
        at += some;
        count -= (size_t)some;
    }
}

static void serve(void) {
    struct epoll_event ready[EVENTS];
    for (;;) {
        depart_due();
        await();
        int count = epoll_wait(queue, ready, EVENTS, 0);
        for (int i = 0; i < count; i++) {
            void* of = ready[i].data.ptr;
            Client* client = (Client*)of;
            if (of == &queue) return;  // the end of its input
            if (of == &listener) {
                admit();
            } else if (client->fd >= 0) {
                int writes = ready[i].events & EPOLLOUT, reads = ready[i].events & ~(uint32_t)EPOLLOUT;
                if ((writes && !flush(client)) || (reads && !hear(client))) leave(client);
            }
            depart_due();
        }
        free_gone();
    }
}

int main(int argc, char** argv) {
    if (argc != 14 || strcmp(argv[1], "serve")) return 2;
    listener = atoi(argv[2]);
    law = argv[3];
    mean_us = atof(argv[4]);
    freeze_ms = atof(argv[5]);
    seed_generator((uint32_t)strtoul(argv[6], NULL, 10));
    workers = atoi(argv[7]);
    fault_name = argv[8];
    fault_every = strcmp(fault_name, "none") ? atoi(argv[9]) : 0;
    spared = atoi(argv[10]);
    summary.most = atoll(argv[11]);
    most_events = atoi(argv[12]);
    gap = (int64_t)(1000.0 * atof(argv[13]));
    if (workers < 0 || workers > MOST_WORKERS || freeze_ms < 0 || freeze_ms > 990 || summary.most > INT32_MAX) return 2;
    if (most_events < 1 || gap < 0) return 2;
    memcpy(&summary.magic, "ORACLE 2", 8);
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    requests = (Request*)memory((size_t)summary.most * sizeof *requests);
    connections = (Connection*)memory(MOST_CONNECTIONS * sizeof *connections);
    clients = (Client**)memory(MOST_CONNECTIONS * sizeof *clients);
    waiting = (Departure*)memory(MOST_WAITING * sizeof *waiting);
    if ((queue = epoll_create1(EPOLL_CLOEXEC)) < 0) fail("epoll_create1");
    watch(0, EPOLLIN, EPOLL_CTL_ADD, &queue);
    watch(listener, EPOLLIN, EPOLL_CTL_ADD, &listener);
    printf("ready\n");
    fflush(stdout);
    serve();
    write_all(&summary, sizeof summary);
    write_all(requests, (size_t)summary.requests * sizeof *requests);
    write_all(connections, (size_t)summary.connections * sizeof *connections);
    return 0;
}
