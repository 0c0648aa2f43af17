-- What the views and macros need that other dialects of SQL have under other names, or not at all: schema/dialects has these
-- macros, and some of DuckDB's functions, as other engines have them. `dbtool sql --dialect` translates with those.

-- A member of an object of JSON as a number, as text, and as the object that it is itself; NULL where there is none.
CREATE MACRO json_number(object, name) AS try_cast(object->>name AS DOUBLE);
CREATE MACRO json_text(object, name) AS object->>name;
CREATE MACRO json_object_of(object, name) AS object->name;

-- A list of the names of an object's members. Where JSON is text to an engine, other text may be among them.
CREATE MACRO json_names(object) AS json_keys(object);

-- An object of numbers as a map, and a number of it.
CREATE MACRO number_map(object) AS try_cast(object::JSON AS MAP(VARCHAR, DOUBLE));
CREATE MACRO mapped_number(numbers, name) AS numbers[name];

-- Of rows the value of the one that is first by a number and, where several are, by a second one.
CREATE MACRO first_of(value, number, second) AS arg_min(value, (number, second));

-- As a LIMIT that nothing comes near: it tells DuckDB that rows are few, and stands in no other dialect.
CREATE MACRO at_most(count) AS count;
