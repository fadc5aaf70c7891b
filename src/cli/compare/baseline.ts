/** `rfa bench --baseline`: what is looked at before anything is timed, and the comparison afterwards. */
import type {Limit} from '../../compare/limits.js'
import type {Side} from '../../compare/match.js'
import {expected} from '../../errors.js'
import {assertCount, MOST_FORCED} from '../../experiments/cells.js'
import {comparisonOf, experimentNamed} from '../../experiments/index.js'
import {canonicalJson} from '../../results/keys.js'
import type {Plan} from '../../results/record.js'
import type {ExperimentRun} from '../../runner/run-experiment.js'
import {type FailOnFlags, limitsOf} from '../plans/compare.js'
import {type RunServices, readRuns} from '../report/write-report.js'
import type {Compared} from './compare-page.js'
import {compareSides, noPartners, requireMeasured} from './run-compare.js'

/** As they were typed. */
export interface BaselineFlags extends FailOnFlags {
  baseline?: string | undefined
}

/** A run that a benchmark was asked to be compared with. */
export interface Baseline {
  base: Side
  /** Cells of the plan. */
  cells: number
  limits: readonly Limit[]
  strict: boolean
}

/**
 * Reads the baseline.
 *
 * @returns `undefined` where no flag asks for one
 * @throws {USAGE} for limits without a baseline, or of what a benchmark does not measure
 * @throws {FILE_MISSING | BAD_FILE | UNKNOWN_SCHEMA} where the baseline cannot be read
 * @throws {PLAN_MISMATCH} where it has no cell that the plan has
 */
export async function openBaseline(
  plan: Plan,
  flags: BaselineFlags,
  {bin, services}: {bin: string; services: RunServices},
): Promise<Baseline | undefined> {
  const limits = limitsOf(flags)
  const {baseline, strict} = flags
  if (limits.length > 0 && baseline === undefined) {
    const remedy = 'say what to compare with, or compare later: rfa compare A B --fail-on time:10%'
    throw expected('USAGE', '--fail-on', '--baseline DIR with it', 'none', remedy)
  }
  if (baseline === undefined) return undefined
  const [run] = await readRuns([baseline], bin, services)
  const base: Side = {...run!, method: null}
  const cells = await requireCommonCells(base, plan, limits)
  return {base, cells, limits, strict}
}

/**
 * A benchmark may take an hour: it fails before that if there is nothing to compare it with. @returns how many cells it
 * has
 */
async function requireCommonCells(
  base: Side,
  plan: Plan,
  limits: readonly Limit[],
): Promise<number> {
  const {experiment: id} = plan
  const experiment = await experimentNamed(id)
  const {measured, quantities} = await comparisonOf(experiment)
  const {experiment: other} = base.manifest.plan
  if (other !== id)
    throw expected('PLAN_MISMATCH', base.directory, `a run of ${id}`, `one of ${other}`)
  requireMeasured(
    limits,
    id,
    quantities.map(({name}) => name),
  )
  const saved = new Set(base.records.map(({cell}) => canonicalJson(measured(cell))))
  const {count, cells} = await experiment.grid(plan)
  assertCount(plan, count, MOST_FORCED)
  const planned = cells().map(measured)
  if (planned.some(cell => saved.has(canonicalJson(cell)))) return planned.length
  const own = base.records[0]
  const [first] = planned
  throw noPartners(base.directory, own && first ? [measured(own.cell), first] : [])
}

/** Compares a run with it. */
export function compareWithBaseline(
  {base, cells, limits, strict}: Baseline,
  {manifest, records, directory}: ExperimentRun,
): Promise<Compared> {
  const place = directory ?? ''
  const all = manifest.shard?.cells ?? cells
  const own: Side = {directory: place, method: null, manifest, records, cells: all}
  return compareSides([base, own], {related: 'runs', limits, strict})
}
