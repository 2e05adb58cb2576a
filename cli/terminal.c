/* SPDX-License-Identifier: MIT */
/*
 * Taking the terminal and giving it back. What gives it back may run in a signal handler: it only calls write(2) and
 * tcsetattr(3), on what was kept before.
 */
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios usual;
static volatile sig_atomic_t taken;

/* The other screen, no cursor; and back. */
static const char ENTER[] = "\x1b[?1049h\x1b[?25l\x1b[2J", LEAVE[] = "\x1b[0m\x1b[?25h\x1b[?1049l";

static void put(const char *text, size_t len)
{
    while (len > 0) {
        const ssize_t n = write(STDOUT_FILENO, text, len);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return;
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
    }
}

bool terminal_is_there(void)
{
    const char *kind = getenv("TERM");

    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

bool terminal_has_colours(void)
{
    const char *no = getenv("NO_COLOR");

    return !no || !*no;
}

void terminal_size(int *rows, int *columns)
{
    struct winsize size;

    *rows = 24;
    *columns = 80;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        return;
    *rows = size.ws_row ? size.ws_row : *rows;
    *columns = size.ws_col ? size.ws_col : *columns;
}

void terminal_leave(void)
{
    if (!taken)
        return;
    taken = 0;
    put(LEAVE, sizeof LEAVE - 1);
    tcsetattr(STDIN_FILENO, TCSANOW, &usual);
}

/* The handler is gone already (SA_RESETHAND): the signal ends the program as it would have. */
static void crashed(int number)
{
    terminal_leave();
    raise(number);
}

static void watch_crashes(void)
{
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGQUIT };
    struct sigaction act = { .sa_handler = crashed, .sa_flags = SA_RESETHAND };

    sigfillset(&act.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &act, NULL);
}

int terminal_enter(void)
{
    struct termios raw;

    if (taken)
        return 0;
    if (tcgetattr(STDIN_FILENO, &usual) < 0)
        return -errno;
    raw = usual;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);       /* not ISIG: ^C and ^Z stay signals */
    raw.c_iflag &= ~(tcflag_t)IXON;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    watch_crashes();
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
        return -errno;
    taken = 1;
    put(ENTER, sizeof ENTER - 1);
    return 0;
}
