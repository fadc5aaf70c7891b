/** `rfa claims`: the runs of claims and the verdicts on them, or those of a figure and its points. */
import {isDeepStrictEqual} from 'node:util'
import {
  type Claim,
  type ClaimPlan,
  type PlanRequest,
  type TestedClaim,
  withoutTraining,
} from '../../claims/claim.js'
import {CLAIM_IDS, claimNamed} from '../../claims/claims/index.js'
import {
  type Drawing,
  type Figure,
  factsOf,
  figurePoint,
  savedPoints,
} from '../../claims/figures/figure.js'
import {differences, objections, outcomes} from '../../claims/outcome.js'
import {claimsReport} from '../../claims/report/report.js'
import {claimTables} from '../../claims/report/tables.js'
import {type ClaimRuns, Unmeasured} from '../../claims/runs.js'
import {expected} from '../../errors.js'
import {commandText, typeablePath} from '../../report/command-line.js'
import {type Block, heading} from '../../report/document.js'
import {plural} from '../../report/numbers.js'
import {columnsOf} from '../../results/tables/columns.js'
import {plainCsv} from '../../results/tables/csv.js'
import {EXIT_CELLS_FAILED, EXIT_CLAIM_NOT_SHOWN, EXIT_UNDECIDED} from '../program/exit-codes.js'
import type {ClaimsDocument, FigureDocument} from '../program/json-documents.js'
import type {Invocation} from '../program/services.js'
import {refuseResumeOfNothing} from '../run/run-plan.js'
import {type ClaimsFlags, type Ending, endingOf, runAll} from './claim-runs.js'
import {documentToGoOnWith, type SavedDocument, saveDocument} from './claims-folder.js'

/**
 * Runs what the claims take, judges them and saves the verdicts. Those that a folder has are judged anew with the others:
 * chance is accounted for over all claims of a folder, and none can be left out once its verdict is known.
 *
 * @returns the verdicts, and how the command ends
 * @throws {USAGE} for `--resume` without a folder
 * @throws {WOULD_OVERWRITE} where verdicts lie that are not to be gone on with
 * @throws {PLAN_MISMATCH} where they come from another seed or effort
 * @throws {INTERRUPTED} after Ctrl-C, telling how to go on
 */
export async function runClaims(
  asked: readonly Claim[],
  flags: ClaimsFlags & {strict: boolean; 'with-training': boolean},
  invocation: Invocation,
): Promise<{document: ClaimsDocument; ending: Ending}> {
  const {request, directory, saved} = await begun('claims', 'rfa.claims/1', flags, invocation)
  const trained = (saved?.claims ?? []).flatMap(({id, runs}) => (runs.length > 0 ? [id] : []))
  const claims = (await withSaved(asked, saved, invocation)).map(claim =>
    flags['with-training'] || trained.includes(claim.id) ? claim : withoutTraining(claim),
  )
  const minilm = invocation.services.minilmFolder
  const {plans, namesOf} = await plansOf(claims, {...request, minilm})
  const {exportLayers} = invocation.services
  const where = {...request, directory, exportLayers, minilm}
  const following = async (runs: ClaimRuns) => {
    const next = new Map<string, ClaimPlan>()
    for (const claim of claims) {
      if (claim.kind === 'quoted') continue
      for (const [name, plan] of Object.entries((await claim.following?.(runs, where)) ?? {})) {
        next.set(name, plan)
        namesOf.set(claim.id, [...namesOf.get(claim.id)!, name])
      }
    }
    return next
  }
  const runs = await runAll(plans, {...flags, directory}, invocation, following)
  const runsOf = ({id}: TestedClaim) => namesOf.get(id)!
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

/**
 * Runs what a figure takes and saves its points.
 *
 * @returns the figure, and how the command ends
 * @throws {PLAN_MISMATCH} where another figure lies in the folder
 * @throws as {@link runClaims}
 */
export async function runFigure(
  figure: Figure,
  flags: ClaimsFlags,
  invocation: Invocation,
): Promise<{document: FigureDocument; ending: Ending}> {
  const {id} = figure
  const {request, directory, saved} = await begun(id, 'rfa.figure/1', flags, invocation)
  if (saved && saved.id !== id) {
    throw expected('PLAN_MISMATCH', directory, `figure ${id}`, saved.id, 'choose another folder')
  }
  const plans = new Map(Object.entries(figure.plans(request)))
  const runs = await runAll(plans, {...flags, directory}, invocation)
  const {points, notes} = drawn(figure, runs)
  const document: FigureDocument = {
    schema: 'rfa.figure/1',
    ...request,
    directory,
    ...factsOf(figure),
    points: savedPoints(points),
    notes,
    runs: [...plans.keys()],
  }
  const text = plainCsv(columnsOf(figurePoint), document.points)
  await saveDocument(document, [{name: `${id}.csv`, text}])
  const exitCode = points.length === 0 ? EXIT_CELLS_FAILED : 0
  return {document, ending: endingOf(runs, directory, invocation, {warnings: [], exitCode})}
}

/** What plans are made for, the folder of the runs, and what is there to continue. @param name - of a new folder */
async function begun<K extends SavedDocument['schema']>(
  name: string,
  kind: K,
  flags: ClaimsFlags,
  {services}: Invocation,
) {
  await refuseResumeOfNothing(flags)
  const {quick, seed = 0, resume} = flags
  const request: PlanRequest = {effort: quick ? 'quick' : 'full', seed}
  const directory = flags.output ?? (await services.newRunDirectory(name, new Date()))
  const saved = await documentToGoOnWith({directory, resume, ...request}, kind)
  return {request, directory, saved}
}

/** How verdicts end the command under `--strict`. */
function strictEnding({claims}: ClaimsDocument): Ending {
  const found = objections(claims)
  if (found.length === 0) return {warnings: [], exitCode: 0}
  const exitCode = differences(claims).length > 0 ? EXIT_CLAIM_NOT_SHOWN : EXIT_UNDECIDED
  return {warnings: [`--strict: ${found.join('; ')}`], exitCode}
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

/** The runs of all claims by name, each once, and their names by claim. */
export async function plansOf(
  claims: readonly Claim[],
  request: PlanRequest,
): Promise<{plans: Map<string, ClaimPlan>; namesOf: Map<string, readonly string[]>}> {
  const plans = new Map<string, ClaimPlan>()
  const namesOf = new Map<string, readonly string[]>()
  for (const claim of claims) {
    if (claim.kind === 'quoted') continue
    const own = await claim.plans(request)
    namesOf.set(claim.id, Object.keys(own))
    for (const [name, plan] of Object.entries(own)) {
      const known = plans.get(name)
      if (known && !isDeepStrictEqual(known, plan)) {
        throw new Error(`${claim.id}: expected the plan of ${name} that others have, got another`)
      }
      plans.set(name, plan)
    }
  }
  return {plans, namesOf}
}

/** Points of a figure; none, and why, where a cell was skipped or failed. */
function drawn(figure: Figure, runs: ClaimRuns): Drawing {
  try {
    return figure.draw(runs)
  } catch (error) {
    if (!(error instanceof Unmeasured)) throw error
    return {points: [], notes: [`nothing is drawn: ${error.message}`]}
  }
}

/** What is printed of verdicts: a single one in full, of several the first screen. @param details - all in full */
export async function printedClaims(
  claims: ClaimsDocument['claims'],
  details: boolean,
  title?: string,
): Promise<Block[]> {
  if (details || claims.length === 1) return claimsReport(claims, title)
  const {claimsScreen} = await import('../../claims/report/screen.js')
  return [...(title === undefined ? [] : [heading(1, title)]), ...claimsScreen(claims)]
}

/** `4 of 5 claims judged on 6 runs; saved in DIR`, with what prints the rest. @param details - it is printed already */
export function closingLine(
  bin: string,
  {claims, directory}: ClaimsDocument,
  details: boolean,
): string {
  const runs = new Set(claims.flatMap(claim => claim.runs)).size
  const report = commandText([bin, 'report', typeablePath(directory), '--details'])
  const more =
    details || claims.length === 1
      ? ''
      : `\ndetails: ${report}   one claim: ${commandText([bin, 'claims', claims[0]!.id, '--explain'])}`
  const judged = claims.filter(({verdict}) => verdict !== 'not_measurable').length
  const part = judged < claims.length ? `${judged} of ` : ''
  const on = runs > 0 ? ` on ${plural(runs, 'run')}` : ''
  return `${part}${plural(claims.length, 'claim')} judged${on}; saved in ${directory}${more}`
}

/** `48 points of 4 curves; saved in DIR, performer-2.csv`. */
export function figureLine({id, points, directory}: FigureDocument): string {
  const curves = new Set(points.map(({series}) => series)).size
  return `${plural(points.length, 'point')} of ${plural(curves, 'curve')}; saved in ${directory}, ${id}.csv`
}
