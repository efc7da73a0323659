// The one door to the shop's server: every answer comes back as a value,
// never as an exception, with the moment at which it arrived. A status of 0
// means that no answer came, so nobody knows whether the request acted.

const PATIENCE_MS = 20000;
const LONGEST_WAIT_MS = 60000;

function readJson(text) {
	try {
		const value = JSON.parse(text);
		return value !== null && typeof value === "object" ? value : {};
	} catch {
		// nginx answers with its own HTML page when no worker could
		return {};
	}
}

/* Seconds only: the other form of Retry-After needs a clock to compare with. */
function readRetryAfter(headers) {
	const text = headers.get("Retry-After");
	return text !== null && /^\d{1,6}$/.test(text.trim())
		? Math.min(Number(text) * 1000, LONGEST_WAIT_MS) : null;
}

export async function ask(path, options = {}) {
	const abort = new AbortController();
	const timer = setTimeout(() => abort.abort(),
		options.patience ?? PATIENCE_MS);
	const headers = {
		Accept: "application/json, application/problem+json",
	};
	const request = { method: "GET", headers, signal: abort.signal,
		credentials: "same-origin", cache: "no-store" };

	if (options.body !== undefined) {
		request.method = "POST";
		request.body = JSON.stringify(options.body);
		headers["Content-Type"] = "application/json";
	}
	if (options.key !== undefined)
		headers["Idempotency-Key"] = options.key;
	try {
		const answer = await fetch(path, request);
		const arrived = performance.now();
		const text = await answer.text();
		return { status: answer.status, ok: answer.ok, arrived,
			body: readJson(text),
			wait: readRetryAfter(answer.headers) };
	} catch {
		return { status: 0, ok: false, arrived: performance.now(),
			body: {}, wait: null };
	} finally {
		clearTimeout(timer);
	}
}

/* True when a repeat with the same key is the right next step. */
export function isUndecided(answer) {
	return answer.status === 0 || answer.status === 429 ||
		answer.status >= 500;
}

/* A fifth more or less, so that thousands of pages do not ask in step. */
export function jitter(ms) {
	return ms * (0.8 + Math.random() * 0.4);
}

export function backoff(tries, first, most) {
	return jitter(Math.min(first * 2 ** Math.max(0, tries - 1), most));
}
