// The example job: from a question and a folder to an approved, published report. Names the agent, its tools, the policy and
// where its services are. A run's input is `{ folder, question, slug? }`; the tools take the folder from there, never from the model.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineAgent, defineConfig, type ToolDefinition } from 'longhaul';
import { programArgs } from './folder/reader';
import { policy } from './policy';
import { SYSTEM } from './prompt';
import { gitLog } from './tools/git-log';
import { inventory } from './tools/inventory';
import { notify } from './tools/notify';
import { currentVersion, publish } from './tools/publish';
import { queryCsv } from './tools/query-csv';
import { readChunk } from './tools/read-chunk';
import { searchText } from './tools/search-text';
import { writeReport } from './tools/write-report';

/** The sample folder; from the built example it lies beside the sources. */
export const CORPUS = [path.join(__dirname, 'corpus'), path.join(__dirname, '../../../examples/folder-report/corpus')].find((folder) => existsSync(folder)) ?? path.join(__dirname, 'corpus');
export const QUESTION = 'How large were refunds in Q3 and why did they rise?';

const kept = (name: string): string => pathToFileURL(path.join(process.env['LONGHAUL_STATE_DIR'] ?? path.resolve('.longhaul'), name)).href;
const roots = process.env['FOLDER_REPORT_ROOTS']?.split(path.delimiter).filter(Boolean);
const options = roots ? { allowedRoots: roots } : {};

export const tools: ToolDefinition[] = [
  inventory(options), searchText(options), readChunk(options), queryCsv(options), gitLog(options),
  writeReport(options), publish(), notify(),
];

export default defineConfig({
  agents: [
    defineAgent({
      name: 'folder-report',
      version: '1.0.0',
      description: 'Answers a question from the files of a folder in a report with evidence, has it approved and publishes it.',
      planner: 'model',
      tools: tools.map(({ name }) => name),
      prompts: { system: SYSTEM },
      budget: { calls: 200, tokens: 2_000_000, failures: 20, wallMs: 3_600_000 },
      maxParallel: 6,
      maxInputTokens: 60_000,
      maxOutputTokens: 16_384,
    }),
  ],
  tools,
  policy,
  resources: { publisher: currentVersion },
  services: {
    publisher: { command: ['node', ...programArgs(path.join(__dirname, 'publisher', 'main')), '--storage', '{stateDir}/publisher', '--port', '{port}'] },
    outbox: () => kept('outbox.jsonl'),
    reports: () => `${kept('reports')}/`,
  },
});
