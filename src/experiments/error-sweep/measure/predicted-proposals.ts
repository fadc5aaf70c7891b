/** The error that a method with proposals is predicted to have, drawn at every M up to the number of tokens. */
import {sizesOf} from '../../../inputs/attention-input.js'
import {partsInView} from '../../../inputs/masked-tokens.js'
import {type RandomStream, randomStream} from '../../../random/index.js'
import {median} from '../../../stats/index.js'
import {type ProposalHead, proposalErrors} from '../../../theory/ratio-error/proposals.js'
import {exactOutputs, sampledQueries} from '../../../theory/ratio-error/queries.js'
import type {ResolvedMethod} from '../../method.js'
import {agree, COUNTS, type Curve, type Curves} from '../curve.js'
import type {ErrorSweepCell} from '../schema.js'
import {headOf, overflows} from './canonical-head.js'
import type {SweepContext} from './context.js'
import {drawsOf, proposalCounts, queriesFor} from './curve-plan.js'

/** Squared errors and outputs, summed over the queries of a head or of several. */
interface Squares {
  /** Of each draw, `[counts][draws]`. */
  drawn: Float64Array[]
  exact: number
  overflows: boolean
}

/** The curves of a method's options; `undefined` where there are none for them. */
export function proposalCurves(
  cell: Pick<ErrorSweepCell, 'seed'>,
  method: ResolvedMethod,
  context: SweepContext,
): Curves | undefined {
  const sizes = sizesOf(context.input)
  const counts = proposalCounts(sizes)
  const heads = Array.from(
    {length: sizes.heads},
    (): Squares => ({
      drawn: counts.map(count => new Float64Array(drawsOf(count))),
      ...{exact: 0, overflows: false},
    }),
  )
  for (const {at, head, place} of headsOf(method, context)) {
    if (!head) return undefined
    addHead(heads[at]!, head, {
      ...{counts, queries: queriesFor(sizes)},
      streamOf: M => randomStream(cell.seed, `proposals of ${place} ${M}`),
    })
  }
  const none = COUNTS.map(() => null)
  const tokens = Math.min(sizes.queryLen, sizes.keyLen)
  const perHead = heads.map(head => curveOf(head, tokens))
  return {all: curveOf(summed(heads), tokens), perHead, biasSquared: none}
}

/** Every head of every sequence, canonical, with all queries of its sequence; `undefined` where there is no form for the options. */
function* headsOf(
  {estimator, options}: ResolvedMethod,
  {input, logitScale}: SweepContext,
): Generator<{at: number; place: number; head: ProposalHead | undefined}> {
  const {heads} = sizesOf(input)
  let place = 0
  for (const part of partsInView(input, {causal: false})) {
    for (let at = 0; at < sizesOf(part).batch * heads; at++) {
      const own = headOf(part, at, {logitScale, causal: false})
      const head = estimator.proposalHead?.(own, options)
      yield {at: at % heads, place, head}
      place++
    }
  }
}

interface Draws {
  counts: readonly number[]
  /** Queries that stand for all. */
  queries: number
  streamOf: (numFeatures: number) => RandomStream
}

function addHead(into: Squares, head: ProposalHead, {counts, queries, streamOf}: Draws): void {
  const bidirectional = {...head, causal: false}
  if (overflows(bidirectional)) {
    into.overflows = true
    return
  }
  const sampled = sampledQueries(bidirectional, queries)
  const exact = exactOutputs(bidirectional, sampled)
  const [length, keys] = [head.query, head.key].map(vectors => vectors.length / head.headDim)
  const weight = length! / sampled.places.length
  into.exact += weight * exact.reduce((sum, x) => sum + x * x, 0)
  for (const [k, M] of counts.entries()) {
    const count = Math.min(M, length!, keys!)
    const sums = into.drawn[k]!
    const drawn = {count, draws: sums.length, stream: streamOf(M)}
    for (const [draw, error] of proposalErrors(head, {queries: sampled, exact}, drawn).entries()) {
      sums[draw]! += weight * error
    }
  }
}

/** Of all heads together, draw by draw. */
function summed(heads: readonly Squares[]): Squares {
  const over = (pick: (of: Squares) => number) => heads.reduce((sum, own) => sum + pick(own), 0)
  return {
    drawn: heads[0]!.drawn.map((draws, k) => draws.map((_, i) => over(own => own.drawn[k]![i]!))),
    exact: over(own => own.exact),
    overflows: heads.some(own => own.overflows),
  }
}

/** Medians of draws where both halves agree; with more proposals than tokens the error stays. */
function curveOf({drawn, exact, overflows}: Squares, tokens: number): Curve {
  if (overflows) return {errors: COUNTS.map(() => null), unknown: 'overflow'}
  const known = drawn.map(draws => {
    const half = draws.length / 2
    const halves = [draws.slice(0, half), draws.slice(half)]
    return agree(halves.map(median)) ? Math.sqrt(median(draws) / exact) : null
  })
  const errors = COUNTS.map((_, k) => known[Math.min(k, known.length - 1)] ?? null)
  return {errors, unknown: errors.includes(null) ? 'uncertain' : null, largest: tokens}
}
