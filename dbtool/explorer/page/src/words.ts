/** What is seen as words for a terminal: commands of dbtool, and SQL. */

import { facts, type Workload } from "./facts";
import type { State } from "./state";

type Value = string | number | null | readonly string[];

/** A word of a command line in bash. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Commands that print rows of some workloads, one for each release. */
export function scalingCommand(state: State, workloads: readonly Workload[], rows: string): string {
  const asked: string[] = [];
  if (state.metric !== null) asked.push("--metric", state.metric);
  if (state.goal !== null) asked.push("--goal", String(state.goal));
  if (state.trials !== null) asked.push("--trials", String(state.trials));
  return perRelease(workloads, "scaling", [...asked, "--rows", rows]);
}

export function trialsCommand(workload: Workload, batchSize: number): string {
  return perRelease([workload], "trials", ["--batch-size", String(batchSize)]);
}

function perRelease(workloads: readonly Workload[], command: string, rest: readonly string[]): string {
  const releases = [...new Set(workloads.map((each) => each.release))];
  return releases
    .map((release) => {
      const names = workloads.filter((each) => each.release === release).map((each) => each.workload);
      const words = ["dbtool", command, ...names, ...rest, ...facts.options, "--release", release];
      return words.map(shellWord).join(" ");
    })
    .join("\n");
}

/** A query of the page with values in place of its parameters, for `dbtool sql`. */
export function filledQuery(name: string, values: Record<string, Value>): string {
  const query = facts.queries[name] ?? "";
  return pasted(query).replace(/\$(\w+)/g, (found, parameter: string) =>
    Object.hasOwn(values, parameter) ? literal(values[parameter] as Value) : found,
  );
}

/** A query as it can be pasted behind `dbtool sql`, which takes a word that begins with -- for an option. */
export function pasted(query: string): string {
  return query.replace(/^(?:--.*\n)+/, (comment) => `/* ${comment.trim().replace(/^-- ?/gm, "")} */\n`);
}

function literal(value: Value): string {
  if (value === null) return "NULL";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  return `[${value.map(literal).join(", ")}]`;
}
