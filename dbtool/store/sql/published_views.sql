-- The stored tables as views of a published release's files. The values in braces are put in as SQL.
CREATE SCHEMA stored;

CREATE VIEW stored.schema_version AS
SELECT {schema_version}::INTEGER AS version, {dbtool} AS created_by;

CREATE VIEW stored.release AS
SELECT * FROM read_parquet({releases});

CREATE VIEW stored.workload AS
SELECT * REPLACE (definition::JSON AS definition) FROM read_parquet({workloads});

CREATE VIEW stored.study AS
SELECT * REPLACE (search_space::JSON AS search_space, search::JSON AS search) FROM read_parquet({studies});

CREATE VIEW stored.shard AS
SELECT * REPLACE (producer::JSON AS producer) FROM read_parquet({shards});

CREATE VIEW stored.trial AS
SELECT * FROM read_parquet({trials});

CREATE VIEW stored.improvement AS
SELECT * FROM read_parquet({improvements});

-- Measurements.
-- What the other tables know of a study stands in each row too; here it would be there twice.
CREATE VIEW stored.measurement AS
SELECT * EXCLUDE (workload, batch_size) FROM read_parquet({measurements});
