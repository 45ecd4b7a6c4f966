// What hands look at before a message counts: its token, since cryptography is not to be had here, and arguments that a person wrote,
// since the tool's schema is not. Handlers run in the root scope, so this is kept from a native cancel; it waits out whatever keeps
// a hand from answering. Decides nothing.
import { CancellationScope, log } from '@temporalio/workflow';
import type { TermsRequest } from '../activities/types';
import type { Message } from '../core/message';
import type { Checked } from '../core/proof';
import { useOf } from '../core/rules/authority';
import { patient, quick } from './hands';

/** What hands have found out about a message. */
export interface Seen { checked?: Checked; fault?: string }

/** Looks at what a message needs looked at; null when that is nothing. `tool` is that of the approval it is about, where one is open. */
export function look({ body }: Message, token: string | undefined, runId: string, tool: { tool: string; version: string } | null): Promise<Seen> | null {
  const terms = tool && termsOf(body);
  if (token === undefined && !terms) return null;
  return CancellationScope.nonCancellable(async () => {
    const proof = token === undefined ? null : { token, use: useOf(body)?.use ?? 'approve' };
    const about: TermsRequest | null = terms && tool ? { runId, tool: tool.tool, version: tool.version, ...terms } : null;
    const [checked, found] = await Promise.all([
      proof && answered(() => quick.verify(proof), () => patient.verify(proof)),
      about && answered(() => quick.terms(about), () => patient.terms(about)),
    ]);
    return { ...(checked ? { checked } : {}), ...(found?.fault ? { fault: found.fault } : {}) };
  });
}

/** What a message says about arguments. */
function termsOf(body: Message['body']): Pick<Extract<TermsRequest, { args: unknown }>, 'args'> | Pick<Extract<TermsRequest, { where: unknown }>, 'where'> | null {
  if (body.kind === 'edit') return { args: body.args };
  return body.kind === 'approve' && body.grant?.where ? { where: body.grant.where } : null;
}

/** A quick look, and a patient one where that comes to nothing. */
async function answered<T>(quickly: () => Promise<T>, patiently: () => Promise<T>): Promise<T> {
  try {
    return await quickly();
  } catch (error) {
    log.warn('a message could not be looked at in time; asking again with patience', { error: String(error) });
    return patiently();
  }
}
