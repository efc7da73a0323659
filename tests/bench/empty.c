/*
 * empty SOCKET PROCESSES THREADS: the least that a FastCGI program of the usual
 * kind does: libfcgi, kept connections, a thread for each; it reads the whole
 * request and answers a constant of the size of a hold. What a hold costs is
 * measured against it. Ends with its parent or by SIGTERM.
 */
#include <fcgiapp.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BACKLOG 4096
#define THREADS_MAX 512
/* nginx allows no larger body there. */
#define BODY_MAX 16384

/* As long as the answer to a hold, cookie and all. */
static const char answer[] =
    "Status: 201 Created\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 399\r\n"
    "Set-Cookie: lp_buyer=buyer.9f3bb0e09c6c82cd86c548cdc32d050b."
    "0nSrSjHFyeIHHtgpo2vqljJA0eN0Dtt9QdqBAYTMJNY; Path=/; Max-Age=34560000; "
    "HttpOnly; SameSite=Lax\r\n"
    "Cache-Control: no-store\r\n"
    "\r\n"
    "{\"id\" : \"hld_kki6hI217PGFpWY6TymAiw\", \"order\" : \"ord_1001\", "
    "\"state\" : \"held\", \"reason\" : null, \"view\" : \"held\", "
    "\"lines\" : [{\"item\" : \"BENCH\", \"title\" : \"Bench\", "
    "\"qty\" : 1, \"units\" : []}], \"price\" : {\"amount\" : 12900, "
    "\"currency\" : \"EUR\"}, \"now\" : \"2026-11-30T20:45:27.338Z\", "
    "\"expires_at\" : \"2026-12-01T20:45:27.338Z\", \"expires_in_ms\" : "
    "86400000, \"existing\" : false, \"payment\" : null, \"refund\" : null}";

static int listening;

static void *
thread_run(void *unused)
{
	char body[BODY_MAX];
	FCGX_Request request;

	if (FCGX_InitRequest(&request, listening, 0) != 0)
		exit(1);
	while (FCGX_Accept_r(&request) == 0) {
		const char *length =
		    FCGX_GetParam("CONTENT_LENGTH", request.envp);
		int n = length ? (int)strtol(length, NULL, 10) : 0;

		if (n > 0)
			(void)FCGX_GetStr(body, n < BODY_MAX ? n : BODY_MAX,
			    request.in);
		(void)FCGX_PutStr(answer, (int)sizeof(answer) - 1, request.out);
		FCGX_Finish_r(&request);
	}
	return unused;
}

static void
process_run(long threads)
{
	pthread_t thread;

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (long i = 1; i < threads; i++) {
		if (pthread_create(&thread, NULL, thread_run, NULL) != 0)
			exit(1);
	}
	(void)thread_run(NULL);
	exit(0);
}

int
main(int argc, char **argv)
{
	long processes = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	long threads = argc == 4 ? strtol(argv[3], NULL, 10) : 0;

	if (processes < 1 || threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: empty SOCKET PROCESSES THREADS\n");
		return 2;
	}
	if (FCGX_Init() != 0)
		return 1;
	listening = FCGX_OpenSocket(argv[1], BACKLOG);
	if (listening < 0) {
		fprintf(stderr, "empty: cannot listen on %s: %s\n", argv[1],
		    strerror(errno));
		return 1;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (long i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid == 0)
			process_run(threads);
		if (pid < 0)
			return 1;
	}
	while (wait(NULL) > 0)
		continue;
	return 0;
}
