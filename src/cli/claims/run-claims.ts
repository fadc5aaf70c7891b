/** `rfa claims`: the runs of claims and the verdicts on them. */
import {isDeepStrictEqual} from 'node:util'
import type {Claim, ClaimPlan, PlanRequest, TestedClaim} from '../../claims/claim.js'
import {CLAIM_IDS, claimNamed} from '../../claims/index.js'
import {objections, outcomes} from '../../claims/outcome.js'
import {claimTables} from '../../claims/tables.js'
import {expected} from '../../errors.js'
import {plural} from '../../report/numbers.js'
import {EXIT_CLAIM_NOT_SHOWN} from '../program/exit-codes.js'
import type {ClaimsDocument} from '../program/json-documents.js'
import type {Invocation} from '../program/services.js'
import {refuseResumeOfNothing} from '../run/run-plan.js'
import {type ClaimsFlags, type Ending, endingOf, requestOf, runAll} from './claim-runs.js'
import {documentToGoOnWith, saveDocument} from './claims-folder.js'

/**
 * Runs what the claims take, judges them and saves the verdicts. Those that a folder has are judged anew with the others:
 * chance is accounted for over all claims of a folder, and none can be left out once its verdict is known.
 *
 * @returns the verdicts, and how the command ends
 * @throws {USAGE} for `--resume` without a folder
 * @throws {WOULD_OVERWRITE} where verdicts lie that are not to be gone on with
 * @throws {PLAN_MISMATCH} where they come from another seed or effort
 * @throws {INTERRUPTED} after Ctrl-C, telling how to go on
 * @throws what running a plan throws
 */
export async function runClaims(
  asked: readonly Claim[],
  flags: ClaimsFlags & {strict: boolean},
  invocation: Invocation,
): Promise<{document: ClaimsDocument; ending: Ending}> {
  refuseResumeOfNothing(flags)
  const request = requestOf(flags)
  const directory =
    flags.output ?? (await invocation.services.newRunDirectory('claims', new Date()))
  const {resume} = flags
  const saved = await documentToGoOnWith({directory, resume, ...request}, 'rfa.claims/1')
  const claims = await withSaved(asked, saved, invocation)
  const runs = await runAll(plansOf(claims, request), {...flags, directory}, invocation)
  const runsOf = (claim: TestedClaim) => Object.keys(claim.plans(request))
  const document: ClaimsDocument = {
    schema: 'rfa.claims/1',
    ...request,
    directory,
    claims: await outcomes(claims, runs, runsOf),
  }
  await saveDocument(document, claimTables(document.claims))
  const verdicts = flags.strict ? strictEnding(document) : {warnings: [], exitCode: 0}
  return {document, ending: endingOf(runs, directory, invocation, verdicts)}
}

/** How verdicts end the command under `--strict`. */
function strictEnding({claims}: ClaimsDocument): Ending {
  const found = objections(claims)
  if (found.length === 0) return {warnings: [], exitCode: 0}
  return {warnings: [`--strict: ${found.join('; ')}`], exitCode: EXIT_CLAIM_NOT_SHOWN}
}

/** The claims asked for, and those that the folder has verdicts on. */
async function withSaved(
  asked: readonly Claim[],
  saved: ClaimsDocument | undefined,
  {note}: Invocation,
): Promise<readonly Claim[]> {
  const known = asked.map(({id}) => id)
  const others = (saved?.claims ?? []).map(({id}) => id).filter(id => !known.includes(id))
  if (!saved || others.length === 0) return asked
  const strange = others.find(id => !(CLAIM_IDS as readonly string[]).includes(id))
  if (strange !== undefined) {
    const remedy = 'it was written by another version of rfa: use that one'
    throw expected('BAD_FILE', saved.directory, 'claims of this version', strange, remedy)
  }
  note(`judged anew with them, as their verdicts are here: ${others.join(', ')}`)
  const place = ({id}: Claim) => (CLAIM_IDS as readonly string[]).indexOf(id)
  const all = [...asked, ...(await Promise.all(others.map(claimNamed)))]
  return all.sort((a, b) => place(a) - place(b))
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

/** `4 claims judged on 6 runs; saved in DIR`. */
export function closingLine({claims, directory}: ClaimsDocument): string {
  const runs = new Set(claims.flatMap(claim => claim.runs)).size
  return `${plural(claims.length, 'claim')} judged on ${plural(runs, 'run')}; saved in ${directory}`
}
