-- The stored rows. People query the views in views.sql; these tables may change with the schema version.
-- Measurements are keyed by small integers and written sorted by study, trial, step, so that zone maps
-- let a query on one study skip the rest of the file. Foreign keys are left out: DuckDB would refuse to complete a
-- release's row that workloads refer to.

CREATE SCHEMA stored;

CREATE TABLE stored.schema_version (
    version INTEGER NOT NULL,        -- see schema/version.txt; another version is refused when a file is opened
    created_by VARCHAR NOT NULL      -- the dbtool version that made the file
);

CREATE TABLE stored.release (
    release_id SMALLINT PRIMARY KEY, -- the number that other tables know the release by
    release VARCHAR NOT NULL UNIQUE, -- "published", "measured", or a name of the user's own
    title VARCHAR,
    licence VARCHAR,
    citation VARCHAR                 -- BibTeX
);

CREATE TABLE stored.workload (
    workload_id SMALLINT PRIMARY KEY, -- the number that other tables know the workload by
    release_id SMALLINT NOT NULL,    -- the release it belongs to
    workload VARCHAR NOT NULL,       -- the path in the archive, such as mnist_subsets/mnist_6875/simple_cnn_base/sgd
    collection VARCHAR,              -- the folder above the data set, such as mnist_subsets; NULL for most
    dataset VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    optimizer VARCHAR NOT NULL,
    sparsity DOUBLE NOT NULL,        -- share of weights pruned before training; 0 for dense networks
    metric VARCHAR NOT NULL,         -- the column of the goal, such as val_classification_error
    goal DOUBLE,                     -- NULL where no goal is known
    maximize BOOLEAN NOT NULL,       -- whether higher values of the metric are better
    goal_inclusive BOOLEAN NOT NULL, -- whether a value equal to the goal has reached it, and not only one strictly past it
    train_examples BIGINT,
    definition JSON,                 -- the producer's whole definition of the workload; NULL for the archive
    UNIQUE (release_id, workload)
);

CREATE TABLE stored.study (
    study_id SMALLINT PRIMARY KEY,   -- the number that other tables know the study by
    workload_id SMALLINT NOT NULL,   -- the workload that was searched
    batch_size INTEGER NOT NULL,     -- global batch size
    train_steps BIGINT NOT NULL,     -- fewest steps of a COMPLETE trial; 0 where the budget was time
    early_stopping BOOLEAN NOT NULL,
    search_space JSON NOT NULL,      -- metaparameter -> {type, min_value, max_value, scale | feasible_points}
    seed BIGINT,                     -- root of the study's seeds; NULL for the archive
    search JSON,                     -- how it was searched in lockstep and where that stopped; NULL where trials train to their end
    UNIQUE (workload_id, batch_size)
);

CREATE TABLE stored.shard (
    shard_id INTEGER PRIMARY KEY,    -- the number that trials know the shard by
    study_id SMALLINT NOT NULL,      -- the study that its rows belong to
    sha256 VARCHAR NOT NULL UNIQUE,  -- of the whole file; where publishing reduced it, of that digest and the reduction
    name VARCHAR NOT NULL,           -- of the file, without folders
    measurements BIGINT NOT NULL,    -- rows of measurements in it
    producer JSON NOT NULL           -- versions, device, git revision: where the rows come from
);

CREATE TABLE stored.trial (
    study_id SMALLINT NOT NULL,      -- the study it belongs to
    trial_id INTEGER NOT NULL,
    status VARCHAR NOT NULL,         -- COMPLETE, INCOMPLETE or INFEASIBLE
    steps BIGINT NOT NULL,           -- last step that was taken
    metaparameters MAP(VARCHAR, DOUBLE) NOT NULL,
    seed BIGINT,                     -- of initialisation and batch order; NULL for the archive
    shard_id INTEGER,                -- the shard the rows came from; NULL for the archive
    measurements BIGINT NOT NULL,
    digest UBIGINT                   -- of the archive's two files about it, so that they are loaded once; NULL for shards
);

CREATE TABLE stored.measurement (
    study_id SMALLINT NOT NULL,      -- the study that its trial belongs to
    trial_id INTEGER NOT NULL,
    step BIGINT NOT NULL,
    batch_cross_entropy_error FLOAT,
    train_cross_entropy_error DOUBLE,
    train_classification_error DOUBLE,
    train_average_precision DOUBLE,
    val_cross_entropy_error DOUBLE,
    val_classification_error DOUBLE,
    val_average_precision DOUBLE,
    test_cross_entropy_error DOUBLE,
    test_classification_error DOUBLE,
    test_average_precision DOUBLE,
    other_metrics MAP(VARCHAR, DOUBLE) -- metrics that the columns above do not name, under the archive's or the producer's names
);

-- Of the measurements of trials that are not INFEASIBLE, those whose value of the workload's own metric is strictly better than every
-- finite one that the trial has before, in the order of the measurements. Questions about that metric read them alone.
CREATE TABLE stored.improvement (
    study_id SMALLINT NOT NULL,      -- the study that its trial belongs to
    trial_id INTEGER NOT NULL,       -- the trial, numbered within its study
    step BIGINT NOT NULL,            -- the step after which it was measured
    value DOUBLE NOT NULL            -- the value of the workload's metric
);
