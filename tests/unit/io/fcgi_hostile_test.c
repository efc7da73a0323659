/*
 * fcgi_front.c and fcgi.c with peers that are slow, broken or gone. Whatever
 * they do ends their own connection only, and no descriptor is lost.
 */
#include "io/fcgi_step.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>

/* Slow ---------------------------------------------------------------------*/

static void
takes_a_request_in_pieces(void **state)
{
	int peer = join(front);

	(void)state;
	for (size_t i = 0; i < request.len; i++) {
		assert_int_equal(serve(front), 0);
		send_part(peer, i, 1);
	}
	assert_int_equal(serve(front), 1);
	expect_answer(peer);
	(void)close(peer);
}

static void
ends_one_that_takes_too_long(void **state)
{
	int peer = join(front);
	int other = join(front);

	(void)state;
	send_part(peer, 0, 1);
	for (size_t i = 1; i < FCGI_PEER_MS / 1000; i++) {
		assert_int_equal(serve(front), 0);
		now_ms += 1000;
		/* That it goes on does not give it more time. */
		send_part(peer, i, 1);
	}
	now_ms += 999;
	assert_int_equal(serve(front), 0);
	assert_int_equal(front_count(front), 2);
	now_ms += 1;
	assert_int_equal(serve(front), 0);
	assert_int_equal(front_count(front), 1);
	assert_true(is_closed(peer));
	(void)close(peer);
	/* One that waited for our time, not for its peer's, is served. */
	send_part(other, 0, 50);
	assert_int_equal(serve(front), 0);
	send_part(other, 50, request.len - 50);
	assert_int_equal(front_wait(front, NULL, 0, 0), 0);
	now_ms += 3600000;
	assert_int_equal(front_wait(front, NULL, 0, 0), 0);
	assert_int_equal(serve(front), 1);
	expect_answer(other);
	(void)close(other);
}

/* A request with a body that fills the socket. */
static void
add_long(struct buf *out, struct buf *body)
{
	struct post post = {"POST", "/", "600000", {NULL, 0}, 0, true};

	while (body->len < 600000)
		buf_str(body, "0123456789");
	post.body = (struct str){body->data, body->len};
	add_request(out, &post);
}

struct sender {
	int fd;
	struct buf bytes;
	pthread_t thread;
};

static void *
sender_run(void *arg)
{
	struct sender *sender = arg;

	for (size_t i = 0; i < sender->bytes.len; i += 10007) {
		size_t left = sender->bytes.len - i;
		const struct buf part = {sender->bytes.data + i,
		    left < 10007 ? left : 10007, 0};

		send_all(sender->fd, &part);
	}
	return NULL;
}

static void
takes_a_long_body_in_pieces(void **state)
{
	struct sender sender = {.fd = join(front)};
	struct buf body = {0};
	struct request got;
	int fd;

	(void)state;
	add_long(&sender.bytes, &body);
	assert_int_equal(pthread_create(&sender.thread, NULL, sender_run,
			     &sender),
	    0);
	for (int i = 0; i < 3; i++) {
		if (i)
			assert_int_equal(pthread_create(&sender.thread, NULL,
					     sender_run, &sender),
			    0);
		assert_int_equal(front_wait(front, &fd, 1, -1), 1);
		assert_true(fcgi_begin(fcgi, fd, &got));
		assert_int_equal(fcgi_read_body(fcgi, &got, 600000),
		    FCGI_BODY_OK);
		assert_int_equal(got.body.len, body.len);
		assert_memory_equal(got.body.text, body.data, body.len);
		assert_int_equal(pthread_join(sender.thread, NULL), 0);
		assert_true(reply());
		front_keep(front, fd);
		expect_answer(sender.fd);
	}
	(void)close(sender.fd);
	buf_release(&sender.bytes);
	buf_release(&body);
}

/* What is handed out is not closed, but whoever reads from it is told. */
static void
cuts_a_long_body_that_takes_too_long(void **state)
{
	struct buf bytes = {0};
	struct buf body = {0};
	int peer = join(front);
	struct request got;
	int fd;
	int none;

	(void)state;
	add_long(&bytes, &body);
	bytes.len = FCGI_BODY_AHEAD + 1000;
	send_all(peer, &bytes);
	assert_int_equal(front_wait(front, &fd, 1, 0), 1);
	assert_true(fcgi_begin(fcgi, fd, &got));
	now_ms += FCGI_PEER_MS;
	assert_int_equal(front_wait(front, &none, 1, 0), 0);
	assert_int_equal(fcgi_read_body(fcgi, &got, 600000), FCGI_BODY_BAD);
	assert_false(reply());
	front_drop(front, fd);
	expect_answer(peer);
	assert_true(is_closed(peer));
	assert_int_equal(front_count(front), 0);
	(void)close(peer);
	buf_release(&bytes);
	buf_release(&body);
}

/* Its peer is still sending when the answer has come: it shall read it. */
static void
lingers_over_a_body_that_nobody_wants(void **state)
{
	struct buf bytes = {0};
	struct buf body = {0};
	int peers[2];
	struct request got;
	int fd;

	(void)state;
	add_long(&bytes, &body);
	bytes.len = FCGI_BODY_AHEAD + 1000;
	for (int i = 0; i < 2; i++) {
		peers[i] = join(front);
		send_all(peers[i], &bytes);
		assert_int_equal(front_wait(front, &fd, 1, 0), 1);
		assert_true(fcgi_begin(fcgi, fd, &got));
		assert_false(reply());
		front_drop(front, fd);
	}
	for (int i = 0; i < 100; i++) {
		assert_int_equal(write(peers[0], body.data, 100000), 100000);
		assert_int_equal(front_wait(front, &fd, 1, 0), 0);
	}
	assert_int_equal(front_count(front), 2);
	expect_answer(peers[0]);
	(void)close(peers[0]);
	assert_int_equal(front_wait(front, &fd, 1, 0), 0);
	assert_int_equal(front_count(front), 1);
	now_ms += 2000;
	assert_int_equal(front_wait(front, &fd, 1, 0), 0);
	assert_int_equal(front_count(front), 0);
	expect_answer(peers[1]);
	assert_true(is_closed(peers[1]));
	(void)close(peers[1]);
	buf_release(&bytes);
	buf_release(&body);
}

/* Gone -------------------------------------------------------------------- */

/* Answers with more than a socket holds. */
static bool
reply_large(void)
{
	struct reply answer = {.status = 200};
	bool kept;

	for (int i = 0; i < 100000; i++)
		buf_str(&answer.body, "0123456789");
	kept = fcgi_reply(fcgi, &answer);
	buf_release(&answer.body);
	return kept;
}

static void
gives_up_on_one_that_does_not_read(void **state)
{
	const struct timeval soon = {.tv_usec = 20000};
	int peer = join(front);
	int fd;

	(void)state;
	send_all(peer, &request);
	assert_int_equal(front_wait(front, &fd, 1, 0), 1);
	/* For the test, less than what the front has set. */
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon,
			     sizeof(soon)),
	    0);
	begin(fd);
	assert_false(reply_large());
	front_drop(front, fd);
	(void)close(peer);
}

static void *
reader_run(void *arg)
{
	char bytes[10000];
	int fd = *(int *)arg;
	size_t got = 0;

	while (got < 100000)
		got += (size_t)read(fd, bytes, sizeof(bytes));
	(void)close(fd);
	return NULL;
}

static void
survives_hang_ups(void **state)
{
	int fds = count_fds();
	pthread_t reader;
	int peer;
	int fd;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		peer = join(front);
		send_part(peer, 0, i % (request.len + 1));
		/* Noticed at once, or only in the middle. */
		if (i % 2)
			assert_int_equal(front_wait(front, &fd, 1, 0),
			    i % (request.len + 1) == request.len);
		if (i % 2 && i % (request.len + 1) == request.len)
			front_keep(front, fd);
		(void)close(peer);
		(void)serve(front);
	}
	for (int i = 0; i < 100; i++) {
		peer = join(front);
		send_all(peer, &request);
		assert_int_equal(front_wait(front, &fd, 1, 0), 1);
		begin(fd);
		assert_int_equal(pthread_create(&reader, NULL, reader_run,
				     &peer),
		    0);
		assert_false(reply_large());
		front_drop(front, fd);
		assert_int_equal(pthread_join(reader, NULL), 0);
	}
	assert_int_equal(front_count(front), 0);
	assert_int_equal(count_fds(), fds);
}

/* It cannot be read after all; libfcgi closes it. */
static void
forgets_what_could_not_be_begun(void **state)
{
	int peer = join(front);
	char bytes[1000];
	struct request got;
	int fd;

	(void)state;
	send_all(peer, &request);
	assert_int_equal(front_wait(front, &fd, 1, 0), 1);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), request.len);
	(void)close(peer);
	assert_false(fcgi_begin(fcgi, fd, &got));
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	front_forget(front, fd);
	assert_int_equal(front_count(front), 0);
	assert_false(reply());
	/* And the next one is as good as ever. */
	peer = join(front);
	send_all(peer, &request);
	assert_int_equal(serve(front), 1);
	expect_answer(peer);
	(void)close(peer);
}

/* Broken ------------------------------------------------------------------ */

/* Answers whatever is handed out; how many. */
static size_t
serve_any(void)
{
	struct request got;
	size_t served = 0;
	int fd;

	while (front_wait(front, &fd, 1, 0)) {
		assert_true(fcgi_begin(fcgi, fd, &got));
		(void)fcgi_read_body(fcgi, &got, 100);
		if (reply())
			front_keep(front, fd);
		else
			front_drop(front, fd);
		served++;
	}
	return served;
}

static void
ends_the_broken_one_only(void **state)
{
	int fds = count_fds();
	int good = join(front);
	int before = join(front);

	(void)state;
	for (size_t i = 0; i < request.len; i++) {
		char byte = request.data[i];
		int peer = join(front);

		request.data[i] = (char)(byte ^ 0x80);
		send_all(peer, &request);
		request.data[i] = byte;
		/* Changed text is no harm; a length may be waited for. */
		(void)front_wait(front, NULL, 0, 0);
		(void)close(peer);
		send_all(good, &request);
		assert_true(serve_any() >= 1);
		expect_answer(good);
	}
	assert_int_equal(front_count(front), 2);
	send_all(before, &request);
	assert_int_equal(serve(front), 1);
	expect_answer(before);
	(void)close(good);
	(void)close(before);
	assert_int_equal(serve(front), 0);
	assert_int_equal(count_fds(), fds);
}

/* No descriptor is left: what waits is served when there are some again. */
static void
waits_for_descriptors(void **state)
{
	char path[] = "/tmp/front-test-XXXXXX";
	struct rlimit limit;
	struct rlimit less;
	int listener;
	int peer;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(path));
	assert_int_equal(rmdir(path), 0);
	listener = fcgi_listen(path, 10);
	assert_true(listener >= 0);
	front_listen(front, listener);
	peer = dial(path);
	send_all(peer, &request);
	fd = dup(peer);
	assert_int_equal(close(fd), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	less = (struct rlimit){(rlim_t)fd, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(serve(front), 0);
		now_ms += 100;
	}
	assert_int_equal(serve(front), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	/* It looks again after a pause only. */
	assert_int_equal(serve(front), 0);
	now_ms += 100;
	assert_int_equal(serve(front), 1);
	expect_answer(peer);
	(void)close(peer);
	(void)close(listener);
	(void)unlink(path);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(takes_a_request_in_pieces),
	    TEST(ends_one_that_takes_too_long),
	    TEST(takes_a_long_body_in_pieces),
	    TEST(cuts_a_long_body_that_takes_too_long),
	    TEST(lingers_over_a_body_that_nobody_wants),
	    TEST(gives_up_on_one_that_does_not_read),
	    TEST(survives_hang_ups),
	    TEST(forgets_what_could_not_be_begun),
	    TEST(ends_the_broken_one_only),
	    TEST(waits_for_descriptors),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
