-- program_min: 11
-- From when on a key is refused; null: never. A program of before does not read it: while instances of
-- both serve, such a key may still be answered by the older ones.
alter table api_key add column expires_at timestamptz;
