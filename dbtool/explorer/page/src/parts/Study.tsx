/** The study of a point: its trials' curves, its search space, and what its best trial was. */

import { useEffect, useRef, useState } from "preact/hooks";
import { curvesChart, spaceChart } from "../charts/study";
import { curvesOf } from "../data/held";
import { counted } from "../numbers";
import type { State } from "../state";
import { type Axis, type OpenStudy, type StudyTrial, axesOf } from "../study";
import { filledQuery, trialsCommand } from "../words";
import { Card } from "./Card";
import { Select } from "./Controls";
import { useRead } from "./reading";
import { shownCell } from "./Table";

interface Props {
  study: OpenStudy;
  pinned: number | null;
  change: (part: Partial<State>) => void;
}

export function Study({ study, pinned, change }: Props) {
  const { workload, study: at } = study;
  const key = `${workload.release} ${workload.workload} ${at.batch_size} ${study.metric}`;
  const { value, isReading } = useRead(key, "The curves", () => curvesOf(workload, at, study.metric));
  const curves = isReading ? null : value;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [workload, at.batch_size]);
  const pin = (trial: number | null) => change({ trial: trial === pinned ? null : trial });
  const shown = study.trials.find((each) => each.trial === (pinned ?? study.winner?.trial_id));
  const values = { release: workload.release, workload: workload.workload, batch_size: at.batch_size, metric: study.metric, goal: study.goal };
  return (
    <section class="study" aria-labelledby="study-title">
      <header>
        <h2 id="study-title" tabIndex={-1} ref={heading}>
          {workload.workload} at batch size {at.batch_size.toLocaleString("en-US")}
        </h2>
        <button type="button" onClick={() => change({ study: null, trial: null })}>
          Close
        </button>
        <p class="about">{summary(study)}</p>
      </header>
      <div class="pair">
        <Card
          id="study-curves"
          title={`Curves: ${study.metricName}`}
          about={curves && !curves.whole ? "Only values that improve on all earlier ones: this page has no others." : undefined}
          draw={curves ? (width) => curvesChart(study, curves, pinned, width) : null}
          empty="Reading the curves …"
          alt={`Curves of ${counted(study.trials.length, "trial")} over steps; the fastest ${study.winner ? `is trial ${study.winner.trial_id}` : "did not reach the goal"}`}
          columns={["trial_id", "step", "value"]}
          rows={curves ? curves.rows.map((each) => ({ ...each })) : []}
          sql={filledQuery("curves", values)}
          onPick={(value) => pin((value as { trial: StudyTrial }).trial.trial)}
        />
        <Space study={study} pinned={pinned} pin={pin} values={values} />
      </div>
      {shown && <Trial trial={shown} isPinned={shown.trial === pinned} />}
    </section>
  );
}

function summary({ study, trials, winner, goal }: OpenStudy): string {
  const diverged = trials.filter((each) => each.status === "INFEASIBLE").length;
  const reached = trials.filter((each) => each.reached !== null).length;
  const words = [`${counted(trials.length, "trial")}: ${reached} reached the goal${goal === null ? "" : ` ${goal}`}, ${diverged} diverged`];
  if (winner) words.push(`trial ${winner.trial_id} was first, after ${winner.steps.toLocaleString("en-US")} steps`);
  if (study.windowed) words.push("searched near the best of another batch size");
  if (study.stopped) words.push("stopped at the workload’s own goal, so steps to harder goals are missing");
  return `${words.join("; ")}.`;
}

interface SpaceProps {
  study: OpenStudy;
  pinned: number | null;
  pin: (trial: number | null) => void;
  values: Parameters<typeof filledQuery>[1];
}

function Space({ study, pinned, pin, values }: SpaceProps) {
  const axes = axesOf(study);
  const [names, setNames] = useState<{ x: string | null; y: string | null }>({ x: null, y: null });
  const x = axes.find((each) => each.name === names.x) ?? axes[0];
  const y = axes.find((each) => each.name === names.y && each !== x) ?? axes.find((each) => each !== x);
  const settings = [...new Set(study.trials.flatMap((each) => Object.keys(each.settings)))];
  const columns = ["trial_id", "status", "steps", ...settings];
  const rows = study.trials.map((each) => ({ trial_id: each.trial, status: each.status, steps: each.reached, ...each.settings }));
  return (
    <Card
      id="search-space"
      title="Search space"
      about="Filled: reached the goal. Hollow: did not. Crosses: diverged. Star: first to the goal. Dotted lines: borders of the search."
      draw={x && y ? (width) => spaceChart(study, x, y, pinned, width) : null}
      empty="These trials have no metaparameters."
      alt={`Where ${counted(study.trials.length, "trial")} lie in the search space, and which reached the goal`}
      columns={columns}
      rows={rows}
      sql={filledQuery("trials", values)}
      command={trialsCommand(study.workload, study.study.batch_size)}
      onPick={(value) => pin((value as StudyTrial).trial)}
      onOpen={(row) => pin(row["trial_id"] as number)}
      openLabel={(row) => `Pin trial ${shownCell("trial_id", row["trial_id"])}`}
    >
      {x && y && axes.length > 2 && (
        <div class="axes">
          <Select label="Horizontal axis" value={x.name} options={axes.map(choice)} choose={(name) => setNames({ ...names, x: name })} />
          <Select label="Vertical axis" value={y.name} options={axes.filter((each) => each !== x).map(choice)} choose={(name) => setNames({ ...names, y: name })} />
        </div>
      )}
    </Card>
  );
}

const choice = ({ name, label }: Axis) => [name, label] as const;

function Trial({ trial, isPinned }: { trial: StudyTrial; isPinned: boolean }) {
  const facts = [
    ["status", trial.status],
    ["steps to the goal", trial.reached ?? "—"],
    ["steps trained", trial.steps],
    ...Object.entries(trial.settings).map(([name, value]) => [name.replaceAll("_", " "), value] as const),
  ] as const;
  return (
    <section class="card trial" aria-labelledby="trial-title">
      <h3 id="trial-title">
        Trial {trial.trial} <small>{isPinned ? "pinned" : "first to the goal"}</small>
      </h3>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === "number" ? (Number.isInteger(value) ? value.toLocaleString("en-US") : String(Number(value.toPrecision(5)))) : String(value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
