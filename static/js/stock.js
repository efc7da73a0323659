// Words for what /availability says about one item. Pure: no page, no clock.

/* As app/base/money.c has it; the browser's own tables differ. */
const NO_DECIMALS = new Set(["BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW",
	"MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"]);
const THREE_DECIMALS = new Set(["BHD", "JOD", "KWD", "OMR", "TND"]);

function decimals(currency) {
	if (NO_DECIMALS.has(currency))
		return 0;
	return THREE_DECIMALS.has(currency) ? 3 : 2;
}

function pieces(number, one, many) {
	return `${number} ${number === 1 ? one : many}`;
}

function isCount(value) {
	return Number.isSafeInteger(value) && value >= 0;
}

/* {"amount":12900,"currency":"EUR"} to "129.00 EUR"; null if unreadable. */
export function formatMoney(price, times = 1) {
	const amount = price?.amount * times;

	if (!Number.isSafeInteger(amount) || amount < 0 ||
		!/^[A-Z]{3}$/.test(price.currency))
		return null;
	const digits = decimals(price.currency);
	const text = String(amount).padStart(digits + 1, "0");
	const whole = text.slice(0, text.length - digits);
	const part = text.slice(text.length - digits);
	return `${whole}${part ? "." : ""}${part} ${price.currency}`;
}

function leftText(item) {
	if (!isCount(item.free))
		return "";
	if (isCount(item.total) && item.total >= item.free)
		return `${item.free} of ${item.total} left`;
	return item.free === 1 ? "The last one" : `${item.free} left`;
}

function onSale(item) {
	const left = leftText(item);
	const held = isCount(item.held) && item.held > 0
		? `${item.held} more in baskets right now.` : "";

	return { tone: item.free <= 10 ? "low" : "good",
		head: left ? `On sale. ${left}` : "On sale", detail: held,
		button: null };
}

function allHeld(item) {
	const held = isCount(item.held) && item.held > 0
		? `${pieces(item.held, "unit is", "units are")} held. ` : "";

	return { tone: "low", head: "All in baskets",
		detail: `${held}One may come back.`,
		button: "All in baskets" };
}

/* button: null when it may be pressed, else what it says instead. */
export function describeStock(item) {
	switch (item?.state) {
	case "on_sale":
		return onSale(item);
	case "all_held":
		return allHeld(item);
	case "sold_out":
		return { tone: "over", head: "Sold out",
			detail: "Every one of them has a new owner.",
			button: "Sold out" };
	case "upcoming":
		return { tone: "soon", head: "Not open yet",
			detail: "Keep this page open. It opens by itself.",
			button: "Not open yet" };
	case "paused":
		return { tone: "low", head: "Paused for a moment",
			detail: "The shop has stopped the sale for now.",
			button: "Paused" };
	case "closed":
		return { tone: "over", head: "This sale has ended",
			detail: "", button: "Sale ended" };
	default:
		return { tone: "soon", head: "Checking the stock…",
			detail: "", button: null };
	}
}

/* How long until the next look, by what the last one said. */
export function lookAgainMs(item, opensIn) {
	switch (item?.state) {
	case "on_sale":
		return 3000;
	case "all_held":
		return 2000;
	case "paused":
		return 5000;
	case "sold_out":
		return 15000;
	case "closed":
		return 60000;
	case "upcoming":
		if (opensIn === null || opensIn <= 0)
			return 1200;
		// never sleep past the opening
		return Math.min(opensIn > 300000 ? 30000 : 6000,
			opensIn + 100);
	default:
		return 3000;
	}
}
