/**
 * The error that a cell is predicted to have, head by head, and the M that an error of 5 % takes. Up to some M it
 * is drawn, with separate rows, and as far as is affordable where that M lies beyond; further on it follows from theory. See `theory/ratio-error`.
 */
import {drawProjection} from '../../../attention/index.js'
import {hostLoops} from '../../../host-loops.js'
import {type AttentionInput, sizesOf} from '../../../inputs/attention-input.js'
import {partsInView} from '../../../inputs/masked-tokens.js'
import {mean, median} from '../../../stats/index.js'
import {
  type CosineErrors,
  type CosineHead,
  cosineDenominators,
  cosineErrors,
  type JudgedCosines,
  LARGEST_SPREAD,
} from '../../../theory/ratio-error/cosines.js'
import {predictError} from '../../../theory/ratio-error/predict.js'
import {exactOutputs, sampledQueries} from '../../../theory/ratio-error/queries.js'
import {drawnErrors} from '../../../theory/ratio-error/simulate.js'
import type {PositiveHead} from '../../../theory/ratio-error/types.js'
import {drawOf, drawSettingsOf, viewOf} from '../../axes.js'
import type {ResolvedMethod} from '../../method.js'
import {APART, agree, COUNTS, type Curve, type Curves, FAR, neededFor} from '../curve.js'
import type {ErrorSweepCell} from '../schema.js'
import {BiasSums} from './bias-sums.js'
import {headOf, overflows} from './canonical-head.js'
import type {SweepContext} from './context.js'
import {
  coversRows,
  drawnUpTo,
  hasProposals,
  isAffordable,
  mayHaveCurves,
  queriesFor,
  rowsFor,
  SEEDS,
} from './curve-plan.js'
import {proposalCurves} from './predicted-proposals.js'

/** What is known of one input, by method, direction and draws. */
const kept = new WeakMap<AttentionInput, Map<string, unknown>>()

function remembered<Found>(input: AttentionInput, name: unknown[], make: () => Found): Found {
  const before = kept.get(input) ?? new Map<string, unknown>()
  kept.set(input, before)
  const key = JSON.stringify(name)
  if (!before.has(key)) before.set(key, make())
  return before.get(key) as Found
}

/**
 * The curves of a cell's method, without errors where its plan has no predictions; `undefined` where theory has none for it, or for
 * what it is compared with.
 */
export function predictedCurves(
  cell: ErrorSweepCell,
  method: ResolvedMethod,
  context: SweepContext,
): Curves | undefined {
  const {projection, num_features} = cell
  if (num_features === null || !mayHaveCurves(cell, method)) return undefined
  const {input} = context
  const sizes = sizesOf(input)
  if (!isAffordable(sizes, method, hostLoops().softmaxRows !== undefined)) return undefined
  if (!hasProposals(method) && !coversRows(projection)) return undefined
  if (!cell.predictions) return notAsked(sizes.heads)
  const name = [method.estimator.name, method.options, viewOf(cell)]
  if (hasProposals(method)) {
    return remembered(input, [...name, cell.seed], () => proposalCurves(cell, method, context))
  }
  const most = drawnUpTo(num_features, sizes, method)
  const queries = queriesFor(sizes)
  const known = remembered(input, name, () => knownOf(cell, method, context, queries))
  if (!known) return undefined
  const upTo = (most: number) =>
    remembered(input, [...name, projection, drawSettingsOf(cell), cell.seed, most], () =>
      curvesOf(squaresOf(cell, method, context, {most, queries, known})),
    )
  const near = upTo(most)
  const {needed} = neededFor(near.all, num_features, null)
  // an M that theory goes on to is named from as many draws as are affordable
  return needed !== null && needed > most ? upTo(drawnUpTo(FAR, sizes, method)) : near
}

/** What is known of heads that nothing was predicted of. */
function notAsked(heads: number): Curves {
  const errors = COUNTS.map(() => null)
  const curve: Curve = {errors, unknown: 'not_asked'}
  return {all: curve, perHead: Array.from({length: heads}, () => curve), biasSquared: errors}
}

interface Draws {
  /** Largest M that is drawn. */
  most: number
  /** Queries of each head of a sequence that stand for the others. */
  queries: number
}

/** Squared errors, summed over the queries of a head or of several. */
interface Squares {
  /** Of each draw, `[seeds][counts][draws]`, at the M of {@link COUNTS} that are drawn. */
  drawn: Float64Array[][]
  /** Their means as theory has them, `[seeds][counts]`, at all M of {@link COUNTS}; `NaN` where it does not hold. */
  theory: Float64Array[]
  /** Of the exact outputs. */
  exact: number
  /** Whether float32 cannot weigh the keys. */
  overflows: boolean
}

/** Every head of every sequence, canonical; `undefined` where theory has no form for the options. */
function* headsOf(
  cell: ErrorSweepCell,
  {estimator, options}: ResolvedMethod,
  {input, logitScale}: SweepContext,
): Generator<{at: number; head: AnyHead | undefined}> {
  const {heads} = sizesOf(input)
  const view = viewOf(cell)
  for (const part of partsInView(input, view)) {
    for (let at = 0; at < sizesOf(part).batch * heads; at++) {
      const head = headOf(part, at, {logitScale, ...view})
      const positive = estimator.positiveHead?.(head, options)
      const cosine = estimator.cosineHead?.(head, options)
      const own = cosine ? {...cosine, cosines: true as const} : positive
      yield {at: at % heads, head: own}
    }
  }
}

/** A head as its features see it; of sines and cosines where it says so. */
type AnyHead = (PositiveHead & {cosines?: undefined}) | (CosineHead & {cosines: true})

/** What does not depend on the rows that are drawn. */
interface Known {
  /** Squared errors as theory has them, `[heads][seeds][counts]`; of sines and cosines 0: theirs are drawn. */
  theory: Float64Array[][]
  /** Exact outputs of sampled queries, of each head of {@link headsOf}; `undefined` where float32 cannot weigh the keys. */
  exact: (Float64Array | undefined)[]
}

/** @returns `undefined` where theory has no form for the options */
function knownOf(
  cell: ErrorSweepCell,
  method: ResolvedMethod,
  context: SweepContext,
  queries: number,
): Known | undefined {
  const exact: Known['exact'] = []
  const theory = perHeadAndSeed(context, () => new Float64Array(COUNTS.length))
  for (const {at, head} of headsOf(cell, method, context)) {
    if (!head) return undefined
    const weighs = !overflows(head)
    exact.push(weighs ? exactOutputs(head, sampledQueries(head, queries)) : undefined)
    if (!weighs || head.cosines) continue
    for (const [seed, into] of theory[at]!.entries()) {
      const wanted = {queries: Math.ceil(THEORY_SHARE * queries), seed: SEEDS * at + seed}
      for (const [k, error] of predictError(head, COUNTS, wanted).entries())
        into[k]! += (head.query.length / head.headDim) * error
    }
  }
  return {theory, exact}
}

/** Share of the drawn queries that theory takes, with more rows in return. */
const THEORY_SHARE = 1 / 4

function perHeadAndSeed<Item>({input}: SweepContext, make: () => Item): Item[][] {
  const {heads} = sizesOf(input)
  return Array.from({length: heads}, () => Array.from({length: SEEDS}, make))
}

/** Squared errors of each head. All sequences see the same rows, as in a replicate. */
function squaresOf(
  cell: ErrorSweepCell,
  method: ResolvedMethod,
  context: SweepContext,
  {most, queries: wanted, known}: Draws & {known: Known},
): {heads: Squares[]; bias: BiasSums} {
  const counts = COUNTS.filter(count => count <= most)
  const count = rowsFor(most, sizesOf(context.input), method)
  const drawn = perHeadAndSeed(context, () => counts.map(M => new Float64Array(count / M)))
  const all = drawn.map((own, at) => ({
    ...{drawn: own, theory: known.theory[at]!.map(ofSeed => ofSeed.slice())},
    ...{exact: 0, overflows: false},
  }))
  const bias = new BiasSums()
  let place = 0
  for (const {at, head} of headsOf(cell, method, context)) {
    const own = all[at]!
    const exact = known.exact[place++]
    if (!head || !exact) {
      own.overflows = true
      continue
    }
    const queries = sampledQueries(head, wanted)
    const weight = head.query.length / head.headDim / queries.places.length
    const denominators = head.cosines ? cosineDenominators(head, queries) : NONE
    own.exact += weight * exact.reduce((sum, x) => sum + x * x, 0)
    const seeds = own.drawn.map((into, seed) => {
      const rows = rowsOf(cell, {headDim: head.headDim, count, replicate: seed * all.length + at})
      const errors = errorsOf(head, {queries, exact, denominators}, {rows, numFeatures: counts})
      for (const [k, error] of errors.theory.entries()) own.theory[seed]![k]! += weight * error
      for (const [k, sums] of into.entries()) {
        for (let draw = 0; draw < sums.length; draw++)
          sums[draw]! += weight * errors.drawn[k]![draw]!
      }
      return errors.moments
    })
    const block = cell.projection === 'iid' ? 1 : head.headDim
    if (head.cosines) bias.add({head, weight, block, seeds})
  }
  return {heads: all, bias}
}

/** What positive features have no use for. */
const NONE = new Float64Array(0)

/** Errors of draws, what they add to theory, at all M of {@link COUNTS}, and moments of sines and cosines that are worth it. */
function errorsOf(
  head: AnyHead,
  judged: JudgedCosines,
  rows: Parameters<typeof drawnErrors>[2],
): {drawn: Float64Array[]; theory: readonly number[]; moments?: CosineErrors} {
  if (!head.cosines) return {drawn: drawnErrors(head, judged, rows), theory: []}
  const {numFeatures} = rows
  const [most] = numFeatures.slice(-1)
  const first = numFeatures.filter(M => M <= PILOT)
  const few = {rows: rows.rows.subarray(0, first.at(-1)! * head.headDim), numFeatures: first}
  // most heads of trained models: all rows would say no more
  if (cosineErrors(head, judged, few).spread > HOPELESS * LARGEST_SPREAD ** 2 * most!) {
    const count = rows.rows.length / head.headDim
    const drawn = numFeatures.map(M => new Float64Array(count / M))
    return {drawn, theory: COUNTS.map(() => Number.NaN)}
  }
  const moments = cosineErrors(head, judged, rows)
  const {drawn, variance, spread} = moments
  const theory = COUNTS.map(M => (spread > LARGEST_SPREAD ** 2 * M ? Number.NaN : variance / M))
  return {drawn, theory, moments}
}

/** Rows that are looked at before all are drawn, and how far beyond the limit of the spread they end it. */
const [PILOT, HOPELESS] = [64, 4]

/** Rows that no replicate of a cell has. */
function rowsOf(
  cell: ErrorSweepCell,
  {headDim, count, replicate}: {headDim: number; count: number; replicate: number},
): Float64Array {
  return drawProjection({
    ...{name: cell.projection!, heads: 1, headDim, numFeatures: count},
    ...drawOf(cell, replicate),
    redraw: 1,
  })
}

function curvesOf({heads, bias}: {heads: readonly Squares[]; bias: BiasSums}): Curves {
  return {
    all: curveOf(summed(heads)),
    perHead: heads.map(curveOf),
    biasSquared: heads.some(head => head.overflows) ? COUNTS.map(() => null) : bias.mean(),
  }
}

/** Of all heads together, draw by draw. */
function summed(heads: readonly Squares[]): Squares {
  const [first] = heads as [Squares, ...Squares[]]
  const over = (pick: (of: Squares) => number) => heads.reduce((sum, own) => sum + pick(own), 0)
  return {
    drawn: first.drawn.map((ofSeed, seed) =>
      ofSeed.map((draws, k) => draws.map((_, i) => over(own => own.drawn[seed]![k]![i]!))),
    ),
    theory: first.theory.map((ofSeed, seed) =>
      ofSeed.map((_, k) => over(own => own.theory[seed]![k]!)),
    ),
    exact: over(own => own.exact),
    overflows: heads.some(own => own.overflows),
  }
}

/** Medians of what was drawn where both seeds agree; from the last of them on as theory goes on. */
function curveOf({drawn, theory, exact, overflows}: Squares): Curve {
  if (overflows) return {errors: COUNTS.map(() => null), unknown: 'overflow'}
  const known = drawn[0]!.map((_, k) => {
    const ofSeeds = drawn.map(own => median(own[k]!))
    const all = drawn.flatMap(own => Array.from(own[k]!))
    const holds = theory.every(own => !Number.isNaN(own[k]!))
    return holds && agree(ofSeeds) ? Math.sqrt(median(all) / exact) : null
  })
  const errors: (number | null)[] = []
  let from = -1
  for (let k = 0; k < COUNTS.length; k++) {
    if (typeof known[k] === 'number') from = k
    errors.push(known[k] ?? carriedOn(errors, {from, to: k}, theory))
  }
  const last = from < 0 ? 0 : COUNTS[from]!
  if (!errors.includes(null)) return {errors, unknown: null, drawn: last}
  return {
    errors,
    drawn: last,
    unknown: theory.flatMap(own => Array.from(own)).some(Number.isNaN)
      ? 'denominator'
      : 'uncertain',
  }
}

/** From the last error that was drawn as theory goes on; not where its seeds differ, or it rises: there it has no rows. */
function carriedOn(
  errors: readonly (number | null)[],
  {from, to}: {from: number; to: number},
  theory: readonly Float64Array[],
): number | null {
  const start = errors[from] ?? null
  const shares = theory.map(own => own[to]! / own[from]!)
  // no further than its first gap
  if (start === null || !agree(shares) || errors.includes(null, from)) return null
  const error = start * Math.sqrt(mean(shares))
  const least = Math.min(...errors.map(own => own ?? Number.POSITIVE_INFINITY))
  return error > APART * least ? null : error
}
