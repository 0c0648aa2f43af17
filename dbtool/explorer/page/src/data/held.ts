/** The trials, improvements and curves that a page holds, read when they are first needed. */

import { Crossings, isMaximized, studiesOf } from "../analysis/goal";
import type { StudyTrials } from "../analysis/searches";
import { type Facts, type Metric, type Study, type Workload, takenOut } from "../facts";
import { type Evaluations, type Improvements, goalsOf, improvementsOf, NO_NUMBER } from "./improvements";
import { type ParquetFile, type Table, embeddedFile, remoteFile } from "./parquet";

/** The trials of a workload, a row a trial. */
export interface Trials {
  batch_size: Float64Array;
  trial_id: Float64Array;
  status: string[];
  /** Its number among those that count; null for one that does not. */
  ordinal: (number | null)[];
  steps: Float64Array;
  /** NaN where there is none, as of the next. */
  learning_rate: Float64Array;
  momentum: Float64Array;
  /** JSON of its metaparameters. */
  settings: string[];
}

/** When the trials of a workload pass a goal of a metric, for any goal. */
export interface Passing {
  studies: StudyTrials[];
  crossings: Crossings;
  /** From the best value of any trial to the middle one of those that trials begin with, or the other way round. */
  goals: { low: number; high: number } | null;
}

/** A workload that is drawn, with what was read of it. */
export interface Drawn {
  workload: Workload;
  trials: Trials;
  passing: Passing | null;
}

/** Curves of a study: rows of trial, step and value, in that order. */
export interface Curves {
  trial: Float64Array;
  step: Float64Array;
  value: Float64Array;
  /** Whether every evaluation is there, or those alone that better all before. */
  whole: boolean;
}

interface Files {
  trials: ParquetFile | null;
  improvements: ParquetFile | null;
  curves: ParquetFile | null;
}

const TRIALS = ["batch_size", "trial_id", "status", "ordinal", "steps", "learning_rate", "momentum", "settings"];
const IMPROVEMENTS = ["batch_size", "trial_id", "after", "step", "value"];

export class Held {
  private readonly files: Files;
  private readonly kept = new Map<string, Promise<unknown>>();

  constructor(facts: Facts) {
    const file = (name: "trials" | "improvements" | "curves") => {
      const beside = facts.files?.[name];
      if (facts.files) return beside ? remoteFile(beside.path, beside.bytes) : null;
      const text = takenOut(name);
      return text ? embeddedFile(text) : null;
    };
    this.files = { trials: file("trials"), improvements: file("improvements"), curves: file("curves") };
  }

  trials(workload: Workload): Promise<Trials> {
    const group = workload.trials_group;
    return this.once(`trials ${group}`, async () => {
      const table = (await this.files.trials?.read(TRIALS, group)) ?? {};
      return {
        batch_size: numbers(table, "batch_size"),
        trial_id: numbers(table, "trial_id"),
        status: texts(table, "status"),
        ordinal: Array.from(numbers(table, "ordinal"), (each) => (Number.isNaN(each) ? null : each)),
        steps: numbers(table, "steps"),
        learning_rate: numbers(table, "learning_rate"),
        momentum: numbers(table, "momentum"),
        settings: texts(table, "settings"),
      };
    });
  }

  /** null: the workload has no such values, or the page was made without them. */
  async passing(workload: Workload, metric: string | null): Promise<Passing | null> {
    const found = workload.metrics.find((each) => each.metric === metric);
    if (!found) return null;
    return this.once(`passing ${workload.trials_group} ${found.metric}`, async () => {
      const studies = studiesOf(workload.studies, await this.trials(workload));
      const improvements = await this.improvements(workload, found);
      const maximize = isMaximized(found.metric);
      return { studies, crossings: new Crossings(studies, improvements, maximize), goals: goalsOf(improvements, maximize) };
    });
  }

  private async improvements(workload: Workload, { metric, group }: Metric): Promise<Improvements> {
    if (group === null) return improvementsOf(await this.evaluations(workload, metric), isMaximized(metric));
    const table = (await this.files.improvements?.read(IMPROVEMENTS, group)) ?? {};
    return {
      batch_size: numbers(table, "batch_size"),
      trial_id: numbers(table, "trial_id"),
      after: numbers(table, "after"),
      step: numbers(table, "step").map((each) => (Number.isNaN(each) ? Number.POSITIVE_INFINITY : each)),
      value: numbers(table, "value"),
    };
  }

  /** The curves of a study's trials in a metric. */
  curves(workload: Workload, study: Study, metric: string): Promise<Curves> {
    return this.once(`curves ${workload.release} ${workload.workload} ${study.batch_size} ${metric}`, () =>
      this.readCurves(workload, study, metric),
    );
  }

  private async readCurves(workload: Workload, study: Study, metric: string): Promise<Curves> {
    const ofStudy = (sizes: Float64Array) => (row: number) => sizes[row] === study.batch_size;
    if (this.files.curves && workload.curves_group !== null) {
      const table = await this.evaluations(workload, metric);
      return curvesOf([table], ofStudy(table.batch_size));
    }
    if (study.shards) {
      const tables = study.shards.map(async (each) => {
        const table = await remoteFile(each.path, each.bytes).read(["trial_id", "step", metric], null, NO_NUMBER);
        return { trial_id: numbers(table, "trial_id"), step: numbers(table, "step"), value: numbers(table, metric) };
      });
      return curvesOf(await Promise.all(tables), () => true);
    }
    const held = workload.metrics.find((each) => each.metric === metric);
    const found = held ? [await this.improvements(workload, held)] : [];
    return { ...curvesOf(found, ofStudy(found[0]?.batch_size ?? new Float64Array())), whole: false };
  }

  /** The values of a metric at the evaluations of a workload's trials. */
  private async evaluations(workload: Workload, metric: string): Promise<Evaluations> {
    const columns = ["batch_size", "trial_id", "step", metric];
    const table = (await this.files.curves?.read(columns, workload.curves_group, NO_NUMBER)) ?? {};
    return {
      batch_size: numbers(table, "batch_size"),
      trial_id: numbers(table, "trial_id"),
      step: numbers(table, "step"),
      value: numbers(table, metric),
    };
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

/** The rows of some tables that are wanted and have a value, those of a trial together. */
function curvesOf(tables: readonly Omit<Evaluations, "batch_size">[], wanted: (row: number) => boolean): Curves {
  const rows: [number, number, number][] = [];
  for (const { trial_id, step, value } of tables) {
    for (let row = 0; row < value.length; row++) {
      if (wanted(row) && !Number.isNaN(value[row])) rows.push([trial_id[row]!, step[row]!, value[row] === NO_NUMBER ? Number.NaN : value[row]!]);
    }
  }
  rows.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return {
    trial: Float64Array.from(rows, (row) => row[0]),
    step: Float64Array.from(rows, (row) => row[1]),
    value: Float64Array.from(rows, (row) => row[2]),
    whole: true,
  };
}

function numbers(table: Table, name: string): Float64Array {
  const column = table[name];
  return column instanceof Float64Array ? column : new Float64Array();
}

function texts(table: Table, name: string): string[] {
  const column = table[name];
  return Array.isArray(column) ? column : [];
}
