"""Processes that a command leaves running are found and killed, though nothing marks them."""

import errno
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest

from streamlab.lab.isolate import supervisor
from streamlab.lab.isolate.process import _read_to_end, run_isolated
from tests.processes import Popen

PATIENCE_S = 600
ROOT = Path(__file__).parents[3]

# Programs that print `up` once they run. Each has the test's own word on its command line.
SLEEP = "import time; print('up', flush=True); time.sleep(600)"
DEAF = (
    "import os, signal, sys\n"
    "for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:\n"
    "    signal.signal(number, signal.SIG_IGN)\n"
    "print('up', flush=True)\n"
    "os.kill(os.getpid(), signal.SIGSTOP)\n"
)
# A tree of 63 processes: two children each, five deep, each in its own session, with ended parents.
BOMB = (
    "import os, time\n"
    "for _ in range(5):\n"
    "    for _ in range(2):\n"
    "        if os.fork() == 0: os.setsid(); break\n"
    "    else: os._exit(0)\n"
    "os.write(1, b'up\\n'); time.sleep(600)\n"
)
# Continues in a new process each millisecond.
HOPPER = (
    "import os, time\n"
    "os.write(1, b'up\\n')\n"
    "for _ in range(10 ** 6):\n"
    "    if os.fork(): os._exit(0)\n"
    "    os.setsid(); time.sleep(0.001)\n"
)


@pytest.fixture
def word():
    """A word on the command lines of this test's processes, which are killed at its end."""
    word = f"test-{uuid.uuid4().hex}"
    yield word
    for process in psutil.process_iter(["cmdline"]):
        if word in (process.info["cmdline"] or ()):
            process.kill()


def alive(word: str) -> list[int]:
    """Return the ids of the running processes with that word on their command lines."""
    found = []
    for process in psutil.process_iter():
        try:
            if word in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def until(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def up(log: Path, count: int) -> bool:
    return log.exists() and log.read_text().count("up\n") >= count


def shell(script: str, *words: str) -> list[str]:
    return ["/bin/sh", "-c", script, "sh", *words]


def python(code: str, word: str) -> tuple[str, ...]:
    return sys.executable, "-I", "-S", "-c", code, word


# `$@` is the program and its word. It has no parent, environment or session in common with the command.
HIDDEN = '(setsid env -i "$@" &) ; while ! grep -q up "$LOG"; do sleep 0.01; done'


def run_hidden(log, word, after="", code=SLEEP, timeout_s=600):
    """Run a shell that starts the program hidden, and then runs `after`."""
    command = shell(HIDDEN + after, *python(code, word))
    return run_isolated(command, log=log, timeout_s=timeout_s, env={"LOG": str(log)})


def test_a_child_without_environment_session_and_parent_is_named_and_killed(tmp_path, word):
    outcome = run_hidden(tmp_path / "log", word)
    assert (outcome.returncode, outcome.timed_out) == (0, False)
    (line,) = outcome.leftovers
    assert "time.sleep(600)" in line and word[:10] in line
    assert alive(word) == []


@pytest.mark.parametrize("code", [SLEEP, DEAF, BOMB, HOPPER], ids=["hidden", "deaf", "bomb", "hop"])
def test_nothing_outlives_a_command_over_its_time(tmp_path, word, code):
    log = tmp_path / "log"
    timeout_s = 1
    while not up(log, 1):  # a busy machine takes longer to come to that
        timeout_s *= 2
        outcome = run_hidden(log, word, "; sleep 600", code, timeout_s)
        assert outcome.timed_out and outcome.returncode == -signal.SIGKILL
        assert alive(word) == []


def test_a_long_list_of_leftovers_is_cut(tmp_path, word):
    code = (
        "import os, time\n"
        "for _ in range(130):\n"
        "    if os.fork() == 0: os.setsid(); time.sleep(600)\n"
    )
    outcome = run_isolated(python(code, word), log=tmp_path / "log", timeout_s=600)
    assert len(outcome.leftovers) == 101
    assert outcome.leftovers[-1] == "and 30 more"
    assert alive(word) == []


def test_the_processes_of_a_killed_supervisor_are_killed_and_the_log_says_so(tmp_path, word):
    log = tmp_path / "log"
    outcome = run_hidden(log, word, "; kill -9 $PPID; sleep 600")
    assert outcome.returncode == -signal.SIGKILL and not outcome.timed_out
    assert "the supervisor ended without a report" in log.read_text()
    assert alive(word) == []
    assert not supervisor.set_subreaper(False)


def test_a_supervisor_that_does_not_answer_is_not_waited_for_for_ever(tmp_path, word, monkeypatch):
    monkeypatch.setattr("streamlab.lab.isolate.process.PATIENCE_S", 1.0)
    outcome = run_hidden(tmp_path / "log", word, "; kill -STOP $PPID; sleep 600", timeout_s=1)
    assert outcome.returncode == -signal.SIGKILL
    assert alive(word) == []


def test_a_report_that_lies_in_the_pipe_is_read_after_the_time_for_it():
    report, reported = os.pipe()
    os.write(reported, b"0\0")
    os.close(reported)
    try:
        assert _read_to_end(report, -1.0) == b"0\0"
    finally:
        os.close(report)


def test_a_child_that_was_there_before_is_spared_when_the_supervisor_is_killed(tmp_path, word):
    with Popen(python(SLEEP, word), stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"up\n"
        run_isolated(shell("kill -9 $PPID; sleep 600"), log=tmp_path / "log", timeout_s=600)
        assert other.poll() is None
        other.kill()


LAB = """
import sys
from pathlib import Path
from streamlab.lab.interrupt import keep_interrupts
from streamlab.lab.isolate.process import run_isolated
keep_interrupts()
log, folder, *command = sys.argv[1:]
run_isolated(command, log=Path(log), timeout_s=600, env={"LOG": log}, folder=Path(folder))
"""


ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])}


def run_program(code: str, *words: str, before: tuple[str, ...] = ()):
    """Run a program of this environment to its end."""
    command = [*before, sys.executable, "-W", "ignore", "-c", code, *words]
    return subprocess.run(
        command, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def start_lab(tmp_path, *command: str) -> Popen:
    """A lab in a process of its own that runs a command."""
    (tmp_path / "folder").mkdir()
    words = [str(tmp_path / "log"), str(tmp_path / "folder"), *command]
    return Popen([sys.executable, "-c", LAB, *words], env=ENVIRONMENT, stderr=subprocess.PIPE)


@pytest.mark.parametrize("code", [SLEEP, DEAF, BOMB, HOPPER], ids=["hidden", "deaf", "bomb", "hop"])
def test_nothing_outlives_a_killed_lab(tmp_path, word, code):
    lab = start_lab(tmp_path, *shell(HIDDEN + "; sleep 600", *python(code, word)))
    until(lambda: up(tmp_path / "log", 1), "the command was not started")
    lab.kill()
    lab.communicate()
    until(lambda: alive(word) == [], "it is still there")
    until(lambda: not (tmp_path / "folder").exists(), "its folder is still there")


def test_a_command_whose_supervisor_is_killed_with_the_lab_is_killed_too(tmp_path, word):
    lab = start_lab(tmp_path, *python(SLEEP, word))
    until(lambda: up(tmp_path / "log", 1), "the command was not started")
    (first,) = (pid for pid in alive(word) if pid in below(lab.pid) and is_first(pid))
    boss = psutil.Process(first).ppid()
    lab.send_signal(signal.SIGSTOP)
    os.kill(boss, signal.SIGKILL)
    lab.kill()
    lab.communicate()
    until(lambda: alive(word) == [], "it is still there")


def below(pid: int) -> set[int]:
    return {process.pid for process in psutil.Process(pid).children(recursive=True)}


def is_first(pid: int) -> bool:
    """Whether it is the command itself and not its supervisor, which has the same words."""
    return "-c" in psutil.Process(pid).cmdline()[:4]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_and_a_second_one_changes_nothing(tmp_path, word, number):
    lab = start_lab(tmp_path, *shell(HIDDEN + "; sleep 600", *python(DEAF, word)))
    until(lambda: up(tmp_path / "log", 1), "the command was not started")
    lab.send_signal(number)
    lab.send_signal(number)
    _, err = lab.communicate(timeout=PATIENCE_S)
    assert b"KeyboardInterrupt" in err
    assert lab.returncode not in (0, -signal.SIGTERM)
    assert alive(word) == []


LOSES = """
import os, signal, sys
from pathlib import Path
from streamlab.lab import interrupt
from streamlab.lab.isolate.process import run_isolated

class Loses:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

interrupt.keep_interrupts()
Loses()
print("lost", flush=True)
try:
    {wait}
except KeyboardInterrupt:
    print("kept", flush=True)
"""


@pytest.mark.parametrize(
    "wait",
    [
        'run_isolated(["/bin/sleep", "600"], log=Path(sys.argv[1]), timeout_s=600)',
        "interrupt.pause(600)",
    ],
)
@pytest.mark.parametrize("again", [False, True])
def test_a_signal_whose_exception_is_lost_is_seen_by_the_next_wait(tmp_path, wait, again):
    code = LOSES.format(wait=wait)
    if again:
        code = code.replace("    Loses()\n", "Loses(); Loses()\n")
    done = run_program(code, str(tmp_path / "log"))
    assert done.stdout == "lost\nkept\n", done.stderr
    assert "KeyboardInterrupt" in done.stderr  # Python says what it has dropped


def test_the_second_signal_is_held_back_and_the_third_is_raised():
    code = """
import os, signal
from streamlab.lab.interrupt import keep_interrupts
keep_interrupts()
for _ in range(4):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        print("kept")
    except KeyboardInterrupt:
        print("raised")
"""
    assert run_program(code).stdout.split() == ["raised", "kept", "raised", "raised"]


def test_a_lab_that_was_started_by_nohup_outlives_its_terminal():
    code = """
import os, signal
from streamlab.lab.interrupt import keep_interrupts
keep_interrupts()
os.kill(os.getpid(), signal.SIGHUP)
print("still here")
"""
    assert run_program(code, before=("nohup",)).stdout == "still here\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_to_an_interpreter_that_ends_leaves_the_exit_code(number):
    code = """
import os, signal, sys
from streamlab.lab.interrupt import keep_interrupts
number = int(sys.argv[1])
class Last:  # of what is torn down: handlers in Python are gone by then
    def __del__(self, kill=os.kill, pid=os.getpid(), number=number):
        kill(pid, number)
        print("torn down")
last = Last()
keep_interrupts()
try:
    os.kill(os.getpid(), number)
except KeyboardInterrupt:
    sys.exit(130)
"""
    done = run_program(code, str(int(number)))
    assert (done.returncode, done.stdout) == (130, "torn down\n")


def test_a_command_that_cannot_be_started_says_so_in_its_log(tmp_path):
    log = tmp_path / "log"
    outcome = run_isolated(["/no/such/program"], log=log, timeout_s=600)
    assert (outcome.returncode, outcome.leftovers) == (127, ())
    assert log.read_text() == (
        "cannot start /no/such/program: [Errno 2] No such file or directory\n"
    )


def test_signals_and_files_are_for_the_command_as_its_parent_has_them(tmp_path):
    log = tmp_path / "log"
    # exec: a shell that waits for a command has its signals blocked now and then.
    script = (
        "readlink /proc/self/fd/0; ls -l /proc/$$/fd | grep -c pipe:; "
        "exec grep Sig /proc/self/status"
    )
    run_isolated(shell(script), log=log, timeout_s=600)
    stdin, pipes, *signals = log.read_text().splitlines()
    assert (stdin, pipes) == ("/dev/null", "0")
    fields = dict(line.split(":\t") for line in signals)
    assert int(fields["SigBlk"], 16) == 0
    # Others may be ignored by whoever started the tests.
    caught = ("CHLD", "HUP", "INT", "PIPE", "TERM", "XFSZ")
    ignored = int(fields["SigIgn"], 16)
    assert [name for name in caught if ignored >> (signal.Signals[f"SIG{name}"] - 1) & 1] == []


def test_a_supervisor_that_cannot_be_started_leaves_nothing_open(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EAGAIN, "no more processes")

    open_before = set(Path("/proc/self/fd").iterdir())
    monkeypatch.setattr("streamlab.lab.isolate.process.subprocess.Popen", refuse)
    with pytest.raises(OSError, match="no more processes"):
        run_isolated(["/bin/true"], log=tmp_path / "log", timeout_s=600)
    assert set(Path("/proc/self/fd").iterdir()) == open_before
    assert supervisor.set_subreaper(False) is False
