/** Outputs against the exact attention that an estimator declares as its target. */
import {type Estimator, exactAttention} from '../../attention/index.js'
import {usesProjection} from '../../attention/names.js'
import {type HostInputs, SMALL} from '../calls/arrays.js'
import {runCall} from '../calls/call.js'
import {callName, callOf, formsOf} from '../calls/forms.js'
import {boundedOutput} from '../calls/output-bound.js'
import {Tally} from '../calls/tally.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'
import {isRandom} from './draws.js'

/** Exact attention to what the estimator declares as its target, `undefined` without one. */
export function exactOf(
  {target, options}: Estimator,
  {query, key, value}: HostInputs,
  causal: boolean,
) {
  const found = target(options.parse({}))
  const logitScale = query.shape[3] ** -0.5
  return found && exactAttention(query, key, value, {target: found, logitScale, causal})
}

/** Who declares to be exact gives exact attention to rounding. */
function exactOutputs(subject: Subject): Finding {
  const {estimator} = subject
  if (estimator.unbiasedFor !== 'exact')
    return notApplicable('does not declare to be exact (unbiasedFor: exact)')
  const tally = new Tally('attend, and target: softmax of scale q.k unless target says otherwise')
  for (const {causal} of formsOf(subject)) {
    const given = callOf(subject, SMALL, {causal})
    const {out, bound} = boundedOutput(given)
    const expected = exactOf(estimator, given.inputs!, causal)!
    const says = (at: number) =>
      `element ${at} is ${out[at]}, exact attention gives ${expected[at]}`
    tally.compare({label: callName(given), actual: out, expected, bound, says})
  }
  return tally.finding()
}

/** M at which the error is reported: rows of a projection, or what a method counts in its place, such as landmarks. */
const LADDERS = {rows: [16, 64, 256], others: [2, 4, 8]} as const
/** The numbers of features to try; one where their number is not used. */
function ladderOf(estimator: Estimator): readonly number[] {
  if (usesProjection(estimator, estimator.options.parse({}))) return LADDERS.rows
  return estimator.sizedBy ? LADDERS.others : LADDERS.others.slice(-1)
}

/** Draws that it is the root mean square of. */
const REPLICATES = 8

/** How far outputs are from their target at growing M: no verdict, as outputs of ratios are biased. */
function errors(subject: Subject): Finding {
  const {estimator} = subject
  const form = formsOf(subject)[0]!
  const given = callOf(subject, {...SMALL, headDim: 8}, {causal: form.causal, inputScale: 0.7})
  const exact = exactOf(estimator, given.inputs!, form.causal)
  if (!exact) return notApplicable('declares no target that its outputs converge to (target)')
  const size = Math.hypot(...exact)
  const random = isRandom(subject)
  const ladder = ladderOf(estimator)
  const figures = ladder.map(numFeatures => {
    const sizes = {...given.sizes, numFeatures}
    const squares = Array.from({length: random ? REPLICATES : 1}, (_, replicate) => {
      const {out} = runCall({...given, sizes, draw: {seed: subject.seed, replicate}})
      return Math.hypot(...out.map((x, at) => x - exact[at]!)) ** 2
    })
    return Math.sqrt(squares.reduce((sum, each) => sum + each, 0) / squares.length) / size
  })
  const errors = figures.map(each => each.toPrecision(2)).join(', ')
  return {
    status: 'information',
    tried: [callName(given)],
    finding: `relative error ${errors}${ladder.length > 1 ? ` at M = ${ladder.join(', ')}` : ''}`,
  }
}

export const EXACTNESS: readonly Check[] = [
  {name: 'exact output', group: 'unbiasedness', run: exactOutputs},
  {name: 'error by M', group: 'unbiasedness', run: errors},
]
