CREATE MACRO json_text(object, name) AS get_json_object(object, concat('$.', name));
CREATE MACRO json_number(object, name) AS try_cast(json_text(object, name) AS DOUBLE);
CREATE MACRO json_object_of(object, name) AS json_text(object, name);
CREATE MACRO json_names(object) AS json_object_keys(object);
CREATE MACRO isfinite(value) AS NOT isnan(value) AND abs(value) < 'infinity'::DOUBLE;
