CREATE MACRO isfinite(value) AS NOT isnan(value) AND abs(value) < 'inf'::DOUBLE;
CREATE MACRO arg_min(value, number) AS first_value(value ORDER BY number);
CREATE MACRO first_of(value, number, second) AS first_value(value ORDER BY number, second);
