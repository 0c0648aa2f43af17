/** Steps to result, critical batch sizes and learning rates of the workloads that are drawn. */

import type { ComponentChildren } from "preact";
import { isMaximized } from "../analysis/goal";
import { ratesChart } from "../charts/rates";
import { type Critical, type Point, criticalChart, stepsChart } from "../charts/steps";
import type { Row } from "../csv";
import type { Curve } from "../curves";
import { keyOf, type Named, type Workload } from "../facts";
import { counted, metricName, shortNumber } from "../numbers";
import type { State } from "../state";
import { filledQuery, scalingCommand } from "../words";
import { Card } from "./Card";
import { Legend, Swatch } from "./Legend";
import { shownCell } from "./Table";

interface Props {
  state: State;
  curves: readonly Curve[];
  change: (part: Partial<State>) => void;
  /** The study that is open, below the points that lead to it. */
  children: ComponentChildren;
}

const STEPS = ["batch_size", "release", "workload", "metric", "goal", "trials", "after", "steps", "low", "high", "fitted", "perfect", "level", "fewest_steps", "trial_id", "learning_rate", "momentum"];
const CRITICAL = ["release", "workload", "metric", "goal", "definition", "critical_batch_size", "low", "high", "verdict", "learning_rate", "fewest_steps", "trials", "batch_sizes", "reached", "level"];
const RATES = ["batch_size", "release", "workload", "metric", "goal", "best", "low", "high", "trials", "law", "fitted"];

export function Scaling({ state, curves, change, children }: Props) {
  const workloads = curves.flatMap((each) => (each.workload ? [each.workload] : []));
  const drawn = curves.filter((each) => each.steps.length > 0);
  const told = curves.filter((each) => each.criticals.length > 0);
  const values = { keys: workloads.map(keyOf), metric: state.metric, goal: state.goal, trials: state.trials };
  const open = (key: string, batchSize: number) => change({ study: { key, batchSize }, trial: null });
  const openRow = (row: Row) => open(`${row["release"]}:${row["workload"]}`, row["batch_size"] as number);
  // Of a curve of the person's own there is no study.
  const openLabel = (row: Row) => (row["release"] === null ? null : `Open ${row["workload"]} at batch size ${shownCell("batch_size", row["batch_size"])}`);
  const openPoint = (value: unknown) => {
    const { curve, batchSize } = value as Point;
    if (curve.workload) open(curve.key, batchSize);
  };
  const steps = drawn.flatMap((curve) => curve.steps.map((row) => ({ ...row, ...more(curve, row.batch_size) })));
  return (
    <>
      <Card
        id="steps"
        title={state.relative ? "Relative steps to result" : "Steps to result"}
        about={aboutSteps(curves, state)}
        goal={goalOf(curves)}
        legend={<Legend of={withDifferences(curves)} />}
        draw={drawn.length ? (width) => stepsChart(drawn, width, state.relative) : null}
        empty={curves.length ? "No data for this metric and goal; choose another." : "Pick a workload, or drop a CSV of your own."}
        alt={altOf(drawn)}
        columns={STEPS}
        rows={steps}
        {...(workloads.length && { sql: filledQuery("steps", values), command: scalingCommand(state, workloads, "steps") })}
        onPick={openPoint}
        onOpen={openRow}
        openLabel={openLabel}
      />
      {children}
      {told.length > 0 && <CriticalCard state={state} curves={told} workloads={workloads} />}
      {drawn.some((each) => each.rates.length > 0) && (
        <Card
          id="learning-rates"
          title="Best learning rates"
          about="Bars: trials nearly as fast as the fastest. Arrows: good ones may lie outside the search. Lines: the fitted law."
          goal={goalOf(curves)}
          legend={<Legend of={drawn.filter((each) => each.rates.length > 0)} />}
          draw={(width) => ratesChart(drawn, width)}
          alt={`Best learning rates of ${counted(drawn.filter((each) => each.rates.length > 0).length, "workload")} against batch size`}
          columns={RATES}
          rows={drawn.flatMap((each) => each.rates.map((row) => ({ ...row })))}
          sql={filledQuery("learning_rates", values)}
          command={scalingCommand(state, workloads, "learning_rates")}
          onOpen={openRow}
          openLabel={openLabel}
        />
      )}
    </>
  );
}

function CriticalCard({ state, curves, workloads }: { state: State; curves: readonly Curve[]; workloads: Workload[] }) {
  const found: Critical[] = curves.map((curve) => {
    const row = curve.criticals.find((each) => each.definition === "tradeoff");
    return { curve, value: row?.critical_batch_size ?? null, low: row?.low ?? null, high: row?.high ?? null, text: criticalText(curve) };
  });
  const sizes = curves.flatMap((each) => each.steps.map((row) => row.batch_size));
  return (
    <Card
      id="critical"
      title="Critical batch size"
      about="The fewest examples divided by the fewest steps, with 95% intervals."
      goal={goalOf(curves)}
      draw={sizes.length ? (width) => criticalChart(found, sizes, width) : null}
      alt={`Critical batch sizes: ${found.map((each) => `${each.curve.label} ${each.text}`).join("; ")}`}
      columns={CRITICAL}
      rows={curves.flatMap((each) => each.criticals.map((row) => ({ ...row })))}
      {...(workloads.length && { command: scalingCommand(state, workloads, "critical") })}
    >
      <ul class="answers">
        {found.map((each) => (
          <li key={each.curve.key}>
            <Swatch of={each.curve} />
            <span>
              {each.curve.label}: <strong>{each.text}</strong>
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function criticalText(curve: Curve): string {
  const row = curve.criticals.find((each) => each.definition === "tradeoff");
  if (!row || row.verdict === "not_identified") return "not identified";
  if (row.verdict === "lower_bound") return `at least ${shortNumber(row.low ?? 0)}`;
  if (row.verdict === "upper_bound") return `at most ${shortNumber(row.high ?? 0)}`;
  return `${shortNumber(row.critical_batch_size ?? 0)} (${shortNumber(row.low ?? 0)} to ${shortNumber(row.high ?? 0)})`;
}

/** What the page has of steps beside the columns of `dbtool scaling`. */
function more(curve: Curve, batchSize: number): Row {
  const winner = curve.studies.get(batchSize)?.winner;
  return {
    perfect: curve.perfect && curve.perfect / batchSize,
    fewest_steps: winner?.steps ?? null,
    trial_id: winner?.trial_id ?? null,
    learning_rate: winner?.learning_rate ?? null,
    momentum: winner?.momentum ?? null,
  };
}

const trialsOf = (curves: readonly Curve[]) => [...new Set(curves.flatMap((each) => each.trials ?? []))];

const goalIn = ({ workload, metric, goal }: Curve) => (workload && goal !== null ? `${metricName(metric)} ${isMaximized(metric) ? "up" : "down"} to ${goal}` : "");

/** The goal of all curves, which pictures and paper have no slider for. */
function goalOf(curves: readonly Curve[]): string | undefined {
  const [goal, ...others] = new Set(curves.map(goalIn).filter(Boolean));
  return others.length ? "each workload’s own" : goal;
}

/** The curves with the goal and the number of trials in their labels, where they differ in it. */
function withDifferences(curves: readonly Curve[]): readonly Named[] {
  const trialsIn = ({ trials }: Curve) => (trials === null ? "" : counted(trials, "trial"));
  const words = [goalIn, trialsIn].filter((each) => new Set(curves.map(each).filter(Boolean)).size > 1);
  return curves.map((curve) => ({ ...curve, label: [curve.label, ...words.map((each) => each(curve))].filter(Boolean).join(", ") }));
}

function aboutSteps(curves: readonly Curve[], state: State): string {
  const [trials, ...others] = trialsOf(curves);
  if (trials === undefined) return "";
  const at = curves.find((each) => each.dividedAt !== null)?.dividedAt;
  const divided = state.relative && at ? `, divided by the steps at batch size ${at}` : "";
  const left = curves.flatMap((each) => each.leftOut).length;
  const out = left ? `; ${counted(left, "study", "studies")} with fewer trials dropped` : "";
  const best = others.length ? "Best of the number of trials in the legend" : `Best of ${counted(trials, "trial")}`;
  const what = curves.every((each) => each.oneSetting) ? "Median of the runs of one setting" : best;
  return `${what}${divided}${out}. Bands: 95%; an arrow: no upper end. Dashed: perfect scaling. Thin: the fitted curve. Crosses: goal not reached. Click a point for its trials.`;
}

function altOf(curves: readonly Curve[]): string {
  return curves
    .map((curve) => {
      const reached = curve.steps.filter((row) => row.steps !== null);
      const [first, last] = [reached[0], reached.at(-1)];
      if (!first || !last) return `${curve.label}: the goal was not reached`;
      return `${curve.label}: ${first.steps} steps at batch size ${first.batch_size}, ${last.steps} at ${last.batch_size}`;
    })
    .join("; ");
}
