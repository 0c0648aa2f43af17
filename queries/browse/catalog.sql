-- The published workloads, given as JSON: they are known without a database, and so is no table of one read here.
SELECT *
FROM (
    SELECT
        unnest(
            from_json(
                $rows,
                '[{
                    "workload": "VARCHAR",
                    "metric": "VARCHAR",
                    "goal": "DOUBLE",
                    "maximize": "BOOLEAN",
                    "train_examples": "BIGINT",
                    "batch_sizes": "INTEGER[]",
                    "complete": "INTEGER",
                    "incomplete": "INTEGER",
                    "infeasible": "INTEGER",
                    "releases": "VARCHAR[]",
                    "trial_limit": "INTEGER",
                    "goal_certainty": "VARCHAR",
                    "train_examples_certainty": "VARCHAR",
                    "notes": "VARCHAR"
                }]'
            ),
            recursive := true
        )
)
WHERE $release IS NULL OR list_contains(releases, $release)
ORDER BY workload;
