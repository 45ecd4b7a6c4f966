// Tool `publish`: puts a stored report under a slug of the publisher. The publisher honours the key and can be asked by it,
// and compares the ETag that the approval was given for (If-Match), so that nobody's newer version is overwritten unseen.
import { z } from 'zod';
import { defineTool, type Json, type LookUpAnswer, type ToolCall } from 'longhaul';
import { unifiedDiff } from '../report/diff';
import { reportRef } from '../report/schema';
import { askPublisher, refusalOf } from './publisher-client';

/** What `resourceVersion` says when nothing is published yet. */
const ABSENT = 'absent';
const LOOKS = 5;

const input = z.strictObject({
  slug: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'is lower-case letters, digits and hyphens, e.g. refunds-q3').describe('Where to publish: lower-case letters, digits and hyphens'),
  report: reportRef,
});
type Input = z.infer<typeof input>;

interface Published { slug: string; revision: number; etag: string; sha256: string; url: string; summary: string }

const pathOf = (slug: string): string => `/reports/${encodeURIComponent(slug)}`;

function outputOf(text: string, call: ToolCall): Published {
  const { slug, revision, etag, sha256 } = JSON.parse(text) as Omit<Published, 'url' | 'summary'>;
  return { slug, revision, etag, sha256, url: new URL(pathOf(slug), call.service('publisher')).href, summary: `Published ${slug}, revision ${revision}` };
}

/** ETag of what is published under a slug, or `absent`; also the reader of premises `publisher:<slug>`. */
export async function currentVersion(slug: string, call: ToolCall): Promise<string> {
  const answer = await askPublisher(call, pathOf(slug), { method: 'HEAD' });
  if (answer.status === 404) return ABSENT;
  if (answer.status !== 200 || !answer.etag) throw refusalOf(answer);
  return answer.etag;
}

async function execute({ slug, report }: Input, call: ToolCall): Promise<Published> {
  const body = await call.artifacts.read(report);
  const version = call.resourceVersion ?? await currentVersion(slug, call);
  const condition: Record<string, string> = version === ABSENT ? { 'If-None-Match': '*' } : { 'If-Match': version };
  const headers = { 'Content-Type': 'text/markdown; charset=utf-8', 'Idempotency-Key': call.key, ...condition };
  const answer = await askPublisher(call, pathOf(slug), { method: 'PUT', headers, body });
  if (answer.status !== 200 && answer.status !== 201) throw refusalOf(answer);
  return outputOf(answer.text, call);
}

async function lookUp(key: string, call: ToolCall): Promise<LookUpAnswer> {
  for (let look = 1; look <= LOOKS; look++) {
    const answer = await askPublisher(call, `/keys/${encodeURIComponent(key)}`);
    if (answer.status === 404) return { found: false };
    if (answer.status === 200) {
      const output = outputOf(answer.text, call);
      return { found: true, output: output as unknown as Json, reference: `${output.url} revision ${output.revision}` };
    }
    if (answer.status !== 409) throw refusalOf(answer);
    await new Promise((resolve) => { setTimeout(resolve, 300); });
  }
  return { found: 'cannot-say', why: 'The publisher is still handling a request with this key.' };
}

async function preview({ slug, report }: Input, call: ToolCall): Promise<string> {
  const next = Buffer.from(await call.artifacts.read(report)).toString('utf8');
  const now = await askPublisher(call, pathOf(slug));
  if (now.status !== 200 && now.status !== 404) throw refusalOf(now);
  const head = now.status === 404 ? `Nothing is published under ${slug} yet; this would be the first version.` : `Published under ${slug} now: ${now.etag}. The difference:`;
  const difference = unifiedDiff(now.status === 404 ? '/dev/null' : `published/${slug}`, `new/${slug}`, now.status === 404 ? '' : now.text, next);
  return `${head}\n\n${difference || 'No difference.'}`;
}

/** The tool `publish`. */
export const publish = () => defineTool<Input, Published>({
  name: 'publish',
  version: '1.0.0',
  description: 'Publishes a written report under a slug. A person is asked first and sees the difference to what is published.',
  input,
  effect: 'manual',
  honoursKey: true,
  timeoutMs: 60_000,
  execute,
  lookUp: ({ key }, call) => lookUp(key, call),
  resourceVersion: ({ slug }, call) => currentVersion(slug, call),
  preview,
});
