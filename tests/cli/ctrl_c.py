"""ctrl_c.py FILE LINES COMMAND...: runs the command in a terminal of its own and presses Ctrl-C when
FILE has so many lines.  Prints what the terminal shows; the exit code is the command's."""
import os
import pty
import select
import sys
import time

path, lines, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]


def lines_so_far():
    try:
        with open(path, "rb") as f:
            return f.read().count(b"\n")
    except FileNotFoundError:
        return 0


child, terminal = pty.fork()
if child == 0:
    os.execvp(command[0], command)
pressed, deadline = False, time.monotonic() + 120
while time.monotonic() < deadline:
    if not pressed and lines_so_far() >= lines:
        os.write(terminal, b"\x03")
        pressed = True
    if select.select([terminal], [], [], 0.02)[0]:
        try:
            shown = os.read(terminal, 4096)
        except OSError:  # the terminal's last process has left
            break
        os.write(1, shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
