-- What no other engine has as DuckDB has it. Objects of JSON stay the text that they are in the index.

CREATE MACRO number_map(object) AS object;
CREATE MACRO mapped_number(numbers, name) AS json_number(numbers, name);
CREATE MACRO at_most(count) AS NULL;
CREATE MACRO known(name, kind, names) AS name;
-- Seconds have no translation that keeps the type of steps.
CREATE MACRO mean_of_two(first, second) AS ceil((first + second) / 2)::BIGINT;

-- Half away from zero: some engines round half to even, or the shortest decimal that stands for a number.
CREATE MACRO round(value, digits) AS CASE
    WHEN value < 0 THEN -floor(-value * power(10.0, digits) + 0.5) / power(10.0, digits)
    ELSE floor(value * power(10.0, digits) + 0.5) / power(10.0, digits)
END;

-- Batches that grow within a trial are taken for constant ones.
CREATE MACRO batch_changes(definition) AS NULL;
CREATE MACRO grown_steps(steps, changes) AS steps;
