/** `rfa bench --baseline` and `--save-baseline`: what is looked at before anything is timed, and what is done afterwards. */
import type {Limit} from '../compare/limits.js'
import type {Side} from '../compare/request.js'
import {expected} from '../errors.js'
import {experimentNamed} from '../experiments/index.js'
import {canonicalJson} from '../results/keys.js'
import type {Plan} from '../results/record.js'
import type {ExperimentRun} from '../runner/run-experiment.js'
import {
  baselineName,
  baselinesFolder,
  checkSavable,
  saveBaseline,
  savedBaseline,
} from './baselines.js'
import {type FailOnFlags, limitsOf} from './plans/compare.js'
import {type Compared, compareSides, noPartners, requireMeasured} from './run-compare.js'
import {type RunServices, readRuns} from './write-report.js'

/** As they were typed. */
export interface BaselineFlags extends FailOnFlags {
  baseline?: string | undefined
  'save-baseline'?: string | undefined
}

/** Baselines that a benchmark was asked to be compared with, and to become. */
export interface Baselines {
  root: string
  base: Side | undefined
  save: string | undefined
  /** Whether it is saved in the place of the base. */
  replaces: boolean
  limits: readonly Limit[]
  strict: boolean
}

/**
 * Reads the baseline, and makes sure that the run can be saved as one.
 *
 * @returns `undefined` where no flag asks for either
 * @throws {USAGE} for limits without a baseline, or of what a benchmark does not measure
 * @throws {FILE_MISSING | BAD_FILE | UNKNOWN_SCHEMA} where the baseline cannot be read
 * @throws {PLAN_MISMATCH} where it has no cell that the plan has
 * @throws {WOULD_OVERWRITE} where something else has the name
 */
export async function openBaselines(
  plan: Plan,
  flags: BaselineFlags,
  {bin, services}: {bin: string; services: RunServices},
): Promise<Baselines | undefined> {
  const limits = limitsOf(flags)
  const {baseline, 'save-baseline': save, strict} = flags
  if (limits.length > 0 && baseline === undefined) {
    const remedy = 'say what to compare with, or compare later: rfa compare A B --fail-on time:10%'
    throw expected('USAGE', '--fail-on', '--baseline NAME beside it', 'none', remedy)
  }
  if (baseline === undefined && save === undefined) return undefined
  const root = baselinesFolder(process.env)
  if (save !== undefined) await checkSavable(root, baselineName(save, '--save-baseline'))
  const how = {root, save, replaces: save !== undefined && save === baseline, limits, strict}
  if (baseline === undefined) return {...how, base: undefined}
  const folder = await savedBaseline(root, baselineName(baseline, '--baseline'))
  const [run] = await readRuns([folder], bin, services)
  const base: Side = {...run!, method: null}
  await requireCommonCells(base, plan, limits)
  return {...how, base}
}

/** A benchmark may take an hour: that there is nothing to compare it with is told before. */
async function requireCommonCells(base: Side, plan: Plan, limits: readonly Limit[]): Promise<void> {
  const {experiment: id} = plan
  const experiment = await experimentNamed(id)
  const {measured, quantities} = await experiment.comparison()
  const {experiment: other} = base.manifest.plan
  if (other !== id)
    throw expected('PLAN_MISMATCH', base.directory, `a run of ${id}`, `one of ${other}`)
  requireMeasured(
    limits,
    id,
    quantities.map(({name}) => name),
  )
  const saved = new Set(base.records.map(({cell}) => canonicalJson(measured(cell))))
  const cells = await experiment.cells(plan)
  let first: object | undefined
  for (const cell of cells) {
    if (saved.has(canonicalJson(measured(cell)))) return
    first ??= measured(cell)
  }
  const own = base.records[0]
  throw noPartners(base.directory, own && first ? [measured(own.cell), first] : [])
}

/** What came of it. */
export interface Settled {
  compared: Compared | undefined
  /** What to say of the baseline that was saved, or was not. */
  notes: string[]
}

/**
 * Compares a finished run, and saves it as a baseline where all of its cells could be measured; not in the place of a baseline
 * that it is worse than by the limits, or the next run would pass.
 */
export async function settleBaselines(
  {root, base, save, replaces, limits, strict}: Baselines,
  run: ExperimentRun,
): Promise<Settled> {
  const {manifest, records, directory, counts} = run
  const own: Side = {
    directory: directory ?? '',
    method: null,
    manifest,
    records,
    cells: records.length,
  }
  const compared = base && (await compareSides([base, own], {related: 'runs', limits, strict}))
  if (save === undefined || directory === null) return {compared, notes: []}
  if (counts.failed > 0 || counts.completed === 0) {
    return {compared, notes: [`not saved as baseline ${save}: not all cells were measured`]}
  }
  if (replaces && compared && !compared.facts.passed) {
    return {compared, notes: [`not saved as baseline ${save}: it failed the limits against that`]}
  }
  const folder = await saveBaseline(root, save, directory)
  return {compared, notes: [`saved as baseline ${save} in ${folder}`]}
}
