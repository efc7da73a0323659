/*
 * One line an event on standard error, in logfmt:
 *   time= level= process= pid= req= msg="…" repeated=
 * What the message tells in name=value words stays inside its quotes, so that
 * no value from outside can pass for a field. Any thread, but log_open before
 * there are several.
 * Messages: lower case, no full stop; "could not" may work later, "cannot"
 * never will. LOG_ERROR means that somebody must act. A line that repeats
 * within a second is counted, not repeated.
 * Never log a secret, a signature, a whole pay-page address or a mail address.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Names the process in each line ("worker 2"). Default: "lastpair". */
void
log_open(const char *process);
/* Tags each following line of this thread until it is set to NULL. The text is
 * copied. */
void
log_request(const char *id);
/* level and a printf message */
void
log_write(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)

/* Ends the process on a bug of ours, with a line that says where. */
void
log_bug(const char *format, ...)
    __attribute__((noreturn, format(printf, 1, 2)));

#endif
