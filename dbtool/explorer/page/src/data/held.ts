/** The trials, improvements and curves that a page holds, read when they are first needed. */

import { isMaximized, studiesOf } from "../analysis/goal";
import type { StudyTrials } from "../analysis/searches";
import { facts, type Metric, type Study, type Workload, textOf } from "../facts";
import { type Evaluations, evaluationsOf, goalsOf, NO_NUMBER } from "./evaluations";
import { Kept, type ParquetFile, type Table, type Wanted, embeddedFile, remoteFile } from "./parquet";

const TRIALS = ["batch_size", "trial_id", "ordinal", "steps", "learning_rate", "momentum", "setting"] as const;
const TEXTS = ["status", "settings"] as const;
const IMPROVEMENTS = ["batch_size", "trial_id", "after", "step", "value"] as const;

/** The trials of a workload, a row a trial: one that does not count has no ordinal, and settings are JSON. */
export type Trials = Table<(typeof TRIALS)[number], (typeof TEXTS)[number]>;

/** What tells when the trials of a workload pass a goal of a metric, for any goal. */
export interface Passing {
  studies: StudyTrials[];
  evaluations: Evaluations;
  /** From the best value of any trial to the middle one of those that trials begin with, or the other way round. */
  goals: { low: number; high: number } | null;
}

/** A workload that is drawn, with what was read of it. */
export interface Drawn {
  workload: Workload;
  trials: Trials;
  passing: Passing | null;
}

export interface Evaluation {
  trial_id: number;
  step: number;
  value: number;
}

/** The curves of a study, sorted by trial and step. */
export interface Curves {
  rows: Evaluation[];
  /** Whether every evaluation is there, or those alone that better all before. */
  whole: boolean;
}

type Name = "trials" | "improvements" | "curves";

const files: Record<Name, ParquetFile | null> = { trials: fileOf("trials"), improvements: fileOf("improvements"), curves: fileOf("curves") };
const kept = new Kept();

function fileOf(name: Name): ParquetFile | null {
  const beside = facts.files?.[name];
  if (facts.files) return beside ? remoteFile(beside.path, beside.bytes) : null;
  const text = textOf(name);
  return text ? embeddedFile(text) : null;
}

function read<Numbers extends string, Texts extends string = never>(name: Name, wanted: Wanted<Numbers, Texts>) {
  const file = files[name];
  if (!file) throw new Error(`this page holds no ${name}`);
  return file.read(wanted);
}

export function trialsOf(workload: Workload): Promise<Trials> {
  const group = workload.trials_group;
  return kept.once(`trials ${group}`, () => read("trials", { numbers: TRIALS, texts: TEXTS, group }));
}

/** null: the workload has no such values, or the page was made without them. */
export async function passingOf(workload: Workload, metric: string | null): Promise<Passing | null> {
  const found = workload.metrics.find((each) => each.metric === metric);
  if (!found) return null;
  return kept.once(`passing ${workload.trials_group} ${found.metric}`, async () => {
    const studies = studiesOf(workload.studies, await trialsOf(workload));
    const evaluations = await allEvaluations(workload, found);
    return { studies, evaluations, goals: goalsOf(evaluations, isMaximized(found.metric)) };
  });
}

/** Those of the curves; of a metric that these do not have, its improvements. */
async function allEvaluations(workload: Workload, { metric, group }: Metric): Promise<Evaluations> {
  if (group === null) return evaluationsOf(valuesOf(await read("curves", wantedOf(metric, workload.curves_group)), metric));
  const table = await read("improvements", { numbers: IMPROVEMENTS, group });
  return { ...table, step: table.step.map((each) => (Number.isNaN(each) ? Number.POSITIVE_INFINITY : each)) };
}

/** The curves of a study's trials in a metric. */
export function curvesOf(workload: Workload, study: Study, metric: string): Promise<Curves> {
  return kept.once(`curves ${workload.release} ${workload.workload} ${study.batch_size} ${metric}`, async () => {
    const found = workload.metrics.find((each) => each.metric === metric);
    if (study.shards && found?.group !== null) {
      const tables = study.shards.map(async (each) => valuesOf(await remoteFile(each.path, each.bytes).read(wantedOf(metric, null)), metric));
      const rows = (await Promise.all(tables)).flatMap((table) => rowsOf(evaluationsOf(table), study));
      return { rows: rows.sort((a, b) => a.trial_id - b.trial_id || a.step - b.step), whole: true };
    }
    return { rows: found ? rowsOf(await allEvaluations(workload, found), study) : [], whole: found?.group === null };
  });
}

/** What is read of a file of curves or of a shard. */
function wantedOf(metric: string, group: number | null) {
  return { numbers: ["batch_size", "trial_id", "step", metric], group, nan: NO_NUMBER };
}

function valuesOf(table: Table<string>, metric: string) {
  const column = (name: string) => table[name] as Float64Array;
  return { batch_size: column("batch_size"), trial_id: column("trial_id"), step: column("step"), value: column(metric) };
}

/** The evaluations of a study. */
function rowsOf({ batch_size, trial_id, step, value }: Evaluations, study: Study): Evaluation[] {
  return Array.from(step.keys())
    .filter((row) => batch_size[row] === study.batch_size && Number.isFinite(step[row]))
    .map((row) => ({ trial_id: trial_id[row]!, step: step[row]!, value: value[row]! }));
}
