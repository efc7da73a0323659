"use strict";
// The shop's database, to look and to move time: one psql that stays.

const { spawn } = require("node:child_process");
const { randomUUID } = require("node:crypto");

const STATE = process.env.SHOP_STATE;

class Session {
	// The superuser, who also sees what others wait for.
	constructor(user = "postgres") {
		this.queue = [];
		this.text = "";
		this.psql = spawn("psql", ["-X", "-q", "-A", "-t",
			"-h", `${STATE}/s`, "-p", "5432", "-U", user, "-d", "lastpair"],
		{ env: { ...process.env, PGOPTIONS: "-c client_min_messages=warning" },
			stdio: ["pipe", "pipe", "ignore"] });
		this.psql.stdout.setEncoding("utf8");
		this.psql.stdout.on("data", (part) => this.take(part));
		this.psql.on("exit", () => this.queue.forEach(({ fail }) =>
			fail(new Error("psql has ended"))));
		// A test that forgets to close must not keep Node alive.
		this.psql.unref();
		this.psql.stdout.unref();
		this.psql.stdin.unref();
	}

	take(part) {
		this.text += part;
		while (this.queue.length > 0) {
			const { mark, done, fail } = this.queue[0];
			const at = this.text.indexOf(mark);
			const end = this.text.indexOf("\n", at);
			if (at < 0 || end < 0)
				return;
			const out = this.text.slice(0, at).replace(/\n$/, "");
			const [, error, state, why] =
				/ (\S+) (\S+) (.*)$/.exec(this.text.slice(at, end));
			this.text = this.text.slice(end + 1);
			this.queue.shift();
			if (this.queue.length === 0)
				this.psql.stdout.unref();
			if (error === "true")
				fail(Object.assign(new Error(why), { state }));
			else
				done(out);
		}
	}

	// Runs statements; the output of all, the verdict of the last.
	run(sql) {
		const mark = `@@${randomUUID()}`;
		return new Promise((done, fail) => {
			this.queue.push({ mark, done, fail });
			this.psql.stdout.ref();
			this.psql.stdin.write(
				`${sql};\n\\echo ${mark} :ERROR :SQLSTATE :LAST_ERROR_MESSAGE\n`);
		});
	}

	// The rows of a query, as objects.
	async rows(query) {
		return JSON.parse(await this.run(
			`select coalesce(jsonb_agg(t), '[]') from (${query}) t`));
	}

	async row(query) {
		return (await this.rows(query))[0];
	}

	close() {
		this.psql.stdin.end("\\q\n");
	}
}

// Text as a literal.
const quote = (text) => `'${String(text).replace(/'/g, "''")}'`;

let shared = null;
function sql() {
	if (shared === null)
		shared = new Session();
	return shared;
}

// Lets so many seconds pass for a hold: its times move back.
async function age(hold, seconds) {
	await sql().run(`do $$
declare
	target bigint;
	back interval := ${seconds} * interval '1 s';
begin
	update data.hold set created_at = created_at - back,
		expires_at = expires_at - back
	where id = ${quote(hold)} returning hold_id into strict target;
	update data.hold_line set expires_at = expires_at - back
	where hold_id = target;
	update data.outbox o set next_try = next_try - back
	from data.payment p where o.payment_id = p.payment_id
		and p.hold_id = target and o.kind = 'expire' and o.done_at is null;
	perform pg_notify('lastpair_cashier', '');
end
$$`);
}

// The same for all live holds of an item.
async function ageAll(item, seconds) {
	const holds = await sql().rows(`select distinct h.id from data.hold h
		join data.hold_line l using (hold_id) join data.item i using (item_id)
		where i.sku = ${quote(item)} and h.state = 'held'`);
	await sql().run(`do $$
declare
	back interval := ${seconds} * interval '1 s';
	targets bigint[] := array(select hold_id from data.hold
		where id in (${holds.map(({ id }) => quote(id)).join()})
		order by hold_id for update);
begin
	update data.hold set created_at = created_at - back,
		expires_at = expires_at - back where hold_id = any (targets);
	update data.hold_line set expires_at = expires_at - back
	where hold_id = any (targets);
end
$$`);
}

module.exports = { Session, sql, quote, age, ageAll };
