// The panels of the order page. The server says which one a hold belongs to,
// in the one place where that is decided.
const PANELS = new Set(["held", "opening", "checking", "paid", "expired",
	"dropped", "payment_failed", "refund_owed", "refunded",
	"refund_failed"]);

/* null: not a hold document, or a panel that this page does not have. */
export function pageState(hold) {
	return PANELS.has(hold.view) ? hold.view : null;
}

export function isLive(state) {
	return state === "held" || state === "opening" || state === "checking";
}
