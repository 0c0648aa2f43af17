/** The trials, improvements and curves that a page holds, read when they are first needed. */

import { isMaximized, studiesOf } from "../analysis/goal";
import type { StudyTrials } from "../analysis/searches";
import { facts, type Metric, type Study, type Workload, textOf } from "../facts";
import { type Evaluations, evaluationsOf, goalsOf, NO_NUMBER } from "./evaluations";
import { type ParquetFile, type Table, type Wanted, embeddedFile, remoteFile } from "./parquet";

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

class Held {
  private readonly files: Record<Name, ParquetFile | null>;
  private readonly kept = new Map<string, Promise<unknown>>();

  constructor() {
    const file = (name: Name) => {
      const beside = facts.files?.[name];
      if (facts.files) return beside ? remoteFile(beside.path, beside.bytes) : null;
      const text = textOf(name);
      return text ? embeddedFile(text) : null;
    };
    this.files = { trials: file("trials"), improvements: file("improvements"), curves: file("curves") };
  }

  trials(workload: Workload): Promise<Trials> {
    const group = workload.trials_group;
    return this.once(`trials ${group}`, () => this.read("trials", { numbers: TRIALS, texts: TEXTS, group }));
  }

  /** null: the workload has no such values, or the page was made without them. */
  async passing(workload: Workload, metric: string | null): Promise<Passing | null> {
    const found = workload.metrics.find((each) => each.metric === metric);
    if (!found) return null;
    return this.once(`passing ${workload.trials_group} ${found.metric}`, async () => {
      const studies = studiesOf(workload.studies, await this.trials(workload));
      const evaluations = await this.evaluations(workload, found);
      return { studies, evaluations, goals: goalsOf(evaluations, isMaximized(found.metric)) };
    });
  }

  /** Those of the curves; of a metric that these do not have, its improvements. */
  private async evaluations(workload: Workload, { metric, group }: Metric): Promise<Evaluations> {
    if (group === null) return evaluationsOf(valuesOf(await this.read("curves", wantedOf(metric, workload.curves_group)), metric));
    const table = await this.read("improvements", { numbers: IMPROVEMENTS, group });
    return { ...table, step: table.step.map((each) => (Number.isNaN(each) ? Number.POSITIVE_INFINITY : each)) };
  }

  /** The curves of a study's trials in a metric. */
  curves(workload: Workload, study: Study, metric: string): Promise<Curves> {
    return this.once(`curves ${workload.release} ${workload.workload} ${study.batch_size} ${metric}`, () =>
      this.readCurves(workload, study, metric),
    );
  }

  private async readCurves(workload: Workload, study: Study, metric: string): Promise<Curves> {
    const found = workload.metrics.find((each) => each.metric === metric);
    if (study.shards && found?.group !== null) {
      const tables = study.shards.map(async (each) => valuesOf(await remoteFile(each.path, each.bytes).read(wantedOf(metric, null)), metric));
      const rows = (await Promise.all(tables)).flatMap((table) => rowsOf(evaluationsOf(table), study));
      return { rows: rows.sort((a, b) => a.trial_id - b.trial_id || a.step - b.step), whole: true };
    }
    return { rows: found ? rowsOf(await this.evaluations(workload, found), study) : [], whole: found?.group === null };
  }

  private read<Numbers extends string, Texts extends string = never>(name: Name, wanted: Wanted<Numbers, Texts>) {
    const file = this.files[name];
    if (!file) throw new Error(`this page holds no ${name}`);
    return file.read(wanted);
  }

  private once<T>(name: string, read: () => Promise<T>): Promise<T> {
    let found = this.kept.get(name) as Promise<T> | undefined;
    if (!found) {
      found = read();
      this.kept.set(name, found);
      // What a server refused once may come the next time.
      found.catch(() => this.kept.delete(name));
    }
    return found;
  }
}

export const held = new Held();

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
