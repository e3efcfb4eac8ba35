-- program_min: 11
-- The ids of the models that a key may call; null: all. A program of before does not read it: while
-- instances of both serve, the older ones answer such a key for every model.
alter table api_key add column models text[];
