"use strict";
// Waiting for a condition, never for a fixed time.

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// The first truthy answer of check(), asked every `every` ms.
async function until(what, check, { within = 10000, every = 50 } = {}) {
	const end = Date.now() + within;
	for (;;) {
		const answer = await check();
		if (answer)
			return answer;
		if (Date.now() > end)
			throw new Error(`not within ${within} ms: ${what}`);
		await sleep(every);
	}
}

// A barrier: everybody who waits goes on at the same moment.
function barrier() {
	let open;
	const gate = new Promise((done) => {
		open = done;
	});
	return { gate, open };
}

module.exports = { sleep, until, barrier };
