// How long a pay page still takes, in words, from the server's estimate. Pure.

/* So many are counted, not more. */
const AHEAD_MOST = 10000;

function isCount(value) {
	return Number.isSafeInteger(value) && value >= 0;
}

/* "About 12 seconds: 240 pages are opened before yours."; null if unknown. */
export function waitText({ ahead, ready_in_ms: ready }) {
	if (!isCount(ahead) || !isCount(ready))
		return null;
	if (ahead === 0)
		return "A second or two: yours is next.";
	const seconds = Math.floor(ready / 1000);
	const time = seconds < 120
		? `${seconds} second${seconds === 1 ? "" : "s"}`
		: `${Math.floor((seconds + 30) / 60)} minutes`;
	const pages = ahead === 1 ? "1 page is" : ahead >= AHEAD_MOST
		? `more than ${AHEAD_MOST} pages are` : `${ahead} pages are`;
	return `About ${time}: ${pages} opened before yours.`;
}

/* Whether the page can open while the hold lasts; null: who knows. */
export function opensInTime({ ready_in_ms: ready }, left) {
	return isCount(ready) && left !== null ? ready < left : null;
}
