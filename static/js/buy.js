// One press of Buy: asks for a hold until there is a real answer. Repeats
// carry the same key, so that they find the hold that the first one made. The
// item stands in the address, too: nginx brings all holds of one to one worker.
import { ask, backoff, isUndecided, jitter } from "./api.js";
import { forgetKey, isOrderId, requestKey } from "./memory.js";

const TRIES = 6;

function pause(ms) {
	return new Promise((wake) => {
		setTimeout(wake, ms);
	});
}

export function problemName(answer) {
	const type = answer.body.type;
	return typeof type === "string" ? type.split("/").pop() : "";
}

/* The order that stands in the way, if a refusal names one. */
export function standingOrder(answer) {
	const hold = answer.body.hold;
	const id = typeof hold === "string" ? hold : hold?.id;
	return isOrderId(id) ? id : null;
}

export function refusalText(answer) {
	const { detail, title } = answer.body;

	if (typeof detail === "string" && detail !== "")
		return detail;
	if (typeof title === "string" && title !== "")
		return title;
	return answer.status === 0
		? "We cannot reach the shop. Check your connection, then " +
			"press Buy again. You will not get two."
		: "The shop is very busy. Press Buy again in a moment. " +
			"You will not get two.";
}

/* onWait() is called once before each repeat. */
export async function placeHold(sku, qty, onWait) {
	const address = `/hold?item=${encodeURIComponent(sku)}`;
	let renewed = false;

	for (let tries = 1; ; tries++) {
		const answer = await ask(address, { body: { item: sku, qty },
			key: requestKey(sku, `qty=${qty}`) });
		const cut = answer.ok && !isOrderId(answer.body.id);

		if (!cut && !isUndecided(answer)) {
			forgetKey(sku);
			if (problemName(answer) !== "key-reused" || renewed)
				return answer;
			renewed = true;
			continue;
		}
		if (tries >= TRIES)
			return answer.ok ? { ...answer, ok: false, status: 0 }
				: answer;
		onWait();
		await pause(answer.wait === null ? backoff(tries, 1000, 8000)
			: answer.wait + jitter(500));
	}
}
