/** Draws of a cell: the number of its plan, or until intervals are narrow enough. */
import type {ProjectionName} from '../../../attention/names.js'
import type {OnStep} from '../../experiment.js'
import {isNarrow, nextReplicates, type UntilCi} from '../../until-ci.js'
import {mostDraws, replicatesOf} from '../schema.js'
import {
  type EstimateRequest,
  kernelEstimates,
  type Tilted,
  tiltedEstimates,
  type WeightedEstimates,
} from './estimates.js'
import {exactOf, isIndependent, NOTHING_KNOWN} from './exact.js'
import {
  hopelessRow,
  isHopeless,
  isSurprising,
  isTooWide,
  isWithoutSpread,
  type ProjectionRow,
  rowOf,
  type Sample,
  sampleOf,
  type Theory,
  type WeightedSample,
  weightedRowOf,
} from './spread.js'
import {tiltedBy, tiltedDraws} from './tilt.js'
import {weightedMoments} from './weighted.js'

/** Draws cost little: few looks at intervals matter more than stopping right behind the mark. */
const GROWTH = 2

/** What came of them. */
export interface Drawn {
  rows: ProjectionRow[]
  /** R at the end; 0 where not even the most draws can measure a row. */
  replicates: number
}

/**
 * One row per projection. With `until_ci` R doubles from the plan's number until every interval is narrow enough or the most
 * draws are made: a handful of looks.
 *
 * Coverage of 95 % intervals where stopped so, by simulation: at least 93 % (`test/statistical/variance-precision.test.ts`).
 */
export function drawRows(
  request: EstimateRequest,
  theory: Theory,
  names: readonly string[],
  onStep?: OnStep,
): Drawn {
  const counted = replicatesOf(request.cell)
  const most = mostDraws(request.cell)
  const flat = isWithoutSpread(theory)
  const kinds = names.map((name): Kind => {
    const tilted = flat ? undefined : tiltedBy(request, name)
    const {ratio} = flat ? NOTHING_KNOWN : exactOf(request, name)
    const exact = ratio === null ? undefined : ratio * theory.moments.variance
    return {name, tilted, exact, hopeless: !flat && !tilted && isHopeless(theory, most)}
  })
  if (kinds.every(({hopeless}) => hopeless)) {
    return {rows: names.map(name => hopelessRow(name, theory, most)), replicates: 0}
  }
  const rounds = roundsOf(request, theory, kinds, onStep)
  let drawn: Drawn = {rows: [], replicates: 0}
  const isKnown = () =>
    drawn.rows.length > 0 &&
    drawn.rows.every((row, at) => kinds[at]!.hopeless || isPrecise(row, counted.until_ci!))
  for (;;) {
    const replicates = nextReplicates(counted, drawn.replicates, {factor: GROWTH, isKnown})
    if (replicates === undefined) return drawn
    drawn = {rows: rounds(replicates), replicates}
  }
}

interface Kind {
  name: string
  tilted: Tilted | undefined
  /** Its variance, where that is known in closed form. */
  exact: number | undefined
  /** Not even the most draws would do. */
  hopeless: boolean
}

type AnySample = Sample | WeightedSample

/** Draws of rows that are tilted, and those that they stand for. */
type Counts = Pick<WeightedSample, 'draws' | 'replicates'>

/** Makes the rows of a growing number of draws, and keeps earlier ones. */
function roundsOf(
  request: EstimateRequest,
  theory: Theory,
  kinds: readonly Kind[],
  onStep?: OnStep,
): (replicates: number) => ProjectionRow[] {
  const plain = new Map<string, Float64Array>()
  const weighted = new Map<string, WeightedEstimates>()
  const sampled = (
    {name, tilted}: Kind,
    {draws, replicates}: Counts,
    step: (draws: number) => void,
  ): AnySample => {
    if (tilted) {
      const projection = name as ProjectionName
      const before = weighted.get(name)
      if (!before || before.estimates.length < draws) {
        const count = {replicates: draws, before}
        weighted.set(name, tiltedEstimates(request, {projection, ...tilted}, step, count))
      }
      const {estimates, weights} = weighted.get(name)!
      const drawn = {estimates: estimates.slice(0, draws), weights: weights.slice(0, draws)}
      const moments = weightedMoments(drawn, theory.moments.mean, theory.featureDim)
      return {projection: name, draws, replicates, weighted: moments}
    }
    const before = plain.get(name)
    const estimates = kernelEstimates(request, name, step, {replicates, before})
    plain.set(name, estimates)
    return sampleOf(name, estimates, theory, isIndependent(name))
  }
  const samplesOf = (counts: Counts) =>
    kinds.map((kind, place): AnySample | undefined => {
      const {replicates} = counts
      // so few draws say nothing yet: more may
      const few = !isWithoutSpread(theory) && !kind.tilted && isHopeless(theory, replicates)
      if (kind.hopeless || few) return undefined
      const step = (draws: number) =>
        onStep?.(place * replicates + draws, kinds.length * replicates)
      return sampled(kind, counts, step)
    })
  const asksForMore = (sample: AnySample | undefined, at: number) =>
    sample !== undefined &&
    'weighted' in sample &&
    (isTooWide(sample.weighted) || isSurprising(sample.weighted, theory, kinds[at]!.exact))
  return replicates => {
    const few = samplesOf({draws: tiltedDraws(replicates), replicates})
    // as many as there would be without tilts: of all, as ratios are paired
    const samples = few.some(asksForMore) ? samplesOf({draws: replicates, replicates}) : few
    const iid = samples.find(sample => sample?.projection === 'iid')
    return samples.map((sample, at) => {
      if (!sample) return hopelessRow(kinds[at]!.name, theory, replicates)
      const other = sample === iid ? undefined : iid
      return 'weighted' in sample
        ? weightedRowOf(sample, theory, other)
        : rowOf(sample, theory, other)
    })
  }
}

/** Nothing varies, or the interval of the ratio, or else of the variance, is narrow enough. */
export function isPrecise(row: ProjectionRow, until: UntilCi): boolean {
  if (row.withheld !== null) return row.variance !== null
  const {ratio_to_iid: ratio, ratio_low, ratio_high, variance, variance_low, variance_high} = row
  if (ratio !== null) return isNarrow(ratio, {low: ratio_low!, high: ratio_high!}, until)
  return isNarrow(variance!, {low: variance_low!, high: variance_high!}, until)
}
