// A bare loop over raw sockets in C: two processes, blocking calls, no laboratory. Prints the median RTT in ns.
//
//   bare_sockets ipc|tcp SERVER_CPU CLIENT_CPU PAYLOAD_BYTES WINDOW_S
//
// A message is its length (4 bytes, big-endian) and that many bytes, sent in one write; the reply is the request. The
// first fifth of the window is not counted, as warm-up. What is timed is what a call needs: the message is put together,
// sent, and its reply received, with reads as large as a reader makes that does not know what will come. Both processes
// have a second thread, as programs that serve or call in threads have: in such a process the kernel counts references
// to the file in each system call, and the C library lets each call be cancelled.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CALLS = 2000000, PREFIX = 4, ONE_READ = 65536 };

static void need(int condition, const char* what) {
    if (condition) return;
    perror(what);
    exit(1);
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    need(!sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
}

static void* wait_for_ever(void* unused) {
    for (;;) pause();
    return unused;
}

static void have_a_second_thread(void) {
    pthread_t thread;
    need(!pthread_create(&thread, NULL, wait_for_ever, NULL), "pthread_create");
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void connect_both(const char* transport, int* server, int* client) {
    int pair[2], on = 1;
    if (!strcmp(transport, "ipc")) {
        need(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
        *server = pair[0];
        *client = pair[1];
        return;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    need(!bind(listener, (struct sockaddr*)&address, size) && !listen(listener, 1), "listen");
    need(!getsockname(listener, (struct sockaddr*)&address, &size), "getsockname");
    *client = socket(AF_INET, SOCK_STREAM, 0);
    need(!connect(*client, (struct sockaddr*)&address, size), "connect");
    *server = accept(listener, NULL, NULL);
    setsockopt(*client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(*server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int receive(int from, char* bytes, size_t size) {
    for (size_t have = 0; have < size;) {
        ssize_t got = recv(from, bytes + have, ONE_READ, 0);
        if (got <= 0) return 0;
        have += (size_t)got;
    }
    return 1;
}

static int ascending(const void* a, const void* b) {
    int64_t one = *(const int64_t*)a, other = *(const int64_t*)b;
    return (one > other) - (one < other);
}

int main(int argc, char** argv) {
    need(argc == 6, "usage: bare_sockets ipc|tcp SERVER_CPU CLIENT_CPU PAYLOAD_BYTES WINDOW_S");
    int server, client;
    size_t size = PREFIX + (size_t)atol(argv[4]);
    char *payload = malloc(size), *sent = malloc(size), *received = malloc(size + ONE_READ);
    connect_both(argv[1], &server, &client);
    pid_t child = fork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(client);
        have_a_second_thread();
        pin(atoi(argv[2]));
        while (receive(server, received, size)) need(send(server, received, size, MSG_NOSIGNAL) > 0, "send");
        _exit(0);
    }
    close(server);
    have_a_second_thread();
    pin(atoi(argv[3]));
    int64_t* rtt = malloc(MOST_CALLS * sizeof *rtt);
    int64_t window = (int64_t)(1e9 * atof(argv[5])), began = now_ns(), at = began;
    size_t calls = 0;
    for (size_t i = 0; i < size - PREFIX; i++) payload[i] = (char)i;
    while (at < began + window && calls < MOST_CALLS) {
        int64_t before = now_ns();
        uint32_t length = htonl((uint32_t)(size - PREFIX));
        memcpy(sent, &length, PREFIX);
        memcpy(sent + PREFIX, payload, size - PREFIX);
        need(send(client, sent, size, MSG_NOSIGNAL) == (ssize_t)size, "send");
        need(receive(client, received, size), "recv");
        at = now_ns();
        need(!memcmp(payload, received + PREFIX, size - PREFIX), "another reply");
        if (before >= began + window / 5) rtt[calls++] = at - before;
    }
    close(client);
    qsort(rtt, calls, sizeof *rtt, ascending);
    printf("%lld\n", (long long)rtt[calls / 2]);
    return 0;
}
