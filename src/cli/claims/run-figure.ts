/** `rfa claims --figure`: the runs of a figure and its points. */
import {
  type Drawing,
  type Figure,
  factsOf,
  figurePoint,
  savedPoints,
} from '../../claims/figures/figure.js'
import {type ClaimRuns, Unmeasured} from '../../claims/runs.js'
import {expected} from '../../errors.js'
import {plural} from '../../report/numbers.js'
import {columnsOf} from '../../results/columns.js'
import {plainCsv} from '../../results/csv.js'
import {EXIT_CELLS_FAILED} from '../program/exit-codes.js'
import type {FigureDocument} from '../program/json-documents.js'
import type {Invocation} from '../program/services.js'
import {refuseResumeOfNothing} from '../run/run-plan.js'
import {type ClaimsFlags, type Ending, endingOf, requestOf, runAll} from './claim-runs.js'
import {documentToGoOnWith, saveDocument} from './claims-folder.js'

/**
 * Runs what a figure takes and saves its points.
 *
 * @returns the figure, and how the command ends
 * @throws {USAGE} for `--resume` without a folder
 * @throws {WOULD_OVERWRITE} {PLAN_MISMATCH} where something else lies in the folder
 * @throws {INTERRUPTED} after Ctrl-C, telling how to go on
 * @throws what running a plan throws
 */
export async function runFigure(
  figure: Figure,
  flags: ClaimsFlags,
  invocation: Invocation,
): Promise<{document: FigureDocument; ending: Ending}> {
  refuseResumeOfNothing(flags)
  const request = requestOf(flags)
  const {id} = figure
  const directory = flags.output ?? (await invocation.services.newRunDirectory(id, new Date()))
  const saved = await documentToGoOnWith(
    {directory, resume: flags.resume, ...request},
    'rfa.figure/1',
  )
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

/** Points of a figure; none, and why, where a cell was skipped or failed. */
function drawn(figure: Figure, runs: ClaimRuns): Drawing {
  try {
    return figure.draw(runs)
  } catch (error) {
    if (!(error instanceof Unmeasured)) throw error
    return {points: [], notes: [`nothing is drawn: ${error.message}`]}
  }
}

/** `48 points of 4 curves; saved in DIR/performer-2.csv`. */
export function closingLine({id, points, directory}: FigureDocument): string {
  const curves = new Set(points.map(({series}) => series)).size
  return `${plural(points.length, 'point')} of ${plural(curves, 'curve')}; saved in ${directory}, ${id}.csv`
}
