# Runs a command on a terminal of 120 by 40, as a person would: types the given keys once a text is seen, copies what is shown to
# stdout without its escape codes, and ends with the command's code. Usage: terminal.py SEEN KEYS COMMAND...; keys part at "|". The key HANGUP
# closes the terminal, as a window that is shut does.
import fcntl, os, pty, re, select, struct, sys, termios, time

seen, keys, command = sys.argv[1].encode(), sys.argv[2].encode().decode('unicode_escape').encode().split(b'|'), sys.argv[3:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 120, 0, 0))
shown = b''
while True:
    ready, _, _ = select.select([terminal], [], [], 1)
    if not ready:
        continue
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part:
        break
    shown += part
    if keys and seen in shown:
        for key in keys:
            time.sleep(0.5)
            if key == b'HANGUP':
                os.close(terminal)
            else:
                os.write(terminal, key)
        if b'HANGUP' in keys:
            break
        keys = []
_, status = os.waitpid(pid, 0)
sys.stdout.write(re.sub(rb'\x1b\[[0-9;?]*[a-zA-Z]', b'', shown).decode('utf8', 'replace'))
sys.exit(os.waitstatus_to_exitcode(status))
