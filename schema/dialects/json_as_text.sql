-- Engines without functions for JSON find the members of an object in its text, which indexes write without spaces.

CREATE MACRO json_text(object, name) AS nullif(replace(
    split_part(split_part(split_part(object, concat('"', name, '":'), 2), ',', 1), '}', 1), '"', ''
), '');
CREATE MACRO json_number(object, name) AS try_cast(json_text(object, name) AS DOUBLE);
CREATE MACRO json_object_of(object, name) AS split_part(split_part(object, concat('"', name, '":{'), 2), '}', 1);
CREATE MACRO json_names(object) AS string_split(object, '"');
