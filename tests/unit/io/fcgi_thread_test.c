/*
 * fcgi_front.c and fcgi.c as a worker uses them: a loop that waits and begins,
 * threads that read bodies and answer, connections that go back to the loop.
 * The thread sanitizer is to have its say on it.
 */
#include "io/fcgi.h"
#include "io/fcgi_front.h"
#include "io/fcgi_peer.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

enum { THREADS = 3, PEERS = 8, ROUNDS = 100, SLOTS = 6 };

/* A request under way. It is the loop's, a thread's or in a list. */
struct slot {
	struct fcgi *fcgi;
	struct request request;
	int fd;
	bool kept;
	struct slot *next;
};

static char path[] = "/tmp/thread-test-XXXXXX";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct slot *begun; /* these four with the lock */
static struct slot *answered;
static int served; /* peers */
static bool over;
static int wake;

static void
list_add(struct slot **list, struct slot *slot)
{
	slot->next = *list;
	*list = slot;
}

static struct slot *
list_take(struct slot **list)
{
	struct slot *slot = *list;

	if (slot)
		*list = slot->next;
	return slot;
}

static void
wake_loop(void)
{
	const uint64_t one = 1;

	assert_int_equal(write(wake, &one, sizeof(one)), sizeof(one));
}

/* The server --------------------------------------------------------------- */

static void
answer(struct slot *slot)
{
	struct reply reply = {.status = 200};

	assert_int_equal(fcgi_read_body(slot->fcgi, &slot->request, 100000),
	    FCGI_BODY_OK);
	buf_add(&reply.body, slot->request.body.text, slot->request.body.len);
	slot->kept = fcgi_reply(slot->fcgi, &reply);
	buf_release(&reply.body);
}

static void *
thread_run(void *arg)
{
	(void)pthread_mutex_lock(&lock);
	while (!over) {
		struct slot *slot = list_take(&begun);

		if (!slot) {
			(void)pthread_cond_wait(&more, &lock);
			continue;
		}
		(void)pthread_mutex_unlock(&lock);
		answer(slot);
		(void)pthread_mutex_lock(&lock);
		list_add(&answered, slot);
		wake_loop();
	}
	(void)pthread_mutex_unlock(&lock);
	return arg;
}

static void
loop_end(struct front *front, const struct slot *slot)
{
	if (slot->kept)
		front_keep(front, slot->fd);
	else
		front_drop(front, slot->fd);
}

/* Some it answers itself, the others are for the threads. */
static void
loop_begin(struct front *front, struct slot **unused, int fd)
{
	struct slot *slot = list_take(unused);

	slot->fd = fd;
	assert_true(fcgi_begin(slot->fcgi, fd, &slot->request));
	if (str_is(slot->request.path, "/loop")) {
		answer(slot);
		loop_end(front, slot);
		list_add(unused, slot);
		return;
	}
	(void)pthread_mutex_lock(&lock);
	list_add(&begun, slot);
	(void)pthread_cond_signal(&more);
	(void)pthread_mutex_unlock(&lock);
}

/* Takes what the threads have answered. True when all peers have gone. */
static bool
loop_take(struct front *front, struct slot **unused)
{
	struct slot *slot;
	bool gone;

	(void)pthread_mutex_lock(&lock);
	while ((slot = list_take(&answered))) {
		loop_end(front, slot);
		list_add(unused, slot);
	}
	gone = served == PEERS;
	(void)pthread_mutex_unlock(&lock);
	return gone && front_count(front) == 0;
}

static void
loop_run(struct front *front, struct slot *slots)
{
	struct slot *unused = NULL;
	int ready[SLOTS];

	for (int i = 0; i < SLOTS; i++)
		list_add(&unused, &slots[i]);
	while (!loop_take(front, &unused)) {
		size_t left = 0;
		size_t n;

		for (struct slot *slot = unused; slot; slot = slot->next)
			left++;
		/* A hang-up, also the last one, does not end it. */
		n = front_wait(front, ready, left, 20);
		for (size_t i = 0; i < n; i++)
			loop_begin(front, &unused, ready[i]);
	}
}

/* The peers ---------------------------------------------------------------- */

/* Each byte of a body is the peer's number, and its length changes. */
static void
ask(int fd, int number, size_t len)
{
	struct buf body = {0};
	struct buf bytes = {0};
	struct buf out = {0};
	struct post post = {"POST", number % 2 ? "/loop" : "/", NULL, {NULL, 0},
	    1 + len / 3, true};
	char length[16];
	const char *got;

	for (size_t i = 0; i < len; i++)
		buf_char(&body, (char)('a' + number));
	snprintf(length, sizeof(length), "%zu", len);
	post.length = length;
	post.body = (struct str){body.data, body.len};
	add_request(&bytes, &post);
	send_all(fd, &bytes);
	assert_true(receive(fd, &out));
	got = strstr(buf_text(&out), "\r\n\r\n");
	assert_non_null(got);
	assert_string_equal(got + 4, buf_text(&body));
	buf_release(&body);
	buf_release(&bytes);
	buf_release(&out);
}

static void *
peer_run(void *arg)
{
	int number = *(int *)arg;
	int fd = dial(path);

	for (int i = 0; i < ROUNDS; i++)
		ask(fd, number, (size_t)(i * i * (number + 1)) % 60000);
	(void)close(fd);
	(void)pthread_mutex_lock(&lock);
	served++;
	(void)pthread_mutex_unlock(&lock);
	wake_loop();
	return NULL;
}

static void
serves_with_several_threads(void **state)
{
	struct front *front = front_open();
	struct slot slots[SLOTS];
	pthread_t threads[THREADS];
	pthread_t peers[PEERS];
	int numbers[PEERS];
	int listener = fcgi_listen(path, PEERS);

	(void)state;
	assert_true(listener >= 0);
	wake = eventfd(0, EFD_CLOEXEC);
	front_wake(front, wake);
	front_listen(front, listener);
	for (int i = 0; i < SLOTS; i++)
		slots[i] = (struct slot){.fcgi = fcgi_new()};
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, thread_run,
				     NULL),
		    0);
	for (int i = 0; i < PEERS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&peers[i], NULL, peer_run,
				     &numbers[i]),
		    0);
	}
	loop_run(front, slots);
	for (int i = 0; i < PEERS; i++)
		assert_int_equal(pthread_join(peers[i], NULL), 0);
	(void)pthread_mutex_lock(&lock);
	over = true;
	(void)pthread_cond_broadcast(&more);
	(void)pthread_mutex_unlock(&lock);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < SLOTS; i++)
		fcgi_free(slots[i].fcgi);
	front_close(front);
	(void)close(wake);
	(void)close(listener);
	(void)unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(serves_with_several_threads),
	};

	if (!mkdtemp(path) || rmdir(path) < 0)
		return 1;
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
