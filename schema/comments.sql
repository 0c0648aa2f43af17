-- What the views and their columns mean: DuckDB returns it from duckdb_views() and duckdb_columns(), and clients show it.
-- docs/schema.md is written from it. A column's comment is its meaning, then its unit where it has one, then where it is
-- NULL where it can be.

COMMENT ON VIEW releases IS 'The releases: sets of measurements that were published, produced or loaded together. A row a release.';
COMMENT ON COLUMN releases.release IS 'The release''s name, such as published or measured.';
COMMENT ON COLUMN releases.title IS 'One line on what it is. NULL where none was given.';
COMMENT ON COLUMN releases.licence IS 'The licence of the measurements: an SPDX identifier, or a sentence. NULL where none was given.';
COMMENT ON COLUMN releases.workloads IS 'How many workloads it has.';
COMMENT ON COLUMN releases.studies IS 'How many studies it has.';
COMMENT ON COLUMN releases.trials IS 'How many trials it has, of any status.';
COMMENT ON COLUMN releases.measurements IS 'How many measurements it has.';
COMMENT ON COLUMN releases.citation IS 'How to cite it: BibTeX. NULL where none was given.';

COMMENT ON VIEW workloads IS 'The workloads: choices of a data set, a model and an optimizer. A row a workload of a release.';
COMMENT ON COLUMN workloads.release IS 'The release that it belongs to.';
COMMENT ON COLUMN workloads.workload IS 'The workload''s name, DATASET/MODEL/OPTIMIZER, below its collection where it has one; unique in its release.';
COMMENT ON COLUMN workloads.collection IS 'What stands before the data set in the name, such as mnist_subsets. NULL for most.';
COMMENT ON COLUMN workloads.dataset IS 'The data set.';
COMMENT ON COLUMN workloads.model IS 'The model.';
COMMENT ON COLUMN workloads.optimizer IS 'The optimizer.';
COMMENT ON COLUMN workloads.sparsity IS 'Share of weights pruned before training; 0 for dense networks. Unit: share from 0 up to 1.';
COMMENT ON COLUMN workloads.metric IS 'The metric of the goal: the name of a column of measurements.';
COMMENT ON COLUMN workloads.goal IS 'The value of the metric that training is to get past. Unit: that of the metric. NULL where no goal is known.';
COMMENT ON COLUMN workloads.maximize IS 'Whether higher values of the metric are better.';
COMMENT ON COLUMN workloads.goal_inclusive IS 'Whether a value equal to the goal has reached it, and not only one strictly past it.';
COMMENT ON COLUMN workloads.train_examples IS 'Size of the training split, which makes an epoch. Unit: examples. NULL where it is not known, as of some workloads of archives.';
COMMENT ON COLUMN workloads.studies IS 'How many studies it has, one a batch size.';
COMMENT ON COLUMN workloads.trials IS 'How many trials it has, of any status.';
COMMENT ON COLUMN workloads.measurements IS 'How many measurements it has.';
COMMENT ON COLUMN workloads.definition IS 'The producer''s whole definition: an object. NULL for archives.';

COMMENT ON VIEW studies IS 'The studies: searches for the metaparameters of one workload at one batch size. A row a study.';
COMMENT ON COLUMN studies.release IS 'The release that it belongs to.';
COMMENT ON COLUMN studies.workload IS 'The workload''s name.';
COMMENT ON COLUMN studies.batch_size IS 'The global batch size: how many examples an update averages over. Unit: examples.';
COMMENT ON COLUMN studies.train_steps IS 'The fewest updates with which a trial counts as COMPLETE; 0 where the budget was time. Unit: updates.';
COMMENT ON COLUMN studies.early_stopping IS 'Whether trials were stopped before the steps that they could have taken.';
COMMENT ON COLUMN studies.search_space IS 'What was searched: an object by metaparameter, with type, min_value, max_value and scale, or with feasible_points.';
COMMENT ON COLUMN studies.complete IS 'How many of its trials are COMPLETE: trained to their end.';
COMMENT ON COLUMN studies.incomplete IS 'How many of its trials are INCOMPLETE: stopped for some reason.';
COMMENT ON COLUMN studies.infeasible IS 'How many of its trials are INFEASIBLE: they diverged.';
COMMENT ON COLUMN studies.measurements IS 'How many measurements it has.';
COMMENT ON COLUMN studies.seed IS 'The root of its trials'' seeds. NULL for archives and runs of other tools.';
COMMENT ON COLUMN studies.search IS 'How it was searched in lockstep, and where that stopped: an object that schema/shard.toml explains. NULL where every trial trained to its end.';
COMMENT ON COLUMN studies.stopped IS 'Whether it ended when enough of its trials were past the workload''s goal: of other goals and metrics it tells what came until then alone.';

COMMENT ON VIEW trials IS 'The trials: training runs with one choice of metaparameters each. A row a trial.';
COMMENT ON COLUMN trials.release IS 'The release that it belongs to.';
COMMENT ON COLUMN trials.workload IS 'The workload''s name.';
COMMENT ON COLUMN trials.batch_size IS 'The global batch size. Unit: examples.';
COMMENT ON COLUMN trials.trial_id IS 'The trial''s number, unique in its study; the order in which trials were drawn.';
COMMENT ON COLUMN trials.status IS 'COMPLETE, INCOMPLETE (stopped for some reason) or INFEASIBLE (diverged).';
COMMENT ON COLUMN trials.steps IS 'The last step that was taken. Unit: updates.';
COMMENT ON COLUMN trials.learning_rate IS 'The metaparameter learning_rate, before any decay. NULL where the trial has none.';
COMMENT ON COLUMN trials.momentum IS 'The metaparameter momentum. NULL where the trial has none, as with plain SGD.';
COMMENT ON COLUMN trials.end_learning_rate_factor IS 'What the learning rate is multiplied by at the end of its decay. NULL where the trial has none.';
COMMENT ON COLUMN trials.learning_rate_decay_steps IS 'How long the learning rate decays. Unit: updates. NULL where the trial has none.';
COMMENT ON COLUMN trials.label_smoothing IS 'How much of each label is spread over the other classes. Unit: share from 0 to 1. NULL where the trial has none.';
COMMENT ON COLUMN trials.metaparameters IS 'All metaparameters by name, those above among them, as numbers: true is 1, false is 0, and text is NULL here (see settings).';
COMMENT ON COLUMN trials.seed IS 'Of initialisation and batch order. NULL for archives, and where it is not known.';
COMMENT ON COLUMN trials.measurements IS 'How many measurements it has.';
COMMENT ON COLUMN trials.ordinal IS 'Its number among the trials of its study that count for steps to result: COMPLETE ones, and of a study that was searched in lockstep also those that were dropped. NULL where it does not count.';
COMMENT ON COLUMN trials.name IS 'What the tool that it comes from calls it. NULL where that has no name for it.';
COMMENT ON COLUMN trials.shard IS 'The file of its rows, below the release folder.';
COMMENT ON COLUMN trials.producer IS 'What wrote that file: versions, device, git revision; of archives and runs of other tools where they came from.';
COMMENT ON COLUMN trials.settings IS 'All metaparameters by name as they were given: an object of numbers, truths and text.';

COMMENT ON VIEW measurements IS 'The measurements: what was measured after a step of a trial. A row a step at which anything was measured.';
COMMENT ON COLUMN measurements.release IS 'The release that it belongs to.';
COMMENT ON COLUMN measurements.workload IS 'The workload''s name.';
COMMENT ON COLUMN measurements.dataset IS 'The data set.';
COMMENT ON COLUMN measurements.model IS 'The model.';
COMMENT ON COLUMN measurements.optimizer IS 'The optimizer.';
COMMENT ON COLUMN measurements.batch_size IS 'The global batch size. Unit: examples.';
COMMENT ON COLUMN measurements.trial_id IS 'The trial, unique in its study.';
COMMENT ON COLUMN measurements.status IS 'The trial''s status: COMPLETE, INCOMPLETE (stopped for some reason) or INFEASIBLE (diverged).';
COMMENT ON COLUMN measurements.step IS 'Updates made so far; 0 is the state before the first. Unit: updates.';
COMMENT ON COLUMN measurements.train_cross_entropy_error IS 'Mean cross entropy on the recorded subset of the training split. Unit: nats an example. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.train_classification_error IS 'Share of wrongly classified examples of the recorded subset of the training split. Unit: share of examples. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.val_cross_entropy_error IS 'Mean cross entropy on the validation split. Unit: nats an example. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.val_classification_error IS 'Share of wrongly classified examples of the validation split. Unit: share of examples. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.test_cross_entropy_error IS 'Mean cross entropy on the test split. Unit: nats an example. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.test_classification_error IS 'Share of wrongly classified examples of the test split. Unit: share of examples. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.train_average_precision IS 'Average precision on the recorded subset of the training split; higher is better. Unit: share from 0 to 1. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.val_average_precision IS 'Average precision on the validation split; higher is better. Unit: share from 0 to 1. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.test_average_precision IS 'Average precision on the test split; higher is better. Unit: share from 0 to 1. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.batch_cross_entropy_error IS 'Mean loss on the step''s own batch, before its update. Unit: nats an example. NULL at step 0, and where it was not recorded, as in archives.';
COMMENT ON COLUMN measurements.other_metrics IS 'Metrics without a column of their own, by name. Unit: that of each metric. NULL where a step has none.';

COMMENT ON VIEW evaluations IS 'The metrics of the measurements in long form, for queries that take the metric as a value. A row a value.';
COMMENT ON COLUMN evaluations.release IS 'The release that it belongs to.';
COMMENT ON COLUMN evaluations.workload IS 'The workload''s name.';
COMMENT ON COLUMN evaluations.batch_size IS 'The global batch size. Unit: examples.';
COMMENT ON COLUMN evaluations.trial_id IS 'The trial, unique in its study.';
COMMENT ON COLUMN evaluations.status IS 'The trial''s status: COMPLETE, INCOMPLETE (stopped for some reason) or INFEASIBLE (diverged).';
COMMENT ON COLUMN evaluations.step IS 'Updates made so far. Unit: updates.';
COMMENT ON COLUMN evaluations.metric IS 'The name of a column of measurements.';
COMMENT ON COLUMN evaluations.value IS 'What it was. Unit: that of the metric.';
