/** The recommendation on a layer in sentences. */

import {isTold} from '../answers/index.js'
import {YARDSTICK} from '../experiments/averaging.js'
import {nanoseconds} from '../report/numbers.js'
import type {Estimate} from '../stats/index.js'
import type {AdviceMetric} from './candidates.js'
import type {LayerFacts} from './joined.js'
import type {Choice, Obstacle, Offer} from './recommend.js'
import {errorText, exactError, isUnsettled, notFasterText, speedText} from './words.js'

interface Stated {
  facts: LayerFacts
  picked: Choice
  /** Every head's attention is nearly uniform. */
  uniform: boolean
}

/** First whether attention is uniform, then what to take, or why nothing. */
export function statementOf({facts, picked, uniform}: Stated): string {
  const average = facts.candidates.get(1)?.find(({cell}) => cell.method === YARDSTICK)?.error
  const averaged = average && errorText(facts.metric, average)
  const first = uniform
    ? [`Attention is nearly uniform here${averaged ? `: averaging V is ${averaged} off` : ''}.`]
    : []
  const yardstick = uniform ? undefined : averaged
  const rest =
    'offer' in picked ? taken(picked.offer, facts, yardstick) : kept(picked, facts, yardstick)
  return [...first, ...rest].join(' ')
}

/** A candidate by its name, and by what it is where that is plainer. */
function nameOf(label: string): string {
  return label === YARDSTICK ? `${label} (averaging V)` : label
}

function taken(
  {label, error, gain}: Offer,
  {metric, times, length}: LayerFacts,
  averaged: string | undefined,
): string[] {
  const {label: exact} = times.fastestExact(length)
  const off = `${errorText(metric, error)} off`
  const besides = averaged && label !== YARDSTICK ? [`Averaging V would be ${averaged} off.`] : []
  return [`Take ${nameOf(label)}: ${off}, ${fast(gain, `as ${exact} at L=${length}`)}.`, ...besides]
}

/** `3.44x [2.92, 4.18] as fast as softmax`, or `2.45-107x as fast as softmax (unsettled)`. @param than - from `as` on */
function fast(gain: Estimate, than = ''): string {
  const words = [speedText(gain), 'as fast', ...(than === '' ? [] : [than])]
  return [...words, ...(isUnsettled(gain) ? ['(unsettled)'] : [])].join(' ')
}

function kept(
  {obstacle, nearest}: {obstacle: Obstacle; nearest?: Offer},
  facts: LayerFacts,
  averaged: string | undefined,
): string[] {
  const {times, length, wish} = facts
  const {label: exact, time} = times.fastestExact(length)
  const why = WHY[obstacle](facts, nearest, averaged)
  const late = wish.budget !== null && time.value > wish.budget
  const budget = late ? ['Exact attention takes longer than the budget, too.'] : []
  return [
    `Keep exact attention (${exact}, ${nanoseconds(time.value)} at L=${length}).`,
    why,
    ...budget,
  ]
}

type Reason = (
  facts: LayerFacts,
  nearest: Offer | undefined,
  averaged: string | undefined,
) => string

const WHY: Record<Obstacle, Reason> = {
  error: ({metric, wish}, nearest, averaged) => {
    const none = `No method is within ${exactError(metric, wish.tolerance)}`
    const yardstick = averaged ? ` (averaging V: ${averaged})` : ''
    return nearest && nearest.label !== YARDSTICK
      ? `${none}: the nearest is ${nearest.label}, ${errorText(metric, nearest.error)} off${yardstick}.`
      : `${none}, and none is better than averaging V${averaged ? `, ${averaged} off` : ''}.`
  },
  mean: ({metric, wish}) =>
    `What is within ${exactError(metric, wish.tolerance)} is not distinguishable from averaging V.`,
  time: ({metric, wish, length}, nearest) => {
    const accurate = within(metric, wish.tolerance, nearest)
    return nearest && !isTold(nearest.gain)
      ? `${accurate} not timed at L=${length}: the machine was too busy.`
      : `${accurate} ${notFasterText(nearest?.gain)} at L=${length}${nearest ? `: ${fast(nearest.gain)}` : ''}.`
  },
  budget: ({metric, wish}, nearest) =>
    `${within(metric, wish.tolerance, nearest)} faster, but over the budget of ${nanoseconds(wish.budget)}${nearest ? `: it takes ${timeText(nearest.time)}` : ''}.`,
}

/** `elu is within 5 % and`. */
function within(metric: AdviceMetric, tolerance: number, nearest: Offer | undefined): string {
  const name = nearest ? nameOf(nearest.label) : 'What'
  return `${name} is within ${exactError(metric, tolerance)} and`
}

/** `168 ms [160, 176 ms]`. */
function timeText({value, low, high}: Estimate): string {
  if (Number.isNaN(low) || low === high) return nanoseconds(value)
  return `${nanoseconds(value)} [${nanoseconds(low)}, ${nanoseconds(high)}]`
}
