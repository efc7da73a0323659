// The shop front: says next to each item how its stock stands.
import { ask, backoff, jitter } from "./api.js";
import { onReturn } from "./countdown.js";
import { describeStock } from "./stock.js";

/* What one question may hold: items, and characters of an address. */
const MOST_ITEMS = 50;
const MOST_CHARACTERS = 4000;
const PACE_MS = 5000;

const cards = [...document.querySelectorAll(".items [data-sku]")];
const lines = new Map();
let failures = 0;
let newest = 0;
let timer = 0;

for (const card of cards) {
	const line = document.createElement("span");
	line.className = "card-stock";
	(card.querySelector("a") ?? card).append(line);
	lines.set(card.dataset.sku, line);
}

/* The addresses that ask for all of them. */
function questions() {
	const all = [];
	let parts = [], length = 0;

	for (const sku of lines.keys()) {
		const part = `item=${encodeURIComponent(sku)}`;
		if (parts.length === MOST_ITEMS ||
		    length + part.length > MOST_CHARACTERS) {
			all.push(`/availability?${parts.join("&")}`);
			parts = [];
			length = 0;
		}
		parts.push(part);
		length += part.length + 1;
	}
	if (parts.length > 0)
		all.push(`/availability?${parts.join("&")}`);
	return all;
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
	let wait = null;
	let known = true;
	for (const question of questions()) {
		const answer = await ask(question, { patience: 8000 });
		if (mine !== newest)
			return;
		if (answer.ok && Array.isArray(answer.body.items)) {
			show(answer.body.items);
			continue;
		}
		known = false;
		wait = answer.wait;
		break;
	}
	failures = known ? 0 : failures + 1;
	if (!document.hidden)
		timer = setTimeout(look, wait ?? (failures > 0
			? backoff(failures, 2000, 60000) : jitter(PACE_MS)));
}

onReturn(look);
look();
