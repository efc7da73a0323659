// The shop front: says next to each item how its stock stands.
import { ask, backoff, jitter } from "./api.js";
import { onReturn } from "./countdown.js";
import { describeStock } from "./stock.js";

const MOST_ITEMS = 50;
const PACE_MS = 5000;

const cards = [...document.querySelectorAll(".items [data-sku]")];
const lines = new Map();
let failures = 0;
let newest = 0;
let timer = 0;

for (const card of cards.slice(0, MOST_ITEMS)) {
	const line = document.createElement("span");
	line.className = "card-stock";
	(card.querySelector("a") ?? card).append(line);
	lines.set(card.dataset.sku, line);
}

function show(items) {
	for (const item of items) {
		const line = lines.get(item?.item);
		if (line === undefined)
			continue;
		const words = describeStock(item);
		line.textContent = words.head;
		line.dataset.tone = words.tone;
	}
}

async function look() {
	const mine = ++newest;

	clearTimeout(timer);
	if (lines.size === 0)
		return;
	const query = [...lines.keys()]
		.map((sku) => `item=${encodeURIComponent(sku)}`).join("&");
	const answer = await ask(`/availability?${query}`, { patience: 8000 });
	if (mine !== newest)
		return;
	const known = answer.ok && Array.isArray(answer.body.items);
	failures = known ? 0 : failures + 1;
	if (known)
		show(answer.body.items);
	if (!document.hidden)
		timer = setTimeout(look, answer.wait ?? (failures > 0
			? backoff(failures, 2000, 60000) : jitter(PACE_MS)));
}

onReturn(look);
look();
