"""Names of system calls that calls of RPC libraries make, from the numbers in the kernel's headers.

Source: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux.
"""

import platform

X86_64 = """
read=0 write=1 readv=19 writev=20 pread64=17 pwrite64=18 sendto=44 recvfrom=45 sendmsg=46 recvmsg=47 sendmmsg=307
recvmmsg=299 poll=7 ppoll=271 select=23 pselect6=270 epoll_wait=232 epoll_pwait=281 epoll_pwait2=441 epoll_ctl=233
futex=202 eventfd2=290 timerfd_settime=286 nanosleep=35 clock_nanosleep=230 clock_gettime=228 sched_yield=24 accept=43
accept4=288 connect=42 socket=41 close=3 shutdown=48 setsockopt=54 getsockopt=55 getsockname=51 getpeername=52
ioctl=16 fcntl=72 mmap=9 munmap=11 mprotect=10 madvise=28 brk=12 mremap=25 rt_sigprocmask=14 rt_sigreturn=15
rt_sigtimedwait=128 getpid=39 gettid=186 tgkill=234 kill=62 clone=56 clone3=435 exit=60 openat=257 newfstatat=262
fstat=5 lseek=8 dup=32 pipe2=293 membarrier=324 restart_syscall=219 io_uring_enter=426 getrandom=318 getrusage=98
set_robust_list=273 rseq=334 wait4=61 sched_setaffinity=203
"""
ARM64 = """
read=63 write=64 readv=65 writev=66 pread64=67 pwrite64=68 sendto=206 recvfrom=207 sendmsg=211 recvmsg=212
sendmmsg=269 recvmmsg=243 ppoll=73 pselect6=72 epoll_pwait=22 epoll_pwait2=441 epoll_ctl=21 futex=98 eventfd2=19
timerfd_settime=86 nanosleep=101 clock_nanosleep=115 clock_gettime=113 sched_yield=124 accept=202 accept4=242
connect=203 socket=198 close=57 shutdown=210 setsockopt=208 getsockopt=209 getsockname=204 getpeername=205 ioctl=29
fcntl=25 mmap=222 munmap=215 mprotect=226 madvise=233 brk=214 mremap=216 rt_sigprocmask=135 rt_sigreturn=139
rt_sigtimedwait=137 getpid=172 gettid=178 tgkill=131 kill=129 clone=220 clone3=435 exit=93 openat=56 newfstatat=79
fstat=80 lseek=62 dup=23 pipe2=59 membarrier=283 restart_syscall=128 io_uring_enter=426 getrandom=278 getrusage=165
set_robust_list=99 rseq=293 wait4=260 sched_setaffinity=122
"""


def _numbered(table: str) -> dict[int, str]:
    return {int(number): name for name, _, number in (pair.partition("=") for pair in table.split())}


_OF_MACHINE = {"x86_64": X86_64, "aarch64": ARM64}
_NAMES = _numbered(_OF_MACHINE.get(platform.machine(), ""))


def name_of(number: int) -> str:
    """Return the name of a system call of this machine; "call 500" for one that is not in the table."""
    return _NAMES.get(number, f"call {number}")
