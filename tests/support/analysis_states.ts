// Answers by the page's analysis what tests/support/explorer_analysis.py asks: a module in, a file of JSON out.
import { writeFileSync } from "node:fs";
import { Crossings, isMaximized, studiesOf } from "../../dbtool/explorer/page/src/analysis/goal";
import { fittedLine, lineThroughFirst } from "../../dbtool/explorer/page/src/analysis/perfect";
import { criticalRows, learningRateRows, stepsRows } from "../../dbtool/explorer/page/src/analysis/rows";
import { scalingOfSearches, scalingOfSteps } from "../../dbtool/explorer/page/src/analysis/scaling";
import { searchOf } from "../../dbtool/explorer/page/src/analysis/searches";
import { NO_NUMBER, improvementsOf } from "../../dbtool/explorer/page/src/data/improvements";

const [input, output] = process.argv.slice(2);
const { workloads, states } = require(input);

// As data/parquet.ts reads columns: a number that is missing is NaN, and NO_NUMBER a NaN that was measured.
const read = (value) => (value === null ? Number.NaN : Number.isNaN(value) ? NO_NUMBER : value);

for (const each of workloads) {
  for (const name of ["ordinal", "learning_rate", "momentum"]) each.trials[name] = each.trials[name].map(read);
  each.studies = studiesOf(each.facts, each.trials);
  each.crossings = Object.fromEntries(
    Object.entries(each.evaluations).map(([metric, columns]) => {
      const evaluations = { ...columns, value: Float64Array.from(columns.value, read) };
      return [metric, new Crossings(each.studies, improvementsOf(evaluations, isMaximized(metric)), isMaximized(metric))];
    }),
  );
}

function answerOf(state) {
  const { workload, metric, goal, inclusive, trials } = state;
  const none = { release: null, workload: null, metric: null, goal: null, searches: [] };
  if (state.steps) return { ...none, scaling: scalingOfSteps(state.steps) };
  const { studies, crossings } = workloads[workload];
  const searches = crossings[metric].at(goal, inclusive).map((crossing, index) => searchOf(studies[index], crossing));
  return { ...none, metric, goal, searches, scaling: scalingOfSearches(searches, trials) };
}

const answers = states.map((state) => {
  const answer = answerOf(state);
  const { scaling } = answer;
  const points = scaling.steps.map(({ batchSize, upper }) => ({
    batchSize,
    steps: Number.isFinite(upper) ? upper : null,
  }));
  return {
    critical: criticalRows(answer),
    steps: stepsRows(answer),
    learning_rates: learningRateRows(answer),
    crossings: answer.searches.map(({ after, steps }) => ({ after: [...after], steps: [...steps] })),
    law: scaling.rateLaw,
    curve: scaling.curve,
    left_out: scaling.leftOut,
    lines: { first: lineThroughFirst(points), fitted: fittedLine(points) },
  };
});
writeFileSync(
  output,
  JSON.stringify(answers, (_, value) =>
    typeof value === "number" && !Number.isFinite(value) ? { number: String(value) } : value,
  ),
);
