/** A study that is open: its trials at the goal, and the one that got to it first. */

import type { Curve, Fewest } from "./curves";
import type { Trials } from "./data/held";
import type { Range, Study, Workload } from "./facts";
import { metricName } from "./numbers";

export interface StudyTrial {
  trial: number;
  status: string;
  /** Steps of the first evaluation past the goal. */
  reached: number | null;
  /** Steps that it was trained for. */
  steps: number;
  settings: Record<string, unknown>;
  text: string;
}

export interface OpenStudy {
  workload: Workload;
  study: Study;
  metric: string;
  metricName: string;
  goal: number | null;
  trials: StudyTrial[];
  winner: Fewest | null;
}

/** What the axes of the search space may be: a metaparameter, or the steps to the goal. */
export interface Axis {
  name: string;
  label: string;
  scale: "log" | "linear";
  of: (trial: StudyTrial) => number | null;
  borders: number[];
}

export function openStudy(curve: Curve, workload: Workload, study: Study, trials: Trials): OpenStudy {
  const search = curve.studies.get(study.batch_size);
  const reached = new Map<number, number>();
  search?.steps.forEach((steps, index) => {
    if (Number.isFinite(steps)) reached.set(search.trial[index] as number, steps);
  });
  const found: StudyTrial[] = [];
  for (let row = 0; row < trials.trial_id.length; row++) {
    if (trials.batch_size[row] === study.batch_size) found.push(trialAt(trials, row, reached));
  }
  const { metric, goal } = curve;
  return { workload, study, metric, metricName: metricName(metric), goal, trials: found, winner: search?.winner ?? null };
}

function trialAt(trials: Trials, row: number, reached: ReadonlyMap<number, number>): StudyTrial {
  const trial = trials.trial_id[row] as number;
  const status = trials.status[row] ?? "";
  const settings = JSON.parse(trials.settings[row] || "{}") as Record<string, unknown>;
  const at = reached.get(trial) ?? null;
  const ending = status === "INFEASIBLE" ? "diverged" : at === null ? "goal not reached" : `${at.toLocaleString("en-US")} steps to the goal`;
  const numbers = Object.entries(settings).map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "number" ? Number(value.toPrecision(5)) : value}`);
  return { trial, status, reached: at, steps: trials.steps[row] as number, settings, text: [`trial ${trial}: ${ending}`, ...numbers].join("\n") };
}

/** Axes on which a study's trials can be laid out: its metaparameters, and the steps to the goal. */
export function axesOf(study: OpenStudy): Axis[] {
  const names = [...new Set(study.trials.flatMap((each) => Object.keys(each.settings)))].filter((name) =>
    study.trials.some((each) => typeof each.settings[name] === "number"),
  );
  const order = ["learning_rate", "momentum"];
  names.sort((a, b) => (order.indexOf(a) + 1 || 9) - (order.indexOf(b) + 1 || 9) || a.localeCompare(b));
  const steps: Axis = { name: "steps", label: "steps to the goal", scale: "log", of: (each) => each.reached, borders: [] };
  return [...names.map((name) => metaparameter(name, study.study.search_space[name])), steps];
}

function metaparameter(name: string, range: Range | undefined): Axis {
  const scale = range?.scale ?? "";
  const reversed = scale.startsWith("REVERSE_LOG") || (name === "momentum" && !scale);
  const shown = (value: number) => (reversed ? 1 - value : value);
  const borders = [range?.min_value, range?.max_value].filter((each): each is number => typeof each === "number").map(shown);
  const words = name.replaceAll("_", " ");
  return {
    name,
    label: reversed ? `1 − ${words}` : words,
    scale: reversed || scale.startsWith("LOG") || name === "learning_rate" ? "log" : "linear",
    of: (trial) => {
      const value = trial.settings[name];
      return typeof value === "number" && Number.isFinite(value) ? shown(value) : null;
    },
    borders,
  };
}
