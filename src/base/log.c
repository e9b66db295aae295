/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

#include "base/text.h"

/* Room for a path and a phrase about it. */
enum {
    MESSAGE_MAX = PATH_MAX + 1024
};

/* log_setup() sets these before there are threads; then they are only read. */
static struct {
    const char *program;
    enum log_sink sink;
    enum log_level level;
} setup = { "framefs", LOG_SINK_STDERR, LOG_LEVEL_WARNING };

void log_setup(const char *program, enum log_sink sink, enum log_level level)
{
    setup.program = program;
    setup.sink = sink;
    setup.level = level;
    if (sink == LOG_SINK_SYSLOG)
        openlog(program, LOG_PID, LOG_DAEMON);
}

static int syslog_priority(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_ERROR:
        return LOG_ERR;
    case LOG_LEVEL_WARNING:
        return LOG_WARNING;
    case LOG_LEVEL_INFO:
        return LOG_INFO;
    case LOG_LEVEL_DEBUG:
        break;
    }
    return LOG_DEBUG;
}

void log_message(enum log_level level, const char *format, ...)
{
    char message[MESSAGE_MAX];
    char text[TEXT_ESCAPED_SIZE(MESSAGE_MAX)];
    va_list args;

    if (level > setup.level)
        return;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    text_escape(message, TEXT_PLAIN_PRINTABLE, text, sizeof(text));

    if (setup.sink == LOG_SINK_SYSLOG)
        syslog(syslog_priority(level), "%s", text);
    else
        fprintf(stderr, "%s: %s\n", setup.program, text);
}
