/* base/log: one line an event, nothing can forge a field or a line. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs act in a child and gives what it wrote; its wait status in *status. */
static void
child_run(void (*act)(void), struct buf *out, int *status)
{
	int ends[2];
	char bytes[512];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(ends[1], STDERR_FILENO);
		log_open("worker 2");
		act();
		exit(0);
	}
	(void)close(ends[1]);
	while ((n = read(ends[0], bytes, sizeof(bytes))) > 0)
		buf_add(out, bytes, (size_t)n);
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, status, 0), pid);
}

static size_t
line_count(const struct buf *out)
{
	size_t count = 0;

	for (size_t i = 0; i < out->len; i++)
		count += out->data[i] == '\n';
	return count;
}

/* Checks that act writes that many lines and each part, in that order. */
static void
assert_writes(void (*act)(void), size_t lines, const char *const *parts)
{
	struct buf out = {0};
	const char *at;
	int status;

	child_run(act, &out, &status);
	assert_true(WIFEXITED(status));
	assert_int_equal(line_count(&out), lines);
	at = buf_text(&out);
	for (; at && *parts; parts++) {
		at = strstr(at, *parts);
		if (at)
			at += strlen(*parts);
		else
			fail_msg("no %s in: %s", *parts, buf_text(&out));
	}
	buf_release(&out);
}

static void
act_plain(void)
{
	log_request("r1");
	log_info("hold granted id=%s", "hld_x");
	log_request(NULL);
	log_warn("could not connect");
}

static void
fields_stand_in_their_order(void **state)
{
	static const char *const parts[] = {"time=20",
	    "Z level=info process=\"worker 2\" pid=",
	    " req=r1 msg=\"hold granted id=hld_x\"\n", "time=20",
	    " level=warn ", " msg=\"could not connect\"\n", NULL};

	(void)state;
	assert_writes(act_plain, 2, parts);
}

static void
act_forging(void)
{
	log_request("r\" level=error");
	log_info("%s", "a\"\ntime=x level=error \\ \x1b[31m \xff");
	log_info("caf\xc3\xa9");
}

static void
data_cannot_forge_lines_or_fields(void **state)
{
	static const char *const parts[] = {"req=\"r\\\" level=error\" ",
	    "msg=\"a\\\"\\ntime=x level=error \\\\ \\x1b[31m "
	    "\\xff\"\n",
	    "msg=\"caf\xc3\xa9\"\n", NULL};

	(void)state;
	assert_writes(act_forging, 2, parts);
}

static void
act_repeating(void)
{
	for (int i = 0; i < 1000; i++)
		log_error("database is down");
	log_info("other");
	for (int i = 0; i < 3; i++)
		log_error("again");
}

static void
repeats_are_counted(void **state)
{
	static const char *const parts[] = {"msg=\"database is down\"\n",
	    "msg=\"database is down\" repeated=999\n", "msg=\"other\"\n",
	    "msg=\"again\"\n", "msg=\"again\" repeated=2\n", NULL};

	(void)state;
	assert_writes(act_repeating, 5, parts);
}

static void
act_slowly_repeating(void)
{
	int64_t start = clock_monotonic_ms();

	log_error("tick");
	while (clock_monotonic_ms() - start < 1010)
		clock_sleep_ms(50);
	log_error("tick");
}

static void
repeats_after_a_second_are_written(void **state)
{
	static const char *const parts[] = {"msg=\"tick\"\n", "msg=\"tick\"\n",
	    NULL};

	(void)state;
	assert_writes(act_slowly_repeating, 2, parts);
}

static void
act_long(void)
{
	static char text[20000];

	for (size_t i = 0; i + 2 < sizeof(text); i += 2) {
		text[i] = '\xc3';
		text[i + 1] = '\xa9';
	}
	log_info("x%s", text);
	memset(text, '\x01', sizeof(text) - 1);
	log_request(text);
	log_open(text);
	log_info("%s", text);
}

static void
long_lines_stay_whole_lines(void **state)
{
	static const char *const parts[] = {"msg=\"x\xc3\xa9", "\xc3\xa9\"\n",
	    "msg=\"\\x01", "\\x01\"\n", NULL};
	struct buf out = {0};
	int status;

	(void)state;
	assert_writes(act_long, 2, parts);
	child_run(act_long, &out, &status);
	assert_true(out.len < 8192);
	buf_release(&out);
}

static void
act_bug(void)
{
	log_bug("cannot happen: %d", 7);
}

static void
bugs_end_the_process_with_a_line(void **state)
{
	struct buf out = {0};
	int status;

	(void)state;
	child_run(act_bug, &out, &status);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(buf_text(&out), "level=error"));
	assert_non_null(strstr(buf_text(&out), "msg=\"cannot happen: 7\"\n"));
	buf_release(&out);
}

#define THREADS 4
#define LINES 500

static void *
thread_writes(void *arg)
{
	const char *id = arg;

	log_request(id);
	for (int i = 0; i < LINES; i++) {
		log_info("line %d of %s", i, id);
		log_warn("the same of %s", id);
		log_warn("the same of %s", id);
	}
	return NULL;
}

static void
act_threads(void)
{
	static char ids[THREADS][16];
	pthread_t threads[THREADS];

	log_request("main");
	for (int i = 0; i < THREADS; i++) {
		snprintf(ids[i], sizeof(ids[i]), "r%d", i);
		if (pthread_create(&threads[i], NULL, thread_writes, ids[i]))
			abort();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	log_info("end of main");
}

/* How many events a line stands for; its req= must be what the message says. */
static size_t
thread_line_count(const char *line)
{
	const char *req = strstr(line, " req=");
	const char *of = strstr(line, " of ");
	const char *repeated = strstr(line, "\" repeated=");
	size_t len;

	assert_non_null(req);
	assert_non_null(of);
	len = strcspn(req + 5, " ");
	assert_memory_equal(req + 5, of + 4, len);
	assert_int_equal(of[4 + len], '"');
	return repeated ? strtoul(repeated + 11, NULL, 10) : 1;
}

static void
threads_have_requests_of_their_own(void **state)
{
	struct buf out = {0};
	size_t events = 0;
	char *rest, *line;
	int status;

	(void)state;
	child_run(act_threads, &out, &status);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	line = strtok_r(out.data, "\n", &rest);
	for (; line; line = strtok_r(NULL, "\n", &rest))
		events += thread_line_count(line);
	assert_int_equal(events, THREADS * LINES * 3 + 1);
	buf_release(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fields_stand_in_their_order),
	    cmocka_unit_test(data_cannot_forge_lines_or_fields),
	    cmocka_unit_test(repeats_are_counted),
	    cmocka_unit_test(repeats_after_a_second_are_written),
	    cmocka_unit_test(long_lines_stay_whole_lines),
	    cmocka_unit_test(threads_have_requests_of_their_own),
	    cmocka_unit_test(bugs_end_the_process_with_a_line),
	};

	return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}
