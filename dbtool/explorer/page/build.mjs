// Bundles the application into ../built: its script, its style, and the licences of what it uses.
// npm runs it, from this folder.
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const { metafile } = await build({
  entryPoints: { explorer: "src/app.tsx" },
  outdir: "../built",
  bundle: true,
  format: "iife",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  metafile: true,
  minify: true,
  target: "es2022",
});
await build({ entryPoints: { explorer: "src/page.css" }, outdir: "../built", bundle: true, minify: true });

const used = Object.values(metafile.outputs).flatMap((output) =>
  Object.entries(output.inputs)
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]),
);
const notices = await Promise.all([...new Set(used.filter(Boolean))].sort().map(notice));
await mkdir("../built", { recursive: true });
await writeFile("../built/notices.txt", notices.join("\n\n"));

// A package's name, version and licence, word for word.
async function notice(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
  if (!file) throw new Error(`${name} ${version} has no licence in ${folder}`);
  return `${name} ${version} (${license})\n\n${(await readFile(join(folder, file), "utf8")).trim()}\n`;
}
