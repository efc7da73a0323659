/*
 * fcgi_front.c with peers that keep to the rules: kept connections, order,
 * handing on.
 */
#include "io/fcgi_step.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

/* Kept connections -------------------------------------------------------- */

static void
serves_many_requests_on_a_connection(void **state)
{
	int peer = join(front);
	int fds = count_fds();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		send_all(peer, &request);
		assert_int_equal(serve(front), 1);
		expect_answer(peer);
	}
	assert_int_equal(count_fds(), fds);
	assert_int_equal(front_count(front), 1);
	(void)close(peer);
	assert_int_equal(serve(front), 0);
	assert_int_equal(front_count(front), 0);
}

static void
serves_another_while_many_are_idle(void **state)
{
	enum { IDLE = 1000 };
	struct rlimit limit;
	int idle[IDLE];
	int peer;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < IDLE; i++) {
		idle[i] = join(front);
		send_all(idle[i], &request);
	}
	assert_int_equal(serve(front), IDLE);
	peer = join(front);
	for (int i = 0; i < 100; i++) {
		send_all(peer, &request);
		assert_int_equal(serve(front), 1);
		expect_answer(peer);
	}
	/* For as long as they like. */
	now_ms += 3600000;
	assert_int_equal(serve(front), 0);
	assert_int_equal(front_count(front), IDLE + 1);
	for (int i = 0; i < IDLE; i++) {
		expect_answer(idle[i]);
		(void)close(idle[i]);
	}
	assert_int_equal(serve(front), 0);
	assert_int_equal(front_count(front), 1);
	(void)close(peer);
}

/* nginx may do so before the loop is told that the answer is out. */
static void
sees_a_request_that_comes_before_it_is_kept(void **state)
{
	int peer = join(front);
	int other = join(front);
	int fd;
	int fd2;

	(void)state;
	send_all(peer, &request);
	assert_int_equal(front_wait(front, &fd, 1, 0), 1);
	begin(fd);
	assert_true(reply());
	expect_answer(peer);
	send_all(peer, &request);
	/* It is handed out, so it is not handed out again. */
	send_all(other, &request);
	assert_int_equal(front_wait(front, &fd2, 1, 0), 1);
	assert_int_not_equal(fd2, fd);
	assert_int_equal(front_wait(front, &fd2, 1, 0), 0);
	front_keep(front, fd);
	assert_int_equal(front_wait(front, &fd2, 1, 0), 1);
	assert_int_equal(fd2, fd);
	(void)close(peer);
	(void)close(other);
}

static void
ends_one_that_sends_two_at_once(void **state)
{
	int peer = join(front);
	int fd;

	(void)state;
	send_all(peer, &request);
	send_all(peer, &request);
	assert_int_equal(serve(front), 0);
	assert_true(is_closed(peer));
	(void)close(peer);
	/* The second while the first is under way: the first is answered. */
	peer = join(front);
	send_all(peer, &request);
	assert_int_equal(front_wait(front, &fd, 1, 0), 1);
	begin(fd);
	send_part(peer, 0, request.len - 1);
	assert_int_equal(front_wait(front, &fd, 1, 0), 0);
	assert_true(reply());
	expect_answer(peer);
	front_keep(front, fd);
	send_part(peer, request.len - 1, 1);
	assert_int_equal(serve(front), 1);
	(void)close(peer);
}

/* Order ------------------------------------------------------------------- */

static void
hands_out_in_the_order_of_arrival(void **state)
{
	enum { N = 20 };
	int peers[N];
	int ready[3];
	struct request got;
	char path[16];
	int next = 0;

	(void)state;
	for (int i = 0; i < N; i++)
		peers[i] = join(front);
	for (int i = 0; i < N; i++) {
		const struct post post = {"GET", path, NULL, {NULL, 0}, 0, 1};
		struct buf numbered = {0};

		snprintf(path, sizeof(path), "/%d", i);
		add_request(&numbered, &post);
		send_all(peers[i], &numbered);
		buf_release(&numbered);
	}
	/* Nobody has time for one now; they wait. */
	assert_int_equal(front_wait(front, NULL, 0, 0), 0);
	while (next < N) {
		size_t n = front_wait(front, ready, 3, 0);

		assert_true(n >= 1);
		for (size_t k = 0; k < n; k++) {
			assert_true(fcgi_begin(fcgi, ready[k], &got));
			snprintf(path, sizeof(path), "/%d", next++);
			assert_true(str_is(got.path, path));
			assert_true(reply());
			front_keep(front, ready[k]);
		}
		/* Whoever comes again stands at the end. */
		send_all(peers[0], &request);
	}
	for (int i = 0; i < N; i++)
		(void)close(peers[i]);
}

static void
wakes_for_each_write(void **state)
{
	int wake = eventfd(0, EFD_CLOEXEC);
	const uint64_t one = 1;
	int peer = join(front);
	int fd;

	(void)state;
	front_wake(front, wake);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(write(wake, &one, sizeof(one)), sizeof(one));
		/* It would wait for ever, and does so no second time. */
		assert_int_equal(front_wait(front, &fd, 1, -1), 0);
		send_all(peer, &request);
		assert_int_equal(front_wait(front, &fd, 1, -1), 1);
		begin(fd);
		assert_true(reply());
		front_keep(front, fd);
	}
	assert_false(front_stopped());
	front_stop();
	assert_int_equal(front_wait(front, &fd, 1, -1), 0);
	assert_true(front_stopped());
	/* It still serves what there is. */
	send_all(peer, &request);
	assert_int_equal(front_wait(front, &fd, 1, -1), 1);
	(void)close(peer);
	(void)close(wake);
}

/* Handing on -------------------------------------------------------------- */

static void
hands_connections_on(void **state)
{
	struct front *next = front_open();
	int peers[4];
	int fd;

	(void)state;
	for (int i = 0; i < 4; i++)
		peers[i] = join(front);
	/* Idle; a part; the same, not looked at; whole, not looked at. */
	send_part(peers[1], 0, 50);
	assert_int_equal(serve(front), 0);
	send_part(peers[2], 0, 50);
	send_all(peers[3], &request);
	for (int i = 0; i < 4; i++) {
		fd = front_release_idle(front);
		assert_true(fd >= 0);
		front_adopt(next, fd);
	}
	assert_int_equal(front_release_idle(front), -1);
	assert_int_equal(front_count(front), 0);
	assert_int_equal(serve(front), 0);
	assert_int_equal(serve(next), 1);
	send_all(peers[0], &request);
	send_part(peers[1], 50, request.len - 50);
	send_part(peers[2], 50, request.len - 50);
	assert_int_equal(serve(next), 3);
	for (int i = 0; i < 4; i++) {
		expect_answer(peers[i]);
		(void)close(peers[i]);
	}
	front_close(next);
}

/* One that is handed out is not idle. */
static void
does_not_release_what_is_out(void **state)
{
	int peer = join(front);
	int fd;

	(void)state;
	send_all(peer, &request);
	assert_int_equal(front_wait(front, &fd, 1, 0), 1);
	assert_int_equal(front_release_idle(front), -1);
	begin(fd);
	assert_true(reply());
	front_keep(front, fd);
	assert_int_equal(front_release_idle(front), fd);
	expect_answer(peer);
	(void)close(fd);
	(void)close(peer);
}

/* What is answered may go on elsewhere, whatever waits for it by then. */
static void
releases_what_was_out(void **state)
{
	struct front *next = front_open();
	int peer = join(front);
	int fd;

	(void)state;
	send_all(peer, &request);
	assert_int_equal(front_wait(front, &fd, 1, 0), 1);
	begin(fd);
	assert_true(reply());
	expect_answer(peer);
	send_all(peer, &request);
	front_release(front, fd);
	assert_int_equal(front_count(front), 0);
	assert_int_equal(serve(front), 0);
	front_adopt(next, fd);
	assert_int_equal(serve(next), 1);
	expect_answer(peer);
	(void)close(peer);
	front_close(next);
}

static void
shares_a_socket_with_another(void **state)
{
	enum { N = 100 };
	char path[] = "/tmp/front-test-XXXXXX";
	struct front *other = front_open();
	size_t served = 0;
	int peers[N];
	int listener;

	(void)state;
	assert_non_null(mkdtemp(path));
	assert_int_equal(rmdir(path), 0);
	listener = fcgi_listen(path, N);
	assert_true(listener >= 0);
	for (int i = 0; i < 2; i++) {
		front_listen(front, listener);
		front_listen(other, listener);
	}
	for (int i = 0; i < N; i++) {
		peers[i] = dial(path);
		send_all(peers[i], &request);
		if (i % 10 == 9)
			served += serve(i % 20 == 9 ? front : other);
	}
	served += serve(front) + serve(other);
	assert_int_equal(served, N);
	assert_int_equal(front_count(front) + front_count(other), N);
	assert_true(front_count(front) > 0 && front_count(other) > 0);
	/* What comes when nobody listens waits for whoever does next. */
	front_unlisten(front, listener);
	front_unlisten(front, listener);
	front_unlisten(other, listener);
	(void)close(peers[0]);
	peers[0] = dial(path);
	send_all(peers[0], &request);
	assert_int_equal(serve(front) + serve(other), 0);
	front_listen(other, listener);
	assert_int_equal(serve(other), 1);
	for (int i = 0; i < N; i++) {
		expect_answer(peers[i]);
		(void)close(peers[i]);
	}
	front_close(other);
	(void)close(listener);
	(void)unlink(path);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(serves_many_requests_on_a_connection),
	    TEST(serves_another_while_many_are_idle),
	    TEST(sees_a_request_that_comes_before_it_is_kept),
	    TEST(ends_one_that_sends_two_at_once),
	    TEST(hands_out_in_the_order_of_arrival), TEST(hands_connections_on),
	    TEST(does_not_release_what_is_out), TEST(releases_what_was_out),
	    TEST(shares_a_socket_with_another),
	    TEST(wakes_for_each_write), /* the last: it stops */
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
