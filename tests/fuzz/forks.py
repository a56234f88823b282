"""Started as the hook is (`python -I -S -X utf8 forks.py PACKAGE`): runs it once for each request, each in a fork.

A request is a line of JSON on standard input: `argv, environ, cwd, folder`.  In `folder` lies the file `stdin`, and the
files `stdout`, `stderr` and `outside` are made: the last names what the hook did to the system beyond reading, a line
for each, unless it was to something below the request's `home`.  The answer is a line: the exit status, or -1 where
the run did not end within LIMIT_S.

The fork runs `main` with its own descriptors, environment and folder, so it is the whole hook; only the imports are
made before.
"""

import json
import os
import select
import signal
import sys

sys.path.append(sys.argv[1])
sys.dont_write_bytecode = True  # what the interpreter keeps for itself is not the hook's doing

import rehydrate.compaction  # noqa: E402
import rehydrate.gate  # noqa: E402
import rehydrate.hook  # noqa: E402
import rehydrate.invocation  # noqa: E402
from rehydrate.clients import module  # noqa: E402

for client in ("antigravity", "claude-code"):
    for each in ("contract", "layout", "transcript", "lineage"):
        module(client, each)

LIMIT_S = 60
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.chmod", "os.chown", "os.link", "os.mkdir", "os.mkfifo", "os.mknod", "os.remove", "os.rename", "os.rmdir",
           "os.symlink", "os.truncate", "os.utime")  # fmt: skip
ACTS = ("os.exec", "os.fork", "os.forkpty", "os.kill", "os.posix_spawn", "os.system", "pty.spawn", "socket.connect",
        "socket.bind", "subprocess.Popen")  # fmt: skip


def watch(home, log):
    """Let whatever is changed outside of the home, or done to other processes, be written to a descriptor."""

    def seen(event, given):
        if event == "open":
            paths = [given[0]] if isinstance(given[2], int) and given[2] & WRITING else []
        elif event in CHANGES:
            paths = [each for each in given if isinstance(each, (str, bytes))]
        else:
            paths = [None] if event in ACTS else []
        for path in paths:
            if path is None or not os.path.abspath(os.fsdecode(path)).startswith(home + "/"):
                os.write(log, f"{event} {given!r}\n".encode("utf-8", "replace"))

    sys.addaudithook(seen)


def run(request):
    os.environ.clear()
    os.environ.update(request["environ"])
    os.chdir(request["cwd"])
    folder = request["folder"]
    os.dup2(os.open(f"{folder}/stdin", os.O_RDONLY), 0)
    for name, fd in (("stdout", 1), ("stderr", 2), ("outside", 99)):
        os.dup2(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), fd)
    os.set_inheritable(99, False)
    watch(request["home"], 99)
    rehydrate.hook.main(request["argv"])


def serve():
    answers = os.dup(1)
    for line in sys.stdin:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            os.close(answers)
            try:
                run(json.loads(line))
            finally:
                os._exit(70)  # main never comes back
        os.close(writer)
        ended = select.select([reader], [], [], LIMIT_S)[0]
        if not ended:
            os.kill(child, signal.SIGKILL)
        os.close(reader)
        _, status = os.waitpid(child, 0)
        os.write(answers, b"%d\n" % (os.waitstatus_to_exitcode(status) if ended else -1))


serve()
