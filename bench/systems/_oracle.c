// The oracle's server in C: each worker, a thread, answers one request at a time, each after its service time.
//
//   serve LISTENING_FD LAW MEAN_US FREEZE_AFTER FREEZE_MS SEED WAIT NS_PER_BYTE WORKERS
//       says "ready"; answers a line "count" with the number of requests answered so far; ends with its input.
//   times COUNT LAW MEAN_US FREEZE_AFTER FREEZE_MS SEED WAIT NS_PER_BYTE
//       prints the service times of the first COUNT requests, in us, one a line, without what their bytes add.
//
// A message is its length (4 bytes, big-endian) and that many bytes; the reply is the request. A client may send the
// next request before the reply: requests of one connection wait in it, and are answered in order. The service times are
// those of service_times() in oracle.py: the same generator, the same seed, the same order. Linux (epoll); the source
// is C that a C++ compiler accepts.

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "_oracle_law.h"

enum { PREFIX = 4, ONE_READ = 65536, EVENTS = 64, MOST_WORKERS = 64 };

static const char* law;
static double mean_us, freeze_ms, ns_per_byte;
static long long freeze_after, number;

static pthread_mutex_t drawing = PTHREAD_MUTEX_INITIALIZER;

static double draw_service_us(void) {
    double frozen_us = ++number == freeze_after ? 1000.0 * freeze_ms : 0.0;
    return frozen_us + law_time_us(law, mean_us);
}

// The workers take the service times in the order in which they begin to serve.
static double next_service_us(void) {
    pthread_mutex_lock(&drawing);
    double us = draw_service_us();
    pthread_mutex_unlock(&drawing);
    return us;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t spin_ns;  // how long before the end of a service time that is slept the spinning begins

// Spin, as a busy server does; of more than 10 ms, sleep the beginning. Or sleep all of it, as one that waits does.
static void work(double us) {
    int64_t end = now_ns() + (int64_t)(1000.0 * us);
    if (us > 10000.0 || !spin_ns) {
        int64_t until = end - spin_ns;
        struct timespec wake;
        wake.tv_sec = until / 1000000000;
        wake.tv_nsec = until % 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
    }
    while (now_ns() < end) continue;
}

static void fail(const char* what) {
    printf("error %s: %s\n", what, strerror(errno));
    fflush(stdout);
    _exit(1);
}

typedef struct {
    int fd;
    size_t room;
    unsigned char* bytes;
} Connection;

// Read one message into the buffer, and nothing of the next one; return its size with the prefix, or 0 if the client
// left.
static size_t receive(Connection* from) {
    size_t have = 0, size = PREFIX;
    while (have < size) {
        ssize_t got = recv(from->fd, from->bytes + have, size - have, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        have += (size_t)got;
        if (have == PREFIX && size == PREFIX) {
            uint32_t length;
            memcpy(&length, from->bytes, PREFIX);
            size = PREFIX + (size_t)ntohl(length);
            if (size > from->room) {
                unsigned char* larger = (unsigned char*)realloc(from->bytes, size);
                if (!larger) return 0;
                from->bytes = larger;
                from->room = size;
            }
        }
    }
    return size;
}

static int reply(const Connection* to, size_t size) {
    for (size_t sent = 0; sent < size;) {
        ssize_t some = send(to->fd, to->bytes + sent, size - sent, MSG_NOSIGNAL);
        if (some < 0 && errno == EINTR) continue;
        if (some <= 0) return 0;
        sent += (size_t)some;
    }
    return 1;
}

static long long answered;

static int answer(Connection* client) {
    size_t size = receive(client);
    if (!size) return 0;
    work(next_service_us() + ns_per_byte * (double)(size - PREFIX) / 1000.0);
    __atomic_add_fetch(&answered, 1, __ATOMIC_SEQ_CST);
    return reply(client, size);
}

static void watch(int queue, int fd, Connection* of) {
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = EPOLLIN;
    event.data.ptr = of;
    if (epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event)) fail("epoll_ctl");
}

static int listener, workers, queues[MOST_WORKERS], admitted;

// Give a new connection to the worker whose turn it is.
static void admit(void) {
    int on = 1, fd = accept(listener, NULL, NULL);
    if (fd < 0) return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // refused on a Unix domain socket, which has no delay
    Connection* client = (Connection*)calloc(1, sizeof *client);
    if (client) client->bytes = (unsigned char*)malloc(ONE_READ);
    if (!client || !client->bytes) fail("out of memory");
    client->fd = fd;
    client->room = ONE_READ;
    watch(queues[admitted++ % workers], fd, client);
}

static void* serve(void* at) {
    int queue = *(int*)at;
    struct epoll_event ready[EVENTS];
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    for (;;) {
        int count = epoll_wait(queue, ready, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            Connection* client = (Connection*)ready[i].data.ptr;
            if (!client) {
                admit();
            } else if (!answer(client)) {
                close(client->fd);
                free(client->bytes);
                free(client);
            }
        }
    }
    return NULL;
}

int main(int argc, char** argv) {
    if (argc < 10) return 2;
    listener = atoi(argv[2]);
    workers = argc > 10 ? atoi(argv[10]) : 1;
    if (workers < 1 || workers > MOST_WORKERS) return 2;
    law = argv[3];
    mean_us = atof(argv[4]);
    freeze_after = atoll(argv[5]);
    freeze_ms = atof(argv[6]);
    seed_generator((uint32_t)strtoul(argv[7], NULL, 10));
    spin_ns = strcmp(argv[8], "sleep") ? 5000000 : 0;
    ns_per_byte = atof(argv[9]);
    if (!strcmp(argv[1], "times")) {
        for (int i = 0; i < atoi(argv[2]); i++) printf("%.17g\n", next_service_us());
        return 0;
    }
    pthread_t server;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < workers; i++) {
        if ((queues[i] = epoll_create1(0)) < 0) fail("epoll_create1");
    }
    watch(queues[0], listener, NULL);
    for (int i = 0; i < workers; i++) {
        if ((errno = pthread_create(&server, NULL, serve, &queues[i]))) fail("pthread_create");
    }
    printf("ready\n");
    fflush(stdout);
    char line[80];
    while (fgets(line, sizeof line, stdin)) {  // the end of the input is the order to leave
        printf("%lld\n", __atomic_load_n(&answered, __ATOMIC_SEQ_CST));
        fflush(stdout);
    }
    _exit(0);
}
