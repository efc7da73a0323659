/*
 * The one table of addresses: what each takes and who handles it.
 */
#include "web/route.h"
#include "web/buyer.h"
#include "web/event.h"
#include "web/health.h"
#include "web/hold.h"
#include "web/item.h"
#include "web/order.h"
#include "web/origin.h"
#include "web/payment.h"
#include "web/problem.h"

#include <string.h>
#include <strings.h>

struct route {
	const char *path;
	/* A GET for people: its problems are pages. */
	bool is_page;
	/* A webhook: no browser sends it, no cookie counts. */
	bool is_hook;
	/* It waits for nothing and nobody. */
	bool get_is_quick;
	bool post_is_quick;
	void (*get)(struct exchange *x);
	void (*post)(struct exchange *x);
	/* Instead, when a name follows the path. */
	void (*get_named)(struct exchange *x, struct str name);
	void (*post_named)(struct exchange *x, struct str name);
};

static void
event_receive_any(struct exchange *x)
{
	event_receive(x, (struct str){NULL, 0});
}

static const struct route routes[] = {
    {.path = "/availability", .get = item_availability},
    {.path = "/hold",
	.get = hold_show,
	.post = hold_take,
	.post_is_quick = true},
    {.path = "/hold/drop", .post = hold_drop},
    {.path = "/pay", .is_page = true, .get = payment_page, .post = payment_ask},
    {.path = "/pay-callback", .is_hook = true, .post = event_receive_any},
    {.path = "/pay-callback/", .is_hook = true, .post_named = event_receive},
    {.path = "/order/", .is_page = true, .get_named = order_show},
    {.path = "/problems/",
	.is_page = true,
	.get_named = problem_show,
	.get_is_quick = true},
    {.path = "/healthz", .get = health_alive, .get_is_quick = true},
    {.path = "/readyz", .get = health_ready},
};

/* The route of a path, and the name behind it if it takes one. */
static const struct route *
route_find(struct str path, struct str *name)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		const struct route *route = &routes[i];
		size_t len = strlen(route->path);

		if (!route->get_named && !route->post_named) {
			if (str_is(path, route->path))
				return route;
			continue;
		}
		if (path.len <= len || memcmp(path.text, route->path, len) != 0)
			continue;
		*name = (struct str){path.text + len, path.len - len};
		if (!memchr(name->text, '/', name->len))
			return route;
	}
	return NULL;
}

static bool
contains(struct str text, const char *part)
{
	size_t n = strlen(part);

	for (size_t i = 0; i + n <= text.len; i++) {
		if (strncasecmp(text.text + i, part, n) == 0)
			return true;
	}
	return false;
}

/*
 * A form gets a page, and so does whoever says that pages are welcome, except
 * where an address is for scripts or JSON is asked for. nginx decides the same
 * way about its own refusals.
 */
static enum audience
audience_find(const struct exchange *x, const struct route *route)
{
	struct str accept = fcgi_param(x->fcgi, "HTTP_ACCEPT");
	bool post = str_is(x->request->method, "POST");

	if (route && route->is_hook)
		return FOR_SCRIPT;
	if (post &&
	    contains(x->request->content_type,
		"application/x-www-form-urlencoded"))
		return FOR_FORM;
	if (post && contains(x->request->content_type, "json"))
		return FOR_SCRIPT;
	if (route && !post)
		return route->is_page && !contains(accept, "application/json")
		    ? FOR_READER
		    : FOR_SCRIPT;
	return contains(accept, "text/html") ? FOR_READER : FOR_SCRIPT;
}

static void
route_refuse_method(struct exchange *x, const struct route *route)
{
	bool get = route->get || route->get_named;
	bool post = route->post || route->post_named;

	exchange_header(x, "Allow",
	    get && post ? "GET, HEAD, POST"
		: get	? "GET, HEAD"
			: "POST");
	problem_say(x, "method",
	    get && post ? "This address answers GET, HEAD and POST."
		: get	? "This address answers GET and HEAD."
			: "This address answers POST.");
}

static void
route_get(struct exchange *x, const struct route *route, struct str name)
{
	if (route->get)
		route->get(x);
	else if (route->get_named)
		route->get_named(x, name);
	else
		route_refuse_method(x, route);
}

static void
route_post(struct exchange *x, const struct route *route, struct str name)
{
	const struct origin origin = {
	    .fetch_site = fcgi_param(x->fcgi, "HTTP_SEC_FETCH_SITE"),
	    .origin = fcgi_param(x->fcgi, "HTTP_ORIGIN"),
	};

	if (!route->post && !route->post_named)
		route_refuse_method(x, route);
	else if (!route->is_hook &&
	    !origin_is_ours(&origin, x->web->conf->server.public_url))
		problem_say(x, "cross-site",
		    "The request was sent by a page of another site.");
	else if (route->post)
		route->post(x);
	else
		route->post_named(x, name);
}

bool
route_is_quick(const struct request *request)
{
	struct str name;
	const struct route *route = route_find(request->path, &name);

	return route &&
	    (str_is(request->method, "POST") ? route->post_is_quick
					     : route->get_is_quick);
}

bool
route_gathers(const struct request *request)
{
	struct str name;
	const struct route *route = route_find(request->path, &name);

	return route && route->is_hook && str_is(request->method, "POST");
}

static const struct route *
route_begin(struct exchange *x, struct str *name)
{
	const struct token_secrets secrets = conf_secrets(x->web->conf);
	const struct route *route = route_find(x->request->path, name);

	x->cacheable = false;
	x->audience = audience_find(x, route);
	buyer_find(&x->buyer, x->request->cookie, &secrets);
	return route;
}

static void
route_end(struct exchange *x)
{
	if (!x->cacheable)
		exchange_header(x, "Cache-Control", "no-store");
}

void
route_busy(struct exchange *x)
{
	struct str name;

	(void)route_begin(x, &name);
	problem_say(x, "busy",
	    "More is asked than can be answered. Try again "
	    "in a moment.");
	route_end(x);
}

void
route(struct exchange *x)
{
	struct str method = x->request->method;
	struct str name = {NULL, 0};
	const struct route *route = route_begin(x, &name);

	if (!route)
		problem_say(x, "not-found",
		    "There is nothing at this address.");
	else if (str_is(method, "GET") || str_is(method, "HEAD"))
		route_get(x, route, name);
	else if (str_is(method, "POST"))
		route_post(x, route, name);
	else
		route_refuse_method(x, route);
	route_end(x);
}
