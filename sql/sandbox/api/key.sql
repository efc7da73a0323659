-- Idempotency: what is answered to a key that was used before.

-- What to answer to an Idempotency-Key before anything is done: nothing when
-- it is new. Until the transaction ends, the same key finds it in use. Keys
-- are forgotten after a day, as the provider's may be.
create function sandbox.replay(
    p_key text, p_path text, p_params jsonb,
    out http_status integer, out answer text, out original text)
language plpgsql as $$
declare
    kept sandbox_data.idempotency;
begin
    if p_key is null then
        return;
    elsif length(p_key) > 255 then
        http_status := 400;
        answer := sandbox.error('idempotency_error', null, null,
            'Idempotency keys can have up to 255 characters.');
        return;
    elsif not pg_try_advisory_xact_lock(hashtextextended(p_key, 0)) then
        http_status := 409;
        answer := sandbox.error('idempotency_error',
            'idempotency_key_in_use', null, 'There is currently another '
            'in-progress request using this Idempotent Key');
        return;
    end if;
    delete from sandbox_data.idempotency where key = p_key
        and created_at < sandbox.now() - interval '24 hours';
    select * into kept from sandbox_data.idempotency where key = p_key;
    if kept.key is null then
        return;
    elsif kept.path <> p_path or kept.params <> p_params then
        http_status := 400;
        answer := sandbox.error('idempotency_error', null, null,
            'Keys for idempotent requests can only be used with the same '
            'parameters they were first used with.');
        return;
    end if;
    http_status := kept.status;
    answer := kept.body;
    original := kept.request_id;
end
$$;

-- Keeps an answer for its key: of requests that began to be carried out, so
-- neither of malformed ones nor of those about nothing.
create function sandbox.keep(
    p_key text, p_path text, p_params jsonb, p_status integer, p_body text,
    p_request text)
returns void
language sql volatile
begin atomic
    insert into sandbox_data.idempotency
    select p_key, p_path, p_params, p_status, p_body, p_request, sandbox.now()
    where p_key is not null;
end;

-- A fault's 500, kept for its key like any other answer. p_after: the call
-- has been carried out, and nobody is to hear how it went; else it is not
-- carried out, but a key that was used before has its answer.
create function sandbox.call_fail(
    p_key text, p_path text, p_params jsonb, p_request text, p_after boolean,
    out http_status integer, out answer text, out original text)
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
begin
    if not p_after then
        select r.* into http_status, answer, original
        from sandbox.replay(p_key, p_path, p_params) r;
        if http_status is not null then
            return;
        end if;
    end if;
    http_status := 500;
    answer := sandbox.error('api_error', null, null,
        'An unknown error occurred');
    if p_after then
        update idempotency set status = http_status, body = answer
        where key = p_key;
    else
        perform sandbox.keep(
            p_key, p_path, p_params, http_status, answer, p_request);
    end if;
end
$$;
