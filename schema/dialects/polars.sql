-- Polars takes NaN for larger than any number.
CREATE MACRO isfinite(value) AS abs(value) < 'inf'::DOUBLE;

CREATE MACRO any_value(value) AS min(value);
CREATE MACRO arg_min(value, number) AS array_get(array_agg(value ORDER BY number), 1);
CREATE MACRO first_of(value, number, second) AS array_get(array_agg(value ORDER BY number, second), 1);
