/* SPDX-License-Identifier: MIT */
/*
 * The view that fills the screen. A task for each thing that may come (the program's counters, its tasks, keys,
 * signals) sends it to one channel; this one receives, and draws what has changed.
 */
#include "cli/top.h"

#include <json-c/json.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/terminal.h"

struct event {
    enum { EVENT_STATS, EVENT_TASKS, EVENT_SILENCE, EVENT_GONE, EVENT_KEY, EVENT_SIGNAL } kind;
    int number;                         /* the key, the signal, the errno */
    struct json_object *answer;         /* the receiver's */
};

enum { EVENTS = 16, CAREFUL = 50 };     /* tasks are asked for so rarely that it costs a fiftieth of a shard at most */

struct live {
    struct coir_group group;
    struct coir_channel channel;
    struct event event;                 /* that was received */
    struct top_model model;
    struct top_look look;
    size_t first;                       /* of the table's rows, on the screen */
    int64_t heard;                      /* when the program last answered; ns of coir_now() */
    int silence;                        /* since then: why it does not */
    bool helps, gone, quits;
    struct coir_signals *signals;       /* from before the terminal is taken until after it is given back */
    int signal;                         /* that ends it */
    char *frame;                        /* what is to be written */
    size_t len;
};

/* ---- what comes ---- */

/* Asks the same again and again. */
struct asker {
    coir_frame_void;
    coir_args(struct coir_channel *to; const char *where; const char *request; int64_t interval;);
    int64_t next;
    struct event event;
    struct top_ask ask;
    struct coir_channel_send send;
    struct coir_sleep_until sleep;
};
static coir_declare(asker);

static struct event event_of(const struct top_ask *ask, const char *request)
{
    const int status = coir_status(ask);

    if (status == 0)
        return (struct event){ .kind = request[0] == 's' ? EVENT_STATS : EVENT_TASKS, .answer = ask->result };
    return (struct event){ .kind = top_is_gone(status) ? EVENT_GONE : EVENT_SILENCE, .number = status };
}

/* What the answer has cost the shard that it cost most. */
static int64_t cost_of(struct json_object *answer)
{
    struct json_object *shards = NULL;
    int64_t most = 0;

    if (!json_object_object_get_ex(answer, "shards", &shards) || !json_object_is_type(shards, json_type_array))
        return 0;
    for (size_t i = 0; i < json_object_array_length(shards); i++) {
        const int64_t took = top_number(json_object_array_get_idx(shards, i), "took_ns");
        most = took > most ? took : most;
    }
    return most < 60 * COIR_S ? most : 60 * COIR_S;
}

coir_body(asker, f) {
    for (;;) {
        f->next = coir_now() + f->interval;
        coir_await(f, &f->ask, top_ask, .where = f->where, .request = f->request);
        f->event = event_of(&f->ask, f->request);
        if (f->event.kind == EVENT_TASKS && coir_now() + CAREFUL * cost_of(f->event.answer) > f->next)
            f->next = coir_now() + CAREFUL * cost_of(f->event.answer);
        coir_await(f, &f->send, coir_channel_send, .channel = f->to, .item = &f->event);
        if (coir_status(&f->send) < 0)
            json_object_put(f->event.answer);
        coir_check(f, &f->send);
        coir_try(f, &f->sleep, coir_sleep_until, .at = f->next);
    }
} coir_end

struct keys {
    coir_frame_void;
    coir_args(struct coir_channel *to;);
    struct terminal_keys state;
    unsigned char buf[64];
    size_t n, i;
    struct event event;
    struct coir_read read;
    struct coir_channel_send send;
};
static coir_declare(keys);

coir_body(keys, f) {
    f->state = (struct terminal_keys){ 0 };
    f->event = (struct event){ .kind = EVENT_KEY };
    for (;;) {
        coir_get(f, f->n, &f->read, coir_read, .fd = STDIN_FILENO, .buf = f->buf, .len = sizeof f->buf);
        if (f->n == 0)
            coir_return(f);                 /* the terminal is gone */
        for (f->i = 0; f->i < f->n; f->i++) {
            f->event.number = terminal_key(&f->state, f->buf[f->i]);
            if (f->event.number != KEY_NONE)
                coir_try(f, &f->send, coir_channel_send, .channel = f->to, .item = &f->event);
        }
    }
    coir_finally(f) {
        coir_channel_close(f->to);          /* without keys there is no end */
    }
} coir_end

struct signals {
    coir_frame_void;
    coir_args(struct coir_channel *to; struct coir_signals *signals;);
    struct event event;
    struct coir_signal_next next;
    struct coir_channel_send send;
};
static coir_declare(signals);

coir_body(signals, f) {
    for (;;) {
        coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
        f->event = (struct event){ .kind = EVENT_SIGNAL, .number = f->next.result.number };
        coir_try(f, &f->send, coir_channel_send, .channel = f->to, .item = &f->event);
    }
    coir_finally(f) {
        coir_channel_close(f->to);
    }
} coir_end

/* ---- what it does with it ---- */

static void stop_for_a_while(void)
{
    terminal_leave();
    raise(SIGSTOP);
    terminal_enter();
}

static void obey_signal(struct live *v, int number)
{
    if (number == SIGTSTP) {
        stop_for_a_while();
    } else if (number == SIGCONT) {         /* whoever stopped this has had the terminal meanwhile */
        terminal_leave();
        terminal_enter();
    } else if (number != SIGWINCH) {
        v->signal = number;
        v->quits = true;
    }
}

static void order_by(struct live *v, enum top_order order)
{
    v->look.order = order;
    v->first = 0;
}

static void scroll(struct live *v, long by)
{
    if (by < 0 && (size_t)-by > v->first)
        v->first = 0;
    else
        v->first += (size_t)by;             /* what is too far the next drawing sees */
}

static void obey_key(struct live *v, int key)
{
    int rows, columns;

    terminal_size(&rows, &columns);
    v->helps = !v->helps && (key == 'h' || key == '?');
    switch (key) {
    case 'q': case 'Q': v->quits = true; break;
    case 'c': order_by(v, TOP_BY_COUNT); break;
    case 't': order_by(v, TOP_BY_TASK); break;
    case 's': order_by(v, TOP_BY_PLACE); break;
    case 'w': order_by(v, TOP_BY_WAIT); break;
    case 'r': v->look.reversed = !v->look.reversed; break;
    case 'p': v->look.unfolded = !v->look.unfolded; break;
    case KEY_UP: case 'k': scroll(v, -1); break;
    case KEY_DOWN: case 'j': scroll(v, 1); break;
    case KEY_PAGE_UP: scroll(v, -(rows / 2)); break;
    case KEY_PAGE_DOWN: case ' ': scroll(v, rows / 2); break;
    case KEY_HOME: v->first = 0; break;
    case KEY_END: v->first = SIZE_MAX / 2; break;
    default: break;
    }
}

static void obey(struct live *v)
{
    const struct event *e = &v->event;
    int err = 0;

    switch (e->kind) {
    case EVENT_STATS: err = top_model_stats(&v->model, e->answer); break;
    case EVENT_TASKS: err = top_model_tasks(&v->model, e->answer); break;
    case EVENT_GONE: v->gone = v->quits = true; break;
    case EVENT_SILENCE: v->silence = e->number; break;
    case EVENT_KEY: obey_key(v, e->number); break;
    case EVENT_SIGNAL: obey_signal(v, e->number); break;
    }
    if (e->kind == EVENT_STATS && !err) {
        v->heard = coir_now();
        v->silence = 0;
    } else if (err) {
        v->silence = err;
    }
}

/* ---- drawing ---- */

/* Writes as much of a line as fits, and nothing that the terminal would take for a command. */
static void put_text(FILE *to, const char *text, int columns)
{
    mbstate_t state = { 0 };
    int used = 0;

    for (size_t left = strlen(text); left > 0;) {
        wchar_t c;
        size_t n = mbrtowc(&c, text, left, &state);
        const bool bad = n == (size_t)-1 || n == (size_t)-2 || n == 0 || wcwidth(c) < 0;
        const int width = bad ? 1 : wcwidth(c);
        if (used + width > columns)
            return;
        if (bad) {
            state = (mbstate_t){ 0 };
            n = n >= (size_t)-2 || n == 0 ? 1 : n;
            fputc('?', to);
        } else {
            fwrite(text, 1, n, to);
        }
        used += width;
        text += n;
        left -= n;
    }
}

static const char *begin_style(enum top_style style)
{
    const bool colours = terminal_has_colours();

    switch (style) {
    case TOP_TITLE: return "\x1b[1m";
    case TOP_HEADING: return "\x1b[7m";
    case TOP_ALARM: return colours ? "\x1b[1;31m" : "\x1b[1m";
    default: return "";
    }
}

static void put_line(FILE *to, enum top_style style, const char *text, int columns)
{
    fputs(begin_style(style), to);
    put_text(to, text, columns);
    if (style == TOP_HEADING)
        fputs("\x1b[K", to);                /* the bar goes on to the edge */
    fputs("\x1b[0m\x1b[K", to);
}

static void add_help(struct top_lines *l)
{
    static const char *const keys[] = {
        "q                      quit", "up, down, k, j         scroll the tasks by a line",
        "PgUp, PgDn, Home, End  by a screen, to the first, to the last",
        "c, t, s, w             sort by count, by task, by where it stands, by what it waits for",
        "r                      the other way round",
        "p                      a row for each place where tasks stand, or for each line that spawned them",
    };

    top_add(l, TOP_HEADING, "keys");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        top_add(l, TOP_PLAIN, "%s", keys[i]);
    top_add(l, TOP_HEADING, "columns");
    top_add(l, TOP_PLAIN, "load    how much of a processor the shard's thread uses");
    top_add(l, TOP_PLAIN, "in-fl   operations that have begun and not ended");
    top_add(l, TOP_PLAIN, "queue   the most tasks that one turn found ready, since the program began");
    top_add(l, TOP_PLAIN, "slow    steps that took too long");
    top_add(l, TOP_PLAIN, "/s      per second");
}

static void add_silence(struct top_lines *l, const struct live *v)
{
    if (v->silence)
        top_add(l, TOP_ALARM, "no answer for %.0f s: %s", (double)(coir_now() - v->heard) / 1e9,
                coir_strerror(v->silence));
}

/* Puts the lines together: the head, then the table from its heading on, scrolled. */
static void choose_lines(struct live *v, struct top_lines *l, int rows)
{
    struct top_lines table = { 0 };
    size_t room, body;

    top_add_head(l, &v->model, &v->look);
    add_silence(l, v);
    if (v->helps)
        add_help(&table);
    else
        top_add_tasks(&table, &v->model, &v->look);
    room = (size_t)rows > l->n + 2 ? (size_t)rows - l->n - 2 : 0;      /* less its heading and the last line */
    body = table.n > 0 ? table.n - 1 : 0;
    if (v->first > body - (body < room ? body : room))
        v->first = body - (body < room ? body : room);
    for (size_t i = 0; i < table.n; i++) {
        if (i == 0 || (i > v->first && i <= v->first + room))
            top_add(l, table.line[i].style, "%s", table.line[i].text);
    }
    if (l->n < (size_t)rows && body > room && !v->helps)
        top_add(l, TOP_TITLE, "%zu to %zu of %zu  q quit  h help", v->first + 1, v->first + room, body);
    else if (l->n < (size_t)rows)
        top_add(l, TOP_TITLE, "q quit  h help");
    top_lines_free(&table);
}

/* Makes the frame: the screen is written over, not cleared, so that it does not flicker. */
static void draw(struct live *v)
{
    struct top_lines lines = { 0 };
    int rows, columns;
    FILE *to;

    terminal_size(&rows, &columns);
    v->look.columns = columns;
    v->look.shards = rows > 20 ? (size_t)(rows / 2 - 6) : 3;
    choose_lines(v, &lines, rows);
    free(v->frame);
    v->frame = NULL;
    to = open_memstream(&v->frame, &v->len);
    if (to) {
        fputs("\x1b[H", to);
        for (size_t i = 0; i < lines.n && i < (size_t)rows; i++) {
            if (i > 0)
                fputs("\r\n", to);
            put_line(to, lines.line[i].style, lines.line[i].text, columns);
        }
        fputs("\x1b[J", to);
        fclose(to);
    }
    top_lines_free(&lines);
}

/* ---- the view ---- */

static int begin(struct top_live *f)
{
    struct live *v = f->state = calloc(1, sizeof *v);
    int err = v ? coir_channel_init(&v->channel, sizeof v->event, EVENTS) : -ENOMEM;

    if (err) {
        json_object_put(f->first);
        free(v);
        f->state = NULL;
        return err;
    }
    v->heard = coir_now();
    v->event = (struct event){ .kind = EVENT_STATS, .answer = f->first };
    obey(v);
    v->signals = coir_signals_open(SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT);
    return v->signals ? terminal_enter() : -errno;
}

static int spawn_all(struct top_live *f)
{
    struct live *v = f->state;
    struct coir_channel *const to = &v->channel;
    struct coir_task *const tasks[] = {
        coir_new(keys, .to = to),
        coir_new(signals, .to = to, .signals = v->signals),
        coir_new(asker, .to = to, .where = f->where, .request = "tasks\n", .interval = f->interval),
        coir_new(asker, .to = to, .where = f->where, .request = "stats\n", .interval = f->interval),
    };
    int err = 0;

    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        const int one = coir_spawn(&v->group, tasks[i]);
        err = err ? err : one;
    }
    return err;
}

/* Gives the terminal back, and what nobody has received. */
static void end(struct live *v)
{
    terminal_leave();
    coir_signals_close(v->signals);      /* NULL is allowed */
    while (coir_channel_try_recv(&v->channel, &v->event) == 0)
        json_object_put(v->event.answer);
    if (v->gone)
        printf("%s (%d) has ended\n", top_string(v->model.stats, "program"), (int)top_number(v->model.stats, "pid"));
    coir_channel_destroy(&v->channel);
    top_model_free(&v->model);
    free(v->frame);
    free(v);
}

coir_body(top_live, f) {
    f->state = NULL;
    f->begun = false;
    f->err = begin(f);
    if (f->err)
        coir_fail(f, f->err);
    f->begun = true;
    coir_group_open(f, &f->state->group);
    f->err = spawn_all(f);
    if (f->err)
        coir_fail(f, f->err);
    while (!f->state->quits) {
        if (coir_channel_queued(&f->state->channel) == 0) {
            draw(f->state);
            coir_try(f, &f->write, coir_write_all, .fd = STDOUT_FILENO, .buf = f->state->frame, .len = f->state->len);
        }
        coir_get(f, f->more, &f->recv, coir_channel_recv, .channel = &f->state->channel, .item = &f->state->event);
        if (!f->more)
            break;
        obey(f->state);
    }
    f->result = f->state->signal;
    coir_finally(f) {
        if (f->begun) {
            coir_group_cancel(&f->state->group);
            coir_await(f, &f->wait, coir_group_wait, .group = &f->state->group);
        }
        if (f->state)
            end(f->state);
    }
} coir_end
