-- A number of each workload: a column of the view workloads, or a number of their definitions, by its name.
SELECT workload, any_value(number) AS number
FROM (
    SELECT workload, coalesce(try_cast(to_json(workloads)->>$column AS DOUBLE), json_number(definition, $column)) AS number
    FROM workloads
)
WHERE number > 0
GROUP BY workload;
