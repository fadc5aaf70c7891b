"""Python of others, in a process that nothing of it outlives.

The code of a map or a peer may do anything: compute for ever with the lock of the interpreter held, ignore signals, start
threads and processes. So `supervised` leaves it to a child with a session of its own, and only watches: once nobody holds
the other end of a pipe any more, or the child has ended, it ends the child and all that the child has started, and then
itself. On Linux that includes what has left the session, and two processes watch, one above the other: where one is killed, the
other ends the rest.
"""

import json
import os
import queue
import select
import signal
import sys
import threading
import time
import traceback

#: What a terminal or a scheduler sends to every process: whoever holds the pipe decides what becomes of the work.
SHARED_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
#: Requests of prctl.
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
#: Kept of what the child complains of, in bytes.
LAST_WORDS = 2000


def answering(name, start):
    """Answers requests, JSON objects in lines, with JSON objects in lines. Does not return.

    The first line that it prints comes at once: {"loading": name, "pid": n}. The second has what `start` says of the process,
    or {"missing": reason}. A request with {"bytes": n} is followed by n bytes, and so is an answer. A request that fails is
    answered with {"error": "..."}. The process ends when its input does, even during a request.

    Args:
        start: gives facts, and a function of a request and its bytes that gives an answer, or one with bytes.
    """
    for own in SHARED_SIGNALS[:3]:  # the caller decides when a run ends
        if hasattr(signal, own):
            signal.signal(getattr(signal, own), signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb")  # libraries that print do so to stderr
    os.dup2(2, 1)

    def reply(answer, data=b""):
        out.write(json.dumps(answer).encode() + b"\n")
        out.write(data)
        out.flush()

    reply({"loading": name, "pid": os.getpid()})  # shows the caller that Python runs
    requests = queue.SimpleQueue()
    threading.Thread(target=reading, args=(requests,), daemon=True).start()
    try:
        facts, answer = start()
    except Exception as error:  # a broken installation raises whatever it likes
        reply({"missing": said(error)})
        os._exit(1)
    reply(facts)
    while True:
        request, data = requests.get()
        try:
            found = answer(request, data)
            reply(*found if isinstance(found, tuple) else (found,))
        except Exception as error:
            reply({"error": said(error)})


def reading(requests):
    """Takes requests as they come; at the end of the input the process ends, whatever it is doing."""
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        data = bytearray(request.get("bytes", 0))
        view, read = memoryview(data), 0
        while read < len(data):
            count = sys.stdin.buffer.readinto(view[read:])
            if not count:
                os._exit(0)
            read += count
        requests.put((request, data))
    os._exit(0)


def said(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def supervised(work, held, bounded=False):
    """Calls work() in a child, and ends with its exit code, or 128 and the number of the signal that ended it; with 0 when nobody
    waits for it any more.

    Args:
        work: gives an exit code.
        held: number of a pipe or socket; when its other end is closed the work ends.
        bounded: of stderr, a file, only the last words are kept.
    """
    if not hasattr(os, "fork"):
        os._exit(work())
    if sys.platform == "linux":
        watching(lambda: watching(work, held, bounded), held)
    watching(work, held, bounded)


def watching(work, held, bounded=False):
    """As `supervised`, of one process that watches. Does not return."""
    above = os.getppid()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGCONT)  # wakes it, also where the work has stopped it
    words = os.pipe() if bounded else None
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    before = {name: signal.signal(getattr(signal, name), signal.SIG_IGN) for name in SHARED_SIGNALS}
    for number in (signal.SIGCHLD, signal.SIGCONT):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake)
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        for name, handler in {**before, "SIGCHLD": signal.SIG_DFL, "SIGCONT": signal.SIG_DFL}.items():
            signal.signal(getattr(signal, name), handler)
        if words:
            os.dup2(words[1], 2)
        for end in (woken, wake, *(words or ())):
            os.close(end)
        ending_with(parent, work)
    if words:
        os.close(words[1])
        os.set_blocking(words[0], False)
    kept = Kept(words[0]) if words else None
    status = watched(child, above, held, woken, kept)
    end_all(child)
    code = os.waitstatus_to_exitcode(status or 0)
    code = 128 - code if code < 0 else code
    if kept:
        kept.read()
        kept.end(code)
    os._exit(code)


def ending_with(parent, work):
    """Work in a session of its own, which no thread of it can prolong."""
    code = 1
    try:
        os.setsid()
        if sys.platform == "linux":
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        else:
            threading.Thread(target=look_after, args=(parent,), daemon=True).start()
        if os.getppid() == parent:
            code = work() or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def look_after(parent):
    while os.getppid() == parent:
        time.sleep(0.25)
    os.killpg(0, signal.SIGKILL)


def watched(child, above, held, woken, kept):
    """Waits until the child has ended, whose status it returns, or the parent has, or the other end of `held` is closed."""
    poll = select.poll()
    poll.register(held, select.POLLHUP)
    poll.register(woken, select.POLLIN)
    if kept:
        poll.register(kept.pipe, select.POLLIN)
    while os.getppid() == above:
        for number, _ in poll.poll():
            if number == held:
                return None
            if number == woken:
                os.read(woken, 4096)
                gone = dict(iter(lambda: reaped(os.WNOHANG), (0, 0)))
                if child in gone:
                    return gone[child]
            elif not kept.read():
                poll.unregister(number)
    return None


def reaped(options):
    """A child of this process that has ended, and its status: those whose parents have ended are its children, too."""
    try:
        return os.waitpid(-1, options)
    except ChildProcessError:
        return 0, 0


def end_all(child):
    """Ends the child and all that it has started."""
    gone = None
    while gone != 0:
        for number in (-child, *children()):
            try:
                os.kill(number, signal.SIGKILL)
            except OSError:  # it is gone, or of another user
                pass
        gone, _ = reaped(0)


def children():
    """Those of this process, where the system tells."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(number) for number in file.read().split()]
    except OSError:
        return []


def prctl(request, argument):
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(request, int(argument), 0, 0, 0)


class Kept:
    """The last words of a pipe, in the file that stderr is."""

    def __init__(self, pipe):
        self.pipe = pipe
        self.words = b""

    def read(self):
        """Takes what there is. Returns whether there may be more."""
        try:
            while part := os.read(self.pipe, 2**16):
                self.write(self.words + part)
        except BlockingIOError:
            return True
        return False

    def end(self, code):
        """Names the signal that ended the child."""
        if code > 128:
            name = signal.Signals(code - 128).name
            self.write(self.words.rstrip() + f" ({name})".encode())

    def write(self, words):
        self.words = words[-LAST_WORDS:]
        try:
            os.pwrite(2, self.words, 0)
            os.ftruncate(2, len(self.words))
        except OSError:  # a full disk: they are only words
            pass
