/** What is seen, as a value; the page's address holds it. */

import { facts, keyOf, type Workload } from "./facts";

export type Line = "none" | "fit" | "first";
export type View = "scaling" | "atlas" | "figures";

export interface State {
  view: View;
  /** Keys of the workloads that are drawn. */
  workloads: string[];
  /** null: each workload's own. */
  metric: string | null;
  /** null: each workload's own. */
  goal: number | null;
  /** At how many trials searches are compared; null: see `equalTrials`. */
  trials: number | null;
  /** Divide steps by the curve's own at one batch size. */
  relative: boolean;
  line: Line;
  /** The study that is open: a workload's key and a batch size. */
  study: { key: string; batchSize: number } | null;
  /** The trial of it that is pinned. */
  trial: number | null;
  figure: string | null;
}

/** What is seen first: of the workloads with a goal the one with most studies, of these with most trials. */
export function firstState(): State {
  const trials = (each: Workload) => each.studies.reduce((sum, study) => sum + study.trials, 0);
  const [most] = facts.workloads
    .filter((each) => each.goal !== null)
    .sort((a, b) => b.studies.length - a.studies.length || trials(b) - trials(a));
  const first = most ?? facts.workloads[0];
  const unset = { metric: null, goal: null, trials: null, study: null, trial: null, figure: null };
  return { ...unset, view: "scaling", workloads: first ? [keyOf(first)] : [], relative: false, line: "fit" };
}

/** The state as the part of an address after #; what is as at first is left out. */
export function addressOf(state: State): string {
  const first = firstState();
  const isFirst = state.workloads.join("\n") === first.workloads.join("\n");
  const keys = isFirst ? [] : state.workloads.length ? state.workloads : [""];
  const words: [name: string, value: string | number | null | undefined][] = [
    ["view", state.view === first.view ? null : state.view],
    ...keys.map((key): [string, string] => ["workload", key]),
    ["metric", state.metric],
    ["goal", state.goal],
    ["trials", state.trials],
    ["relative", state.relative ? 1 : null],
    ["line", state.line === first.line ? null : state.line],
    ["study", state.study?.key],
    ["batch-size", state.study?.batchSize],
    ["trial", state.trial],
    ["figure", state.figure],
  ];
  return new URLSearchParams(words.flatMap(([name, value]) => (value == null ? [] : [[name, String(value)]]))).toString();
}

/** The state of an address; what it says wrongly is as at first. */
export function stateOf(address: string): State {
  const words = new URLSearchParams(address.replace(/^#/, ""));
  const state = firstState();
  const known = new Map(facts.workloads.map((each) => [keyOf(each), each]));
  if (words.has("workload")) {
    state.workloads = [...new Set(words.getAll("workload"))].filter((key) => known.has(key));
  }
  const view = words.get("view");
  if (view === "atlas" || view === "figures") state.view = view;
  const metrics = facts.workloads.flatMap((each) => each.metrics.map((one) => one.metric));
  const metric = words.get("metric");
  if (metric !== null && metrics.includes(metric)) state.metric = metric;
  state.goal = numberIn(words, "goal");
  const trials = numberIn(words, "trials");
  if (trials !== null && Number.isSafeInteger(trials) && trials > 0) state.trials = trials;
  state.relative = words.get("relative") === "1";
  const line = words.get("line");
  if (line === "none" || line === "fit" || line === "first") state.line = line;
  const [key, batchSize] = [words.get("study"), numberIn(words, "batch-size")];
  const studies = known.get(key ?? "")?.studies ?? [];
  if (key !== null && studies.some((each) => each.batch_size === batchSize)) {
    state.study = { key, batchSize: batchSize as number };
    state.trial = numberIn(words, "trial");
  }
  state.figure = words.get("figure");
  return state;
}

function numberIn(words: URLSearchParams, name: string): number | null {
  const text = words.get(name);
  const value = text === null || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}
