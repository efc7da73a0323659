-- Made by tests/sql/schema.sh --write: do not edit.

CREATE SCHEMA data;

CREATE TABLE data.dispute (
    dispute_id bigint NOT NULL,
    payment_id bigint NOT NULL,
    ref text,
    state text NOT NULL,
    amount bigint,
    opened_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT dispute_amount_check CHECK ((amount > 0)),
    CONSTRAINT dispute_check CHECK (((ended_at IS NULL) = (state = ANY (ARRAY['inquiry'::text, 'open'::text])))),
    CONSTRAINT dispute_state_check CHECK ((state = ANY (ARRAY['inquiry'::text, 'inquiry_closed'::text, 'open'::text, 'won'::text, 'lost'::text])))
);

CREATE TABLE data.event (
    event_seq bigint NOT NULL,
    provider text NOT NULL,
    event_id text NOT NULL,
    type text NOT NULL,
    kind text NOT NULL,
    hold text,
    session_id text,
    payment_ref text,
    refund_ref text,
    state text,
    amount bigint,
    currency text,
    received_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    deliveries bigint DEFAULT 1 NOT NULL,
    outcome text NOT NULL,
    detail text,
    body bytea NOT NULL,
    key text,
    CONSTRAINT event_kind_check CHECK ((kind = ANY (ARRAY['paid'::text, 'pending'::text, 'failed'::text, 'expired'::text, 'refund'::text, 'dispute'::text, 'look'::text, 'ignore'::text, 'unusable'::text]))),
    CONSTRAINT event_outcome_check CHECK ((outcome = ANY (ARRAY['received'::text, 'applied'::text, 'repeat'::text, 'refund'::text, 'ignored'::text, 'unmatched'::text, 'person'::text, 'unusable'::text])))
);

CREATE TABLE data.hold (
    hold_id bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    buyer uuid NOT NULL,
    email text,
    amount bigint NOT NULL,
    currency text NOT NULL,
    state text DEFAULT 'held'::text NOT NULL,
    reason text,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT hold_amount_check CHECK (((amount >= 1) AND (amount <= 99999999))),
    CONSTRAINT hold_check CHECK ((expires_at > created_at)),
    CONSTRAINT hold_check1 CHECK (((state = 'released'::text) = (reason IS NOT NULL))),
    CONSTRAINT hold_check2 CHECK (((state = 'held'::text) = (ended_at IS NULL))),
    CONSTRAINT hold_email_check CHECK ((length(email) <= 254)),
    CONSTRAINT hold_id_check CHECK (((octet_length(id) = 26) AND starts_with(id, 'hld_'::text) AND (id !~ '[^A-Za-z0-9_-]'::text))),
    CONSTRAINT hold_key_check CHECK (((length(key) >= 16) AND (length(key) <= 255))),
    CONSTRAINT hold_reason_check CHECK ((reason = ANY (ARRAY['expired'::text, 'dropped'::text, 'payment_failed'::text, 'refunded'::text]))),
    CONSTRAINT hold_state_check CHECK ((state = ANY (ARRAY['held'::text, 'paid'::text, 'released'::text])))
)
WITH (fillfactor='90');

CREATE TABLE data.hold_line (
    hold_id bigint NOT NULL,
    item_id bigint NOT NULL,
    bucket integer NOT NULL,
    qty bigint NOT NULL,
    price bigint NOT NULL,
    buyer uuid NOT NULL,
    state text DEFAULT 'held'::text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    lead boolean NOT NULL,
    CONSTRAINT hold_line_price_check CHECK (((price >= 1) AND (price <= 99999999))),
    CONSTRAINT hold_line_qty_check CHECK (((qty >= 1) AND (qty <= 1000))),
    CONSTRAINT hold_line_state_check CHECK ((state = ANY (ARRAY['held'::text, 'paid'::text, 'released'::text])))
)
WITH (fillfactor='90');

CREATE TABLE data.item (
    item_id bigint NOT NULL,
    sku text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL,
    kind text DEFAULT 'count'::text NOT NULL,
    price bigint NOT NULL,
    currency text NOT NULL,
    hold_seconds integer NOT NULL,
    per_buyer integer NOT NULL,
    status text DEFAULT 'open'::text NOT NULL,
    opens_at timestamp with time zone,
    closes_at timestamp with time zone,
    late text[] DEFAULT '{retake,allowance,refund}'::text[] NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    buckets integer DEFAULT 1 NOT NULL,
    CONSTRAINT item_buckets_check CHECK (((buckets >= 1) AND (buckets <= 1000))),
    CONSTRAINT item_check CHECK ((closes_at > opens_at)),
    CONSTRAINT item_check1 CHECK (((price * per_buyer) <= 99999999)),
    CONSTRAINT item_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT item_hold_seconds_check CHECK (((hold_seconds >= 1) AND (hold_seconds <= 86400))),
    CONSTRAINT item_kind_check CHECK ((kind = ANY (ARRAY['count'::text, 'unit'::text]))),
    CONSTRAINT item_late_check CHECK (((((late = '{refund}'::text[]) OR (late = '{retake,refund}'::text[])) OR (late = '{allowance,refund}'::text[])) OR (late = '{retake,allowance,refund}'::text[]))),
    CONSTRAINT item_per_buyer_check CHECK (((per_buyer >= 1) AND (per_buyer <= 1000))),
    CONSTRAINT item_price_check CHECK (((price >= 1) AND (price <= 99999999))),
    CONSTRAINT item_sku_check CHECK ((((length(sku) >= 1) AND (length(sku) <= 100)) AND (sku !~ '^[.[:space:]]|[[:space:]]$|[/\\[:cntrl:]]'::text))),
    CONSTRAINT item_status_check CHECK ((status = ANY (ARRAY['open'::text, 'paused'::text, 'closed'::text]))),
    CONSTRAINT item_title_check CHECK ((((length(title) >= 1) AND (length(title) <= 200)) AND (title !~ '[[:cntrl:]]'::text)))
);

CREATE TABLE data.item_change (
    change_id bigint NOT NULL,
    item_id bigint NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_by text NOT NULL,
    before jsonb NOT NULL,
    after jsonb NOT NULL
);

CREATE TABLE data.mail (
    mail_id bigint NOT NULL,
    kind text NOT NULL,
    hold_id bigint,
    refund_id bigint,
    task_id bigint,
    try integer DEFAULT 0 NOT NULL,
    next_try timestamp with time zone NOT NULL,
    stuck boolean DEFAULT false NOT NULL,
    last_error text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    done_at timestamp with time zone,
    CONSTRAINT mail_check CHECK (((kind = 'task'::text) = (task_id IS NOT NULL))),
    CONSTRAINT mail_check1 CHECK (((kind = 'task'::text) = (hold_id IS NULL))),
    CONSTRAINT mail_kind_check CHECK ((kind = ANY (ARRAY['paid'::text, 'paid_late'::text, 'pending'::text, 'payment_failed'::text, 'refund_owed'::text, 'refunded'::text, 'refund_failed'::text, 'task'::text])))
);

CREATE TABLE data.outbox (
    outbox_id bigint NOT NULL,
    kind text NOT NULL,
    payment_id bigint NOT NULL,
    key text NOT NULL,
    try integer DEFAULT 0 NOT NULL,
    next_try timestamp with time zone NOT NULL,
    stuck boolean DEFAULT false NOT NULL,
    last_error text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    done_at timestamp with time zone,
    refund_id bigint,
    hold_id bigint NOT NULL,
    claimed_by integer,
    CONSTRAINT outbox_kind_check CHECK ((kind = ANY (ARRAY['open'::text, 'expire'::text, 'refund'::text, 'fetch'::text]))),
    CONSTRAINT outbox_refund_check CHECK (((kind = 'refund'::text) = (refund_id IS NOT NULL)))
);

CREATE TABLE data.payment (
    payment_id bigint NOT NULL,
    hold_id bigint NOT NULL,
    attempt integer DEFAULT 1 NOT NULL,
    provider text NOT NULL,
    key text NOT NULL,
    amount bigint NOT NULL,
    currency text NOT NULL,
    title text NOT NULL,
    return_url text NOT NULL,
    session_expires_at timestamp with time zone NOT NULL,
    state text DEFAULT 'opening'::text NOT NULL,
    session_id text,
    url text,
    payment_ref text,
    captured bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    opened_at timestamp with time zone,
    paid_at timestamp with time zone,
    checking_at timestamp with time zone,
    late text,
    CONSTRAINT payment_amount_check CHECK (((amount >= 1) AND (amount <= 99999999))),
    CONSTRAINT payment_attempt_check CHECK (((attempt >= 1) AND (attempt <= 9))),
    CONSTRAINT payment_captured_check CHECK ((captured >= 0)),
    CONSTRAINT payment_check CHECK (((state <> 'open'::text) OR ((session_id IS NOT NULL) AND (url IS NOT NULL)))),
    CONSTRAINT payment_check1 CHECK (((state = ANY (ARRAY['paid'::text, 'mismatch'::text])) = (captured > 0))),
    CONSTRAINT payment_late_check CHECK ((late = ANY (ARRAY['retake'::text, 'allowance'::text]))),
    CONSTRAINT payment_state_check CHECK ((state = ANY (ARRAY['opening'::text, 'open'::text, 'checking'::text, 'paid'::text, 'failed'::text, 'expired'::text, 'refused'::text, 'mismatch'::text])))
);

CREATE TABLE data.reconcile_difference (
    difference_id bigint NOT NULL,
    run_id bigint NOT NULL,
    what text NOT NULL,
    subject text NOT NULL,
    hold_id bigint,
    payment_id bigint,
    refund_id bigint,
    here text NOT NULL,
    there text NOT NULL,
    fresh_since timestamp with time zone,
    asked_at timestamp with time zone,
    outcome text,
    ended_at timestamp with time zone,
    CONSTRAINT reconcile_difference_what_check CHECK ((what = ANY (ARRAY['paid_there'::text, 'paid_here'::text, 'pending_there'::text, 'amount'::text, 'refund_there'::text, 'refund_here'::text, 'refund_state'::text, 'refund_amount'::text, 'event'::text])))
);

CREATE TABLE data.reconcile_run (
    run_id bigint NOT NULL,
    provider text NOT NULL,
    since timestamp with time zone NOT NULL,
    repair boolean NOT NULL,
    started_by text NOT NULL,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    state text DEFAULT 'running'::text NOT NULL,
    list text,
    cursor text,
    sessions bigint DEFAULT 0 NOT NULL,
    refunds bigint DEFAULT 0 NOT NULL,
    events bigint DEFAULT 0 NOT NULL,
    holder text,
    lease_until timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT reconcile_run_check CHECK (((state = 'running'::text) = (ended_at IS NULL))),
    CONSTRAINT reconcile_run_list_check CHECK ((list = ANY (ARRAY['sessions'::text, 'refunds'::text, 'events'::text]))),
    CONSTRAINT reconcile_run_state_check CHECK ((state = ANY (ARRAY['running'::text, 'finished'::text, 'given_up'::text])))
);

CREATE TABLE data.reconcile_statement (
    run_id bigint NOT NULL,
    list text NOT NULL,
    ref text NOT NULL,
    kind text NOT NULL,
    key text,
    hold text,
    session_id text,
    payment_ref text,
    refund_ref text,
    state text,
    amount bigint,
    currency text,
    seen_at timestamp with time zone NOT NULL,
    CONSTRAINT reconcile_statement_list_check CHECK ((list = ANY (ARRAY['sessions'::text, 'refunds'::text, 'events'::text])))
);

CREATE TABLE data.refund (
    refund_id bigint NOT NULL,
    payment_id bigint NOT NULL,
    key text,
    amount bigint NOT NULL,
    reason text NOT NULL,
    state text DEFAULT 'owed'::text NOT NULL,
    refund_ref text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ended_at timestamp with time zone,
    asked_by text,
    CONSTRAINT refund_amount_check CHECK (((amount >= 1) AND (amount <= 99999999))),
    CONSTRAINT refund_key_check CHECK (((key IS NULL) = (reason = 'at_provider'::text))),
    CONSTRAINT refund_made_check CHECK (((reason <> 'at_provider'::text) OR (refund_ref IS NOT NULL))),
    CONSTRAINT refund_reason_check CHECK ((reason = ANY (ARRAY['paid_late'::text, 'paid_twice'::text, 'asked_for'::text, 'at_provider'::text]))),
    CONSTRAINT refund_state_check CHECK ((state = ANY (ARRAY['owed'::text, 'pending'::text, 'succeeded'::text, 'failed'::text, 'void'::text])))
);

CREATE TABLE data.stock (
    item_id bigint NOT NULL,
    bucket integer NOT NULL,
    total bigint NOT NULL,
    allowance bigint DEFAULT 0 NOT NULL,
    held bigint DEFAULT 0 NOT NULL,
    sold bigint DEFAULT 0 NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    CONSTRAINT never_more CHECK (((held + sold) <= (total + allowance))),
    CONSTRAINT stock_allowance_check CHECK (((allowance >= 0) AND (allowance <= 1000000000))),
    CONSTRAINT stock_bucket_check CHECK (((bucket >= 1) AND (bucket <= 1000))),
    CONSTRAINT stock_held_check CHECK ((held >= 0)),
    CONSTRAINT stock_sold_check CHECK ((sold >= 0)),
    CONSTRAINT stock_total_check CHECK (((total >= 0) AND (total <= 1000000000)))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');

CREATE TABLE data.task (
    task_id bigint NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    hold_id bigint,
    payment_id bigint,
    refund_id bigint,
    outbox_id bigint,
    detail text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    settled_at timestamp with time zone,
    settled_by text,
    note text,
    CONSTRAINT task_check CHECK (((settled_at IS NULL) = (settled_by IS NULL))),
    CONSTRAINT task_kind_check CHECK ((kind = ANY (ARRAY['stuck'::text, 'refused'::text, 'mismatch'::text, 'unclear'::text, 'refund_failed'::text, 'dispute'::text, 'dispute_lost'::text, 'difference'::text, 'mail'::text, 'not_set_up'::text])))
);

ALTER TABLE data.dispute ALTER COLUMN dispute_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME data.dispute_dispute_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE data.event ALTER COLUMN event_seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME data.event_event_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE data.hold ALTER COLUMN hold_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME data.hold_hold_id_seq
    START WITH 1001
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE data.item ALTER COLUMN item_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME data.item_item_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE data.item_change ALTER COLUMN change_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME data.item_change_change_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE data.mail ALTER COLUMN mail_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME data.mail_mail_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE data.outbox ALTER COLUMN outbox_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME data.outbox_outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE data.payment ALTER COLUMN payment_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME data.payment_payment_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE data.reconcile_difference ALTER COLUMN difference_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME data.reconcile_difference_difference_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE data.reconcile_run ALTER COLUMN run_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME data.reconcile_run_run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE data.refund ALTER COLUMN refund_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME data.refund_refund_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE data.task ALTER COLUMN task_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME data.task_task_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY data.dispute
    ADD CONSTRAINT dispute_pkey PRIMARY KEY (dispute_id);

ALTER TABLE ONLY data.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (event_seq);

ALTER TABLE ONLY data.event
    ADD CONSTRAINT event_provider_event_id_key UNIQUE (provider, event_id);

ALTER TABLE ONLY data.hold
    ADD CONSTRAINT hold_id_key UNIQUE (id);

ALTER TABLE ONLY data.hold
    ADD CONSTRAINT hold_key_key UNIQUE (key);

ALTER TABLE ONLY data.hold
    ADD CONSTRAINT hold_pkey PRIMARY KEY (hold_id);

ALTER TABLE ONLY data.item
    ADD CONSTRAINT item_pkey PRIMARY KEY (item_id);

ALTER TABLE ONLY data.item
    ADD CONSTRAINT item_sku_key UNIQUE (sku);

ALTER TABLE ONLY data.item_change
    ADD CONSTRAINT item_change_pkey PRIMARY KEY (change_id);

ALTER TABLE ONLY data.mail
    ADD CONSTRAINT mail_pkey PRIMARY KEY (mail_id);

ALTER TABLE ONLY data.mail
    ADD CONSTRAINT mail_task_id_key UNIQUE (task_id);

ALTER TABLE ONLY data.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (outbox_id);

ALTER TABLE ONLY data.payment
    ADD CONSTRAINT payment_hold_id_attempt_key UNIQUE (hold_id, attempt);

ALTER TABLE ONLY data.payment
    ADD CONSTRAINT payment_key_key UNIQUE (key);

ALTER TABLE ONLY data.payment
    ADD CONSTRAINT payment_pkey PRIMARY KEY (payment_id);

ALTER TABLE ONLY data.payment
    ADD CONSTRAINT payment_provider_session_id_key UNIQUE (provider, session_id);

ALTER TABLE ONLY data.reconcile_difference
    ADD CONSTRAINT reconcile_difference_pkey PRIMARY KEY (difference_id);

ALTER TABLE ONLY data.reconcile_difference
    ADD CONSTRAINT reconcile_difference_run_id_what_subject_key UNIQUE (run_id, what, subject);

ALTER TABLE ONLY data.reconcile_run
    ADD CONSTRAINT reconcile_run_pkey PRIMARY KEY (run_id);

ALTER TABLE ONLY data.reconcile_statement
    ADD CONSTRAINT reconcile_statement_pkey PRIMARY KEY (run_id, list, ref);

ALTER TABLE ONLY data.refund
    ADD CONSTRAINT refund_key_key UNIQUE (key);

ALTER TABLE ONLY data.refund
    ADD CONSTRAINT refund_pkey PRIMARY KEY (refund_id);

ALTER TABLE ONLY data.refund
    ADD CONSTRAINT refund_refund_ref_key UNIQUE (refund_ref);

ALTER TABLE ONLY data.stock
    ADD CONSTRAINT stock_pkey PRIMARY KEY (item_id, bucket);

ALTER TABLE ONLY data.task
    ADD CONSTRAINT task_kind_subject_key UNIQUE (kind, subject);

ALTER TABLE ONLY data.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (task_id);

CREATE INDEX event_outcome ON data.event USING btree (outcome, event_seq);

CREATE INDEX event_waits_hold ON data.event USING btree (hold) WHERE (((outcome = 'unmatched'::text) IS TRUE) AND (hold IS NOT NULL));

CREATE INDEX event_waits_payment ON data.event USING btree (payment_ref) WHERE (((outcome = 'unmatched'::text) IS TRUE) AND (payment_ref IS NOT NULL));

CREATE INDEX event_waits_session ON data.event USING btree (session_id) WHERE (((outcome = 'unmatched'::text) IS TRUE) AND (session_id IS NOT NULL));

CREATE INDEX hold_line_due ON data.hold_line USING btree (item_id, expires_at) WHERE ((state = 'held'::text) IS TRUE);

CREATE INDEX hold_line_paid ON data.hold_line USING btree (buyer, item_id) WHERE (state = 'paid'::text);

CREATE INDEX hold_line_sold ON data.hold_line USING btree (item_id) WHERE ((state = 'paid'::text) IS TRUE);

CREATE INDEX mail_due ON data.mail USING btree (next_try) WHERE ((done_at IS NULL) AND (NOT stuck));

CREATE INDEX mail_stuck ON data.mail USING btree (mail_id) WHERE ((done_at IS NULL) AND stuck);

CREATE INDEX outbox_claimed ON data.outbox USING btree (claimed_by) WHERE (((done_at IS NULL) AND (claimed_by IS NOT NULL)) IS TRUE);

CREATE INDEX outbox_due ON data.outbox USING btree (kind, next_try) WHERE ((done_at IS NULL) AND (NOT stuck));

CREATE INDEX outbox_open ON data.outbox USING btree (hold_id) WHERE (((kind = 'open'::text) AND (done_at IS NULL) AND (NOT stuck)) IS TRUE);

CREATE INDEX payment_paid ON data.payment USING btree (paid_at) WHERE (paid_at IS NOT NULL);

CREATE INDEX payment_ref ON data.payment USING btree (payment_ref) WHERE (payment_ref IS NOT NULL);

CREATE INDEX refund_payment ON data.refund USING btree (payment_id);

CREATE INDEX task_hold ON data.task USING btree (hold_id) WHERE (hold_id IS NOT NULL);

CREATE INDEX task_open ON data.task USING btree (task_id) WHERE (settled_at IS NULL);

CREATE UNIQUE INDEX dispute_once ON data.dispute USING btree (payment_id, COALESCE(ref, ''::text));

CREATE UNIQUE INDEX hold_line_one_live ON data.hold_line USING btree (buyer, item_id) WHERE ((state = 'held'::text) AND lead);

CREATE UNIQUE INDEX hold_line_part ON data.hold_line USING btree (hold_id, ((+ item_id)), bucket);

CREATE UNIQUE INDEX mail_once ON data.mail USING btree (hold_id, kind, COALESCE(refund_id, (0)::bigint)) WHERE (hold_id IS NOT NULL);

CREATE UNIQUE INDEX outbox_once ON data.outbox USING btree (kind, payment_id) WHERE (refund_id IS NULL);

CREATE UNIQUE INDEX outbox_refund ON data.outbox USING btree (refund_id) WHERE (refund_id IS NOT NULL);

CREATE UNIQUE INDEX reconcile_run_one ON data.reconcile_run USING btree (provider) WHERE (state = 'running'::text);

ALTER TABLE ONLY data.dispute
    ADD CONSTRAINT dispute_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES data.payment(payment_id);

ALTER TABLE ONLY data.item_change
    ADD CONSTRAINT item_change_item_id_fkey FOREIGN KEY (item_id) REFERENCES data.item(item_id);

ALTER TABLE ONLY data.mail
    ADD CONSTRAINT mail_hold_id_fkey FOREIGN KEY (hold_id) REFERENCES data.hold(hold_id);

ALTER TABLE ONLY data.mail
    ADD CONSTRAINT mail_refund_id_fkey FOREIGN KEY (refund_id) REFERENCES data.refund(refund_id);

ALTER TABLE ONLY data.mail
    ADD CONSTRAINT mail_task_id_fkey FOREIGN KEY (task_id) REFERENCES data.task(task_id);

ALTER TABLE ONLY data.outbox
    ADD CONSTRAINT outbox_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES data.payment(payment_id);

ALTER TABLE ONLY data.outbox
    ADD CONSTRAINT outbox_refund_id_fkey FOREIGN KEY (refund_id) REFERENCES data.refund(refund_id);

ALTER TABLE ONLY data.payment
    ADD CONSTRAINT payment_hold_id_fkey FOREIGN KEY (hold_id) REFERENCES data.hold(hold_id);

ALTER TABLE ONLY data.reconcile_difference
    ADD CONSTRAINT reconcile_difference_run_id_fkey FOREIGN KEY (run_id) REFERENCES data.reconcile_run(run_id);

ALTER TABLE ONLY data.reconcile_statement
    ADD CONSTRAINT reconcile_statement_run_id_fkey FOREIGN KEY (run_id) REFERENCES data.reconcile_run(run_id);

ALTER TABLE ONLY data.refund
    ADD CONSTRAINT refund_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES data.payment(payment_id);

ALTER TABLE ONLY data.stock
    ADD CONSTRAINT stock_item_id_fkey FOREIGN KEY (item_id) REFERENCES data.item(item_id);

ALTER TABLE ONLY data.task
    ADD CONSTRAINT task_hold_id_fkey FOREIGN KEY (hold_id) REFERENCES data.hold(hold_id);

ALTER TABLE ONLY data.task
    ADD CONSTRAINT task_outbox_id_fkey FOREIGN KEY (outbox_id) REFERENCES data.outbox(outbox_id);

ALTER TABLE ONLY data.task
    ADD CONSTRAINT task_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES data.payment(payment_id);

ALTER TABLE ONLY data.task
    ADD CONSTRAINT task_refund_id_fkey FOREIGN KEY (refund_id) REFERENCES data.refund(refund_id);
