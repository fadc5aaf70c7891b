/** `rfa claims`: the runs of claims, one after the other, each in a folder of its own, and the verdicts on them. */
import {existsSync} from 'node:fs'
import {join} from 'node:path'
import {isDeepStrictEqual} from 'node:util'
import type {Claim, ClaimPlan, PlanRequest, TestedClaim} from '../claims/claim.js'
import {outcomes} from '../claims/outcome.js'
import {ClaimRuns} from '../claims/runs.js'
import {expected, RfaError} from '../errors.js'
import {writeAtomic} from '../files.js'
import {resumeLine} from '../report/command-line.js'
import {plural} from '../report/numbers.js'
import {makeFolder} from '../results/files.js'
import type {CellRecord} from '../results/record.js'
import type {RunOptions} from './flags.js'
import type {ClaimsDocument} from './json-documents.js'
import {type Invocation, prepare, refuseResumeOfNothing, runPrepared} from './run-plan.js'

/** File of the verdicts, in the folder of the claims. */
const FILE = 'claims.json'

/** What `rfa claims` was asked for. */
export interface ClaimsFlags extends Pick<RunOptions, 'output' | 'seed' | 'threads'> {
  quick: boolean
  resume: boolean
  quiet: boolean
}

/**
 * Runs what the claims take, judges them and saves the verdicts.
 *
 * @throws {USAGE} for `--resume` without a folder
 * @throws {WOULD_OVERWRITE} where verdicts lie that are not to be gone on with
 * @throws {INTERRUPTED} after Ctrl-C, telling how to go on
 * @throws what running a plan throws
 */
export async function runClaims(
  claims: readonly Claim[],
  flags: ClaimsFlags,
  invocation: Invocation,
): Promise<ClaimsDocument> {
  refuseResumeOfNothing(flags)
  const request: PlanRequest = {effort: flags.quick ? 'quick' : 'full', seed: flags.seed ?? 0}
  const directory =
    flags.output ?? (await invocation.services.newRunDirectory('claims', new Date()))
  if (!flags.resume && existsSync(join(directory, FILE))) throw wouldOverwrite(directory)
  const plans = plansOf(claims, request)
  const records = new Map<string, readonly CellRecord[]>()
  for (const [at, [name, plan]] of [...plans].entries()) {
    invocation.note(`run ${at + 1} of ${plans.size}: ${name}`)
    records.set(name, await recordsOf(plan, {...flags, directory, name}, invocation))
  }
  const runsOf = (claim: TestedClaim) => Object.keys(claim.plans(request))
  const document: ClaimsDocument = {
    schema: 'rfa.claims/1',
    ...request,
    directory,
    claims: await outcomes(claims, new ClaimRuns(records), runsOf),
  }
  await makeFolder(directory)
  await writeAtomic(join(directory, FILE), `${JSON.stringify(document, null, 2)}\n`)
  return document
}

function wouldOverwrite(directory: string): RfaError {
  const remedies = ['choose another folder', 'or go on with it: --resume']
  return expected('WOULD_OVERWRITE', directory, 'no verdicts yet', FILE, ...remedies)
}

/** The runs of all claims by name, each once. */
export function plansOf(claims: readonly Claim[], request: PlanRequest): Map<string, ClaimPlan> {
  const plans = new Map<string, ClaimPlan>()
  for (const claim of claims) {
    if (claim.kind === 'quoted') continue
    for (const [name, plan] of Object.entries(claim.plans(request))) {
      const known = plans.get(name)
      if (known && !isDeepStrictEqual(known, plan)) {
        throw new Error(`${claim.id}: expected the plan of ${name} that others have, got another`)
      }
      plans.set(name, plan)
    }
  }
  return plans
}

/** One of the runs, in the folder of its name. */
interface OwnRun extends ClaimsFlags {
  directory: string
  name: string
}

async function recordsOf(
  plan: ClaimPlan,
  own: OwnRun,
  invocation: Invocation,
): Promise<CellRecord[]> {
  const flags = runOptions(own)
  const worker = await invocation.services.takeWorker(plan.experiment)
  try {
    const prepared = await prepare(plan, flags, worker, invocation)
    const {run, fault} = await runPrepared(prepared, flags, invocation)
    if (fault) throw fault
    return run.records
  } catch (error) {
    throw withOwnHint(error, own.directory, invocation.argv)
  } finally {
    await worker.kill()
  }
}

function runOptions({directory, name, resume, threads, quiet}: OwnRun): RunOptions {
  const off = {force: false, profile: false, 'dry-run': false, quick: false}
  const options = {...off, output: join(directory, name), resume, quiet}
  return threads === undefined ? options : {...options, threads}
}

/** What goes on is the whole command, not one of its runs. */
function withOwnHint(error: unknown, directory: string, argv: readonly string[]): unknown {
  if (!(error instanceof RfaError) || error.code !== 'INTERRUPTED') return error
  const suggestions = [resumeLine(argv, directory)]
  return new RfaError(error.code, error.message, {suggestions, cause: error})
}

/** `4 claims judged on 6 runs; saved in DIR`. */
export function closingLine({claims, directory}: ClaimsDocument): string {
  const runs = new Set(claims.flatMap(claim => claim.runs)).size
  return `${plural(claims.length, 'claim')} judged on ${plural(runs, 'run')}; saved in ${directory}`
}
