CREATE MACRO json_text(object, name) AS JSONExtract(object, name, 'Nullable(String)');
CREATE MACRO json_number(object, name) AS JSONExtract(object, name, 'Nullable(Float64)');
CREATE MACRO json_object_of(object, name) AS JSONExtractRaw(object, name);
-- A list cannot be NULL there.
CREATE MACRO json_names(object) AS JSONExtractKeys(assumeNotNull(object));
CREATE MACRO isfinite(value) AS NOT isnan(value) AND NOT isInfinite(value);
