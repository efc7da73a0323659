# shellcheck shell=bash
# The demo's lastpair.conf: made at the first start with secrets of its own,
# kept afterwards. A later start only sets the places again, so that what a
# person changed in it stays. Sourced by shop.sh.

secret() {
	od -An -v -N "$1" -tx1 /dev/urandom | tr -d ' \n'
}

# conf_new: the whole file, every key with what it does.
conf_new() {
	cat <<-EOF
		; Settings of the demo shop. Every key can also be given as an
		; environment variable LASTPAIR_<SECTION>_<KEY>, and every secret
		; as <key>_file, the name of a file that holds it.

		[database]
		; libpq connection string, without a user: each process has its own
		url =

		[server]
		; the shop's address as browsers know it, without a final slash
		public_url =
		; web processes, 1 to 16: one a core
		workers = 2
		; threads of each that answer all but holds, 1 to 16; each has a
		; connection to the database, and all holds share one more
		threads = 2
		; holds taken in one transaction, 1 to 1000
		batch_max = 128
		; how long a hold may wait for its turn, in milliseconds, before
		; its buyer is told that the shop is busy
		hold_wait_ms = 3000
		; where web.0.sock and its likes and sandbox.sock are made
		socket_dir =
		; holds sql/ and static/
		share =
		; how long a statement may wait for a lock, in milliseconds
		lock_timeout_ms = 2000
		; how long a statement may take in all, in milliseconds
		statement_timeout_ms = 5000
		; expired holds returned in one transaction, 1 to 10000
		sweep_slice = 1000

		[buyer]
		; signs buyers' cookies: at least 32 characters
		secret = $(secret 32)
		; still accepted after a change of secret
		old_secret =

		[stripe]
		; where the provider is reached: here the sandbox, a stand-in
		api_base =
		; the version of its interface, sent with each call
		version = 2026-10-28.endive
		; the key that opens and ends pay pages
		open_key = sk_test_$(secret 16)
		; the key that sends money back
		refund_key = rk_test_$(secret 16)
		; checks that a webhook comes from the provider
		webhook_secret = whsec_$(secret 16)
		; still accepted after a change of webhook_secret
		old_webhook_secret =
		; pay pages opened in a second, 1 to 100
		opens_per_second = 20
		; pay pages ended, refunds sent, and questions asked in a second
		ends_per_second = 20
		refunds_per_second = 20
		looks_per_second = 20
		; all of these together, 1 to 1000
		calls_per_second = 80
		; calls under way at the same time, 1 to 200
		at_once = 32
		; how long one call may take, in milliseconds
		timeout_ms = 20000
		; calls before a payment or refund is left to a person
		tries = 20

		[standard]
		; a process that connects another provider: where it listens
		url =
		; checks that a message comes from it: whsec_... or whpk_...
		webhook_secret =
		; still accepted after a change of webhook_secret
		old_webhook_secret =
		; signs our calls to it, whsec_... or whsk_...; empty: webhook_secret
		call_secret =
		; calls in a second, of each kind and of all together
		calls_per_second = 20
		; calls under way at the same time, 1 to 200
		at_once = 32
		; how long one call may take, in milliseconds
		timeout_ms = 20000
		; calls before a payment or refund is left to a person
		tries = 20

		[payment]
		; who new payments go to: stripe or standard
		provider = stripe
		; minutes between two comparisons of the books with the provider's;
		; one is made at the start; 0: none
		reconcile_minutes = 60

		[mail]
		; where mail is handed in, smtp://user:password@host:port; or
		; smtp_url_file, as for every secret
		smtp_url =
		; or a folder that each mail is written into, as a file
		folder =
		; the sender
		from = Lastpair <shop@localhost.invalid>
		; who is told when a person is needed
		operator = operator@localhost.invalid

		[sandbox]
		; where shoppers reach the stand-in's pay page
		pay_url =
		; where it posts its webhooks
		hook_url =
	EOF
}

# conf_set SECTION KEY VALUE: a filter that sets one key of an INI file.
conf_set() {
	awk -v section="[$1]" -v key="$2" -v value="$3" '
	/^\[/ { here = ($0 == section) }
	{
		name = $0
		sub(/[ \t]*=.*/, "", name)
		if (here && name == key)
			$0 = key " = " value
		print
	}'
}

# conf_write STATE PORT PAY_PORT: brings STATE/lastpair.conf up to date.
conf_write() {
	local state=$1 shop=http://127.0.0.1:$2 pay=http://127.0.0.1:$3
	local file=$state/lastpair.conf text
	if [ -s "$file" ]; then
		text=$(as_runner cat "$file")
	else
		text=$(conf_new)
	fi
	printf '%s\n' "$text" |
		conf_set database url "host=$state/s port=5432 dbname=lastpair" |
		conf_set server public_url "$shop" |
		conf_set server socket_dir "$state/s" |
		conf_set server share "$state/share" |
		conf_set stripe api_base "$pay" |
		conf_set mail folder "$state/mail" |
		conf_set sandbox pay_url "$pay" |
		conf_set sandbox hook_url "$shop/pay-callback" |
		runner_file 600 "$file"
}
