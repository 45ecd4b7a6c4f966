// The files under deploy/ cannot be run where the project is built. What can be known of them without: that they parse, that what they
// copy is there, and that commands, options and variables of ours in them exist.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { programOf } from '../../src/cli/program';

const root = path.join(__dirname, '..', '..');
const read = (name: string): string => readFileSync(path.join(root, 'deploy', name), 'utf8');

/** Words that start `longhaul`: the command is there, and so is each option. */
function faultOfWords(words: string[]): string | null {
  const command = programOf('0').commands.find((one) => one.name() === words[0]);
  if (!command) return `there is no command ${words[0]}`;
  const unknown = words.filter((word) => word.startsWith('--') && !command.options.some((option) => option.long === word));
  return unknown.length > 0 ? `${words[0]} has no option ${unknown.join(', ')}` : null;
}

function variablesOfSources(): Set<string> {
  const files = readdirSync(path.join(root, 'src'), { recursive: true }).map(String).filter((file) => file.endsWith('.ts'));
  return new Set(files.flatMap((file) => readFileSync(path.join(root, 'src', file), 'utf8').match(/\b(?:LONGHAUL|AWS|TEMPORAL)_[A-Z0-9_]+\b/g) ?? []));
}

interface Container { args?: string[]; env?: { name: string; valueFrom: { secretKeyRef: { name: string; key: string } } }[]; volumeMounts?: { name: string }[]; securityContext?: object }
interface Document { kind: string; metadata: { name: string; namespace: string }; data?: Record<string, string>; spec?: { selector?: { matchLabels: object }; template?: { metadata: { labels: object }; spec: { containers: Container[]; initContainers: Container[]; volumes: { name: string }[]; terminationGracePeriodSeconds: number } } } }

test('the Dockerfile copies what is there, and starts a command that is', () => {
  const lines = read('Dockerfile').split('\n');
  const copied = lines.filter((line) => line.startsWith('COPY ') && !line.includes('--from')).flatMap((line) => line.split(' ').slice(1, -1));
  expect(copied.length).toBeGreaterThan(5);
  expect(copied.filter((name) => !existsSync(path.join(root, name)))).toEqual([]);
  expect(faultOfWords(JSON.parse(lines.find((line) => line.startsWith('CMD '))!.slice(4)) as string[])).toBeNull();
  expect(faultOfWords(['worker', '--no-such'])).toContain('no option');
});

test('the Compose file names its services, its files and our variables rightly', () => {
  const compose = parse(read('compose.yaml'), { merge: true }) as { include: { path: string }[]; services: Record<string, { build?: { dockerfile: string }; environment: Record<string, string>; depends_on?: Record<string, object> | string[]; volumes?: string[] }>; volumes: object };
  const included = compose.include.flatMap(({ path: file }) => Object.keys((parse(readFileSync(path.join(root, 'deploy', file), 'utf8')) as { services: object }).services));
  const services = [...Object.keys(compose.services), ...included];
  const known = variablesOfSources();
  for (const [name, { build, environment, depends_on: needs = {}, volumes = [] }] of Object.entries(compose.services)) {
    expect([name, (Array.isArray(needs) ? needs : Object.keys(needs)).filter((one) => !services.includes(one))]).toEqual([name, []]);
    if (build) expect(existsSync(path.join(root, build.dockerfile))).toBe(true);
    expect([name, Object.keys(environment).filter((one) => /^(LONGHAUL|TEMPORAL)_/.test(one) && !known.has(one))]).toEqual([name, []]);
    for (const volume of volumes) expect([volume, /^\$|^[a-z0-9-]+:/.test(volume)]).toEqual([volume, true]);
  }
});

test('the Kubernetes file is whole: names, labels, volumes and secrets fit, commands and variables exist', () => {
  const documents = parseAllDocuments(read('kubernetes.yaml')).map((one) => {
    expect(one.errors).toEqual([]);
    return one.toJS() as Document;
  });
  expect(documents.map(({ kind }) => kind)).toEqual(['ConfigMap', 'Deployment', 'PodDisruptionBudget']);
  expect(new Set(documents.map(({ metadata }) => metadata.namespace)).size).toBe(1);
  const { selector, template } = documents[1]!.spec!;
  expect(template!.metadata.labels).toMatchObject(selector!.matchLabels);
  const { containers, initContainers, volumes, terminationGracePeriodSeconds } = template!.spec;
  expect(terminationGracePeriodSeconds).toBeGreaterThan(20);
  for (const { volumeMounts = [] } of [...containers, ...initContainers]) expect(volumeMounts.filter(({ name }) => !volumes.some((volume) => volume.name === name))).toEqual([]);
  expect(faultOfWords(containers[0]!.args!)).toBeNull();
  const known = variablesOfSources();
  const variables = [...Object.keys(documents[0]!.data!), ...containers[0]!.env!.map(({ name }) => name)].filter((name) => /^(LONGHAUL|TEMPORAL)_/.test(name));
  expect(variables.filter((name) => !known.has(name))).toEqual([]);
  // The secret as the file's own instructions make it.
  for (const { valueFrom: { secretKeyRef } } of containers[0]!.env!) expect(read('kubernetes.yaml')).toContain(`--from-literal=${secretKeyRef.key}=`);
});
