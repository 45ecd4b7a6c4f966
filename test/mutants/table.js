// Deliberate bugs in the real code, each a textual patch that matches exactly once, and the one test that is named for it: it passes
// without the bug and fails with it. `npm run test:mutants` proves both; test/house checks that every patch still matches.
// `suite` is where the promise stands when the test file only runs a contract suite, `title` how it stands there when it is a table's.
// The quickest test that notices is named: what the ledger mends behind a bug of the conductor would not be noticed by the outcome.

const ledger = { file: 'test/contract/ledger-sqlite.test.ts', suite: 'src/testing/contracts/ledger.ts' };
const journal = { file: 'test/contract/journal-sqlite.test.ts', suite: 'src/testing/contracts/journal.ts' };
const hands = { file: 'test/contract/hands-call.test.ts' };
const gate = { file: 'test/contract/hands-look.test.ts' };
const recovery = { file: 'test/core/recovery.test.ts' };
const forking = { file: 'test/core/forking.test.ts' };
const versions = { file: 'test/core/versions.test.ts' };
const retention = { file: 'test/contract/retention.test.ts' };
const LEDGER = 'src/adapters/stores/sql/ledger-writes.ts';
const CALL = 'src/activities/call.ts';
const RUNNER = 'src/activities/runner.ts';

module.exports = [
  {
    id: 'standing-is-nothing', what: 'an attempt that is not awaited any more is taken for never sent, whoever has claimed it', file: CALL,
    find: '  if (!standing) return no;', replace: '  if (!standing || no) return no;',
    test: { ...hands, name: 'another execution may have sent it: nothing is sent here, and it is not taken for never sent' },
  },
  {
    id: 'dropped-stays-approvable', what: 'what the planner drops can still be approved', file: 'src/core/rules/steering.ts',
    find: 'return dropped.size === 0 ? [] : endWaits(', replace: 'return dropped.size >= 0 ? [] : endWaits(',
    test: { file: 'test/core/steering.test.ts', name: 'R4.4 R10.2 a step that waits for its approval may be dropped: the approval is void, nothing is executed, and what replaces it is asked for anew' },
  },
  {
    id: 'drops-what-was-sent', what: 'the planner may drop a call that is under way', file: 'src/core/rules/steering.ts',
    find: "call?.phase === 'asking' && call.attempt === 0", replace: 'call !== undefined',
    test: { file: 'test/core/steering.test.ts', name: 'R10.2 what is under way is not touched: a note waits for it, and a drop of what was sent meanwhile is refused and told' },
  },
  {
    id: 'look-up-skipped', what: 'the gate does not ask the outside', file: 'src/activities/gate.ts',
    find: "lookUp: settled || neverSent ? { kind: 'not-asked' } :", replace: "lookUp: settled || neverSent || deps ? { kind: 'not-asked' } :",
    test: { ...gate, name: 'a look-up that answers' },
  },
  {
    id: 'silence-is-absence', what: 'a tool without look-up is taken for one that says "absent"', file: 'src/core/rules/recovery.ts',
    find: "if (seen.lookUp.kind === 'none' || seen.lookUp.kind === 'not-asked' ||", replace: "if (seen.lookUp.kind === 'not-asked' ||",
    test: { ...recovery, name: 'neither look-up nor keys: a person, always' },
  },
  {
    id: 'one-look', what: 'absent once is enough, although a request may be on its way', file: 'src/core/rules/recovery.ts',
    find: 'if (call.absent < 1) return', replace: 'if (call.absent < 0) return',
    test: { ...recovery, name: 'absent, and the owner is known to be dead: what it sent may be on its way' },
  },
  {
    id: 'stopped-is-dead', what: 'a stopped process is taken for a dead one', file: 'src/core/rules/recovery.ts',
    find: "if (ledger.state === 'dead' && ledger.ownerLives && !seen.honoursKey) return", replace: "if (ledger.state === 'dead' && ledger.ownerLives && !seen) return",
    test: { ...recovery, name: 'its process still exists: it may wake up' },
  },
  {
    id: 'ledger-before-blob', what: 'the ledger says done before the result is stored', file: RUNNER,
    find: '    output = await patiently(() => storeOutput(', replace: "    if (claim) await settle(deps, claim, { kind: 'done', output: { value: null }, summary });\n    output = await patiently(() => storeOutput(",
    test: { ...hands, name: 'a result that cannot be stored is an unknown outcome, never a second send' },
  },
  {
    id: 'lost-lease-unheard', what: 'a tool whose lease is lost works on', file: 'src/activities/heartbeat.ts',
    find: 'if (!held) lost();', replace: 'if (!held) asking = false;',
    test: { ...hands, name: 'R6.1 a lost lease aborts the tool' },
  },
  {
    id: 'claim-after-send', what: 'the claim is made after the send', file: CALL,
    find: "need.effect === 'none' ? await run(deps, early) : await claimed(deps, early);",
    replace: "need.effect === 'none' ? await run(deps, early) : await run(deps, early).then(() => claimed(deps, early));",
    test: { ...hands, name: 'I13 the claim is the last act before the send' },
  },
  {
    id: 'approval-not-looked-at', what: 'the approval is not looked at again before the send', file: CALL,
    find: 'approval !== undefined && (approval.expiresAt', replace: 'approval === null && (approval.expiresAt',
    test: { ...hands, name: 'an approval that has expired' },
  },
  {
    id: 'approval-ends-while-waiting', what: 'an approval that ends while the claim is waited for still counts', file: CALL,
    find: 'if (lapsed(need, attempt.digest)) return', replace: 'if (lapsed(need, attempt.digest) && !claim) return',
    test: { ...hands, name: 'an approval that ended' },
  },
  {
    id: 'not-withdrawn', what: 'a call that is not made is not withdrawn, so that another flight of it sends', file: CALL,
    find: "if ('kind' in early) return withdrawn(deps, asked, early);", replace: "if ('kind' in early) return early;",
    test: { ...hands, name: 'arguments that do not fit' },
  },
  {
    id: 'args-not-compared', what: 'other arguments than were prepared are sent', file: CALL,
    find: 'if (need.argsDigest !== undefined && bound.digest !== need.argsDigest) {', replace: 'if (need.argsDigest !== undefined && bound.digest === undefined) {',
    test: { ...hands, name: 'arguments other than prepared' },
  },
  {
    id: 'attempt-not-awaited', what: 'an attempt that the run no longer waits for claims', file: LEDGER,
    find: 'if (awaited === null || awaited.attempt !== request.attempt) return', replace: 'if (awaited === null) return',
    test: { ...ledger, name: 'I2 what nobody requested claims nothing, nor does another attempt than the newest' },
  },
  {
    id: 'given-back-again', what: 'an attempt that was given back claims again', file: LEDGER,
    find: 'request.attempt > row.attempt ?', replace: 'request.attempt >= row.attempt ?',
    test: { ...ledger, name: 'an attempt that was given back is over, whoever makes it; the next one claims' },
  },
  {
    id: 'old-copy-trusted', what: 'no claim in a ledger that was put back counts as never claimed', file: LEDGER,
    find: 'return awaited.incarnation === (yield* incarnationOf()) ?', replace: "return awaited.incarnation !== '' ?",
    test: { ...ledger, name: 'a call that was requested under another ledger proves nothing by the lack of a claim here' },
  },
  {
    id: 'fence-ignored-in-settle', what: 'an older fence settles like the newest', file: LEDGER,
    find: 'const late = fence < row.fence;', replace: 'const late = fence < 0;',
    test: { ...ledger, name: 'a late refusal says nothing of the newer attempt, which still decides' },
  },
  {
    id: 'fence-ignored-in-release', what: 'an older fence releases and marks the claim of a newer one', file: LEDGER,
    find: 'row.fence === fence && row.outcome === null ?', replace: 'row.outcome === null ?',
    test: { ...ledger, name: 'R6.1 a stale fence cannot renew, release or mark the claim of the newer one' },
  },
  {
    id: 'epoch-ignored-in-claim', what: 'an execution that was replaced claims', file: LEDGER,
    find: "if (epoch > request.epoch) return { kind: 'fenced', epoch };", replace: '',
    test: { ...ledger, name: 'an older epoch of the run claims nothing, not even a look at an outcome, but still settles' },
  },
  {
    id: 'live-owner-robbed', what: 'a live owner is taken over', file: LEDGER,
    find: "if (row.state === 'claimed' && row.now < row.leaseUntil) {", replace: "if (row.state === 'claimed' && request.takeOver === undefined && row.now < row.leaseUntil) {",
    test: { ...ledger, name: 'a live claim is not taken over by whoever names its fence' },
  },
  {
    id: 'dead-claim-dealt', what: "a dead owner's claim goes to whoever asks, without the gate", file: LEDGER,
    find: 'if (request.takeOver === row.fence || request.takeOver === row.doubtFence) return', replace: 'if (request.takeOver !== -1) return',
    test: { ...ledger, name: 'a claim whose lease is over is reported with its owner, and not taken' },
  },
  {
    id: 'mismatch-is-new', what: 'other arguments under a key count as a new call', file: LEDGER,
    find: "if (row.argsDigest !== request.argsDigest) return { kind: 'mismatch', argsDigest: row.argsDigest };", replace: 'if (row.argsDigest !== request.argsDigest) return yield* take(request, null);',
    test: { ...ledger, name: 'R4.2 other arguments under a key are a mismatch in every state' },
  },
  {
    id: 'epoch-ignored-in-append', what: 'an execution that was replaced appends', file: 'src/adapters/stores/sql/journal-writes.ts',
    find: "if (request.epoch < stored.epoch) return { kind: 'fenced', epoch: stored.epoch };", replace: '',
    test: { ...journal, name: 'the epoch is raised by compare-and-set, and an older epoch is fenced, whatever version it expects' },
  },
  {
    id: 'late-result-wins', what: 'a result that comes after the cancel completes the run', file: 'src/core/advance.ts',
    find: 'const next = cancelProgress(state, now);', replace: 'const over = endOrStop(state);\n    if (over) return [over];\n    const next = cancelProgress(state, now);',
    test: { file: 'test/core/cancellation.test.ts', name: 'I6 a tool that answers after the cancel does not complete the run' },
  },
  {
    id: 'old-attempt-counts', what: 'the answer of an older attempt is taken for that of the newest', file: 'src/core/rules/calls.ts',
    find: "call.kind !== 'tool' || call.attempt !== attempt ||", replace: "call.kind !== 'tool' ||",
    test: { file: 'test/core/calls.test.ts', name: 'a result of an attempt that is not the last one changes nothing' },
  },
  {
    id: 'message-decided-twice', what: 'the same message again is decided again', file: 'src/core/decide.ts',
    find: 'const before = state.remembered.find((one) => one.id === given.messageId);', replace: 'const before = state.remembered.find(() => false);',
    test: { file: 'test/core/messages.test.ts', name: 'the same message again hears the same answer and is not counted again' },
  },
  {
    id: 'unsigned-is-enough', what: 'in production an unsigned decision counts', file: 'src/core/rules/authority.ts',
    find: 'if (matter && mustBeSigned(state, matter.effect)) {', replace: 'if (matter && !matter && mustBeSigned(state, matter.effect)) {',
    test: { file: 'test/core/authority.test.ts', name: 'R6.3 in production an unsigned decision is refused, whatever its sender says of it: claimed', title: 'R6.3 in production an unsigned decision is refused, whatever its sender says of it: %s' },
  },
  {
    id: 'forged-is-genuine', what: 'a token whose signature is wrong is taken for genuine', file: 'src/adapters/keys/keyring.ts',
    find: 'if (!sameMac(macOf(secretOf(key), signed), signature)) return', replace: 'if (!sameMac(signature, signature)) return',
    test: { file: 'test/contract/decision-keys.test.ts', name: 'every change of one character of a token is noticed' },
  },
  {
    id: 'proof-not-looked-at', what: 'a call is made without a last look at what its approvers signed', file: CALL,
    find: 'if (unsigned) return unsigned;', replace: 'if (unsigned && !deps) return unsigned;',
    test: { file: 'test/contract/hands-proofs.test.ts', name: 'R7.3 a call whose approval nobody signed is not made, and nothing is claimed' },
  },
  {
    id: 'unknown-is-failed', what: 'the law takes an unknown outcome of an effect for a failure', file: 'src/core/rules/calls.ts',
    find: "if (call.effect === 'none') return only(failed(", replace: 'if (call) return only(failed(',
    test: { file: 'test/core/calls.test.ts', name: 'an unknown outcome of an effect goes to the gate; of a reader it is tried again' },
  },
  {
    id: 'start-before-append', what: 'an effect starts before its event is in the journal', file: 'src/workflows/pump.ts',
    find: 'const answer = result.events.length === 0 ?', replace: 'this.flights.reconcile(result.needs, held);\n      const answer = result.events.length === 0 ?',
    test: { file: 'test/replay/replay.test.ts', name: 'R9.3 I5 every history of every recorded version replays' },
  },
  {
    id: 'temporal-retries', what: 'Temporal may make a call a second time', file: 'src/workflows/hands.ts',
    find: "startToCloseTimeout: '15m', heartbeatTimeout: '10s', cancellationType, retry: { maximumAttempts: 1 },", replace: "startToCloseTimeout: '15m', heartbeatTimeout: '10s', cancellationType, retry: { maximumAttempts: 2 },",
    test: { file: 'test/replay/hands-options.test.ts', name: 'I8 model, prepare and call may be made once' },
  },
  {
    id: 'try-cancel', what: 'a cancel does not wait for what the tool says', file: 'src/workflows/hands.ts',
    find: "const cancellationType = 'WAIT_CANCELLATION_COMPLETED' as const;", replace: "const cancellationType = 'TRY_CANCEL' as const;",
    test: { file: 'test/replay/hands-options.test.ts', name: 'R7.2 every activity is waited for when it is cancelled' },
  },
  {
    id: 'lost-worker-is-failed', what: 'a worker that was lost in a call with an effect counts as a failure', file: 'src/workflows/outcomes.ts',
    find: "if (effect !== 'none') return { kind: 'unknown', why: fault.message };", replace: '',
    test: { file: 'test/replay/outcomes.test.ts', name: 'a worker that is gone in a call with an effect is an unknown outcome', title: '%s in a call with an effect is an unknown outcome' },
  },
  {
    id: 'fork-forgets', what: 'a fork of a fork forgets what the runs before it may have done', file: 'src/core/rules/forking.ts',
    find: 'return [...inheritedDoubts(state), ...callsOf(state).flatMap(', replace: 'return [...callsOf(state).flatMap(',
    test: { ...forking, name: 'R10.2 a fork of a fork keeps what the runs before it may have done, each under the run that may have done it' },
  },
  {
    id: 'fork-unasked', what: 'a fork makes a call in doubt that policy allows without asking', file: 'src/core/rules/forking.ts',
    find: 'if (why === null) return policy;', replace: "if (why === null || policy.decision === 'allow') return policy;",
    test: { ...forking, name: 'R10.2 a call that was under way or in doubt is asked about before it is made under another key, also where policy would let it go' },
  },
  {
    id: 'newer-law', what: 'a build goes on with a run whose law it does not know', file: 'src/core/versions/door.ts',
    find: 'if (law > LAW) throw', replace: 'if (law > LAW + 1) throw',
    test: { ...versions, name: 'R9.2 a newer law is refused by an error that says what was met and what to do', title: 'R9.2 %s is refused by an error that says what was met and what to do' },
  },
  {
    id: 'law-goes-back', what: 'a run goes back to an older law', file: 'src/core/versions/migrate.ts',
    find: 'return { law: Math.max(law, state.law),', replace: 'return { law,',
    test: { ...versions, name: 'R9.2 a run is never taken back: what is newer of the two stays, and a run that is over or not begun is left alone' },
  },
  {
    id: 'plain-without-key', what: 'payloads go out in plain where the key that should encrypt them is missing', file: 'src/adapters/codec/codec.ts',
    find: 'if (!this.encrypts || payloads.length === 0) return payloads;', replace: 'if (!this.encrypts || !this.keys.newest()) return payloads;',
    test: { file: 'test/contract/payload-keys.test.ts', name: 'the newest key encrypts unless it waits, each decrypts, and what changes counts without another start' },
  },
  {
    id: 'purged-again', what: 'the id of a purged run is given out again', file: 'src/adapters/stores/sql/journal-writes.ts',
    find: "if (purged !== null) return { kind: 'purged', purged };", replace: '',
    test: { ...journal, suite: 'src/testing/contracts/journal-copies.ts', name: 'its id is never accepted again, neither as a run nor as a fork' },
  },
  {
    id: 'mention-is-nothing', what: 'an artifact goes that only another artifact mentions', file: 'src/cli/retention/garbage.ts',
    find: '    if (kept.has(id)) continue;\n', replace: '',
    test: { ...retention, name: 'R3.3 only what nothing names or mentions goes; a dry run counts the same and removes nothing' },
  },
];
