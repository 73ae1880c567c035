/* The least that answers HTTP: one thread, epoll, bytes 0 to 15 for each request head; ends with its input. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST 1024

static const char response[] = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n"
                               "\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17";
static int matched[65536]; /* how much of the empty line that ends a head has come, by descriptor */

static void watch(int epoll, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void greet(int epoll, int listener) {
    int one = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0) return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    matched[fd] = 0;
    watch(epoll, fd);
}

static void serve(int fd) {
    static const char end[] = "\r\n\r\n";
    char bytes[8192];
    ssize_t count = read(fd, bytes, sizeof bytes);
    if (count <= 0) {
        close(fd);
        return;
    }
    for (ssize_t at = 0; at < count; at++) {
        matched[fd] = bytes[at] == end[matched[fd]] ? matched[fd] + 1 : bytes[at] == '\r';
        if (matched[fd] == 4) {
            matched[fd] = 0;
            if (write(fd, response, sizeof response - 1) < 0) return;
        }
    }
}

int main(void) {
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof where;
    struct epoll_event events[MOST];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), epoll = epoll_create1(0);
    if (bind(listener, (struct sockaddr *)&where, size) || listen(listener, 1024)) return 1;
    getsockname(listener, (struct sockaddr *)&where, &size);
    printf("tcp://127.0.0.1:%d\n", ntohs(where.sin_port));
    fflush(stdout);
    watch(epoll, listener);
    watch(epoll, 0);
    for (;;) {
        int count = epoll_wait(epoll, events, MOST, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == 0) return 0;
            if (events[i].data.fd == listener) greet(epoll, listener);
            else serve(events[i].data.fd);
        }
    }
}
