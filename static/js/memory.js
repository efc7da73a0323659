// What this browser keeps between pages: the key of a request that has no
// answer yet and the order that is being paid (this tab), and the order made
// for an item (all tabs). All are conveniences; the server finds a buyer's
// hold without them. Storage that is switched off is replaced by this page's
// own memory.

const spare = new Map();

function read(store, name) {
	try {
		return globalThis[store].getItem(name);
	} catch {
		return spare.get(name) ?? null;
	}
}

function write(store, name, value) {
	try {
		if (value === null)
			globalThis[store].removeItem(name);
		else
			globalThis[store].setItem(name, value);
	} catch {
		if (value === null)
			spare.delete(name);
		else
			spare.set(name, value);
	}
}

/* randomUUID is missing on plain http, where a shop may be tried out. */
function makeKey() {
	if (typeof crypto.randomUUID === "function")
		return crypto.randomUUID();
	return Array.from(crypto.getRandomValues(new Uint8Array(16)),
		(byte) => byte.toString(16).padStart(2, "0")).join("");
}

/* The same key for the same wish until it was answered. */
export function requestKey(sku, wish) {
	const name = `lp-request:${sku}`;
	const [key, kept] = (read("sessionStorage", name) ?? "").split(" ");

	if (key && kept === wish)
		return key;
	const fresh = makeKey();
	write("sessionStorage", name, `${fresh} ${wish}`);
	return fresh;
}

export function forgetKey(sku) {
	write("sessionStorage", `lp-request:${sku}`, null);
}

export function ownOrder(sku) {
	const id = read("localStorage", `lp-order:${sku}`);
	return id !== null && isOrderId(id) ? id : null;
}

export function keepOrder(sku, id) {
	write("localStorage", `lp-order:${sku}`, id);
}

/* Pay was pressed for this order, in this tab. */
export function markPaying(id) {
	write("sessionStorage", "lp-paying", id);
}

export function wasPaying(id) {
	return read("sessionStorage", "lp-paying") === id;
}

export function isOrderId(id) {
	return typeof id === "string" && /^hld_[A-Za-z0-9_-]{10,64}$/.test(id);
}
