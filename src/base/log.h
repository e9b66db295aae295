/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_LOG_H
#define BASE_LOG_H

/* How much a message matters, the most important first. */
enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG,
};

/* Destination of messages. */
enum log_sink {
    LOG_SINK_STDERR, /* "PROGRAM: message" on standard error */
    LOG_SINK_SYSLOG, /* syslog or the journal, facility daemon */
};

/*
 * Choose the program's name, the destination, and the least important level
 * that is printed.  `program` must outlive all messages.  Call this before
 * there are threads.
 */
void log_setup(const char *program, enum log_sink sink, enum log_level level);

/* Print one message, a lower-case phrase.  It takes one line whatever the names
   in it contain, as control characters are escaped. */
void log_message(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
