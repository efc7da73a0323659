// The panels of the order page. The server says which one a hold belongs to,
// in the one place where that is decided.
const PANELS = new Set(["held", "opening", "checking", "pending", "paid",
	"expired", "dropped", "payment_failed", "refund_owed", "refunded",
	"refund_failed"]);

/* null: not a hold document, or a panel that this page does not have. */
export function pageState(hold) {
	return PANELS.has(hold.view) ? hold.view : null;
}

/* Held, or money is on its way: to buy it again would be to pay twice. */
export function isLive(state) {
	return ["held", "opening", "checking", "pending"].includes(state);
}
